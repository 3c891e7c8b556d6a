// Whether this machine runs on a battery, so that work which nobody has asked for yet can wait.
#pragma once

#include <string>

namespace holdfast::env {

// False where nothing says so. `supplies` is a folder as Linux shows power supplies in.
[[nodiscard]] bool on_battery(const std::string& supplies = "/sys/class/power_supply");

}  // namespace holdfast::env
