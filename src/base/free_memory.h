// How much memory the machine has to give.
#pragma once

#include <cstdint>
#include <optional>

namespace holdfast {

// Bytes that could be used without swapping, as the system estimates it.
[[nodiscard]] std::optional<std::uint64_t> free_memory();

}  // namespace holdfast
