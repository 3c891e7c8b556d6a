#include "env/power.h"

#include <filesystem>
#include <fstream>
#include <system_error>

namespace holdfast::env {

namespace {

std::string first_word(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string word;
  in >> word;
  return word;
}

}  // namespace

// The battery of a mouse is a power supply too, so a machine runs on one only where no supply of
// the mains is online and a battery of the system is being discharged.
bool on_battery(const std::string& supplies) {
  bool discharging = false;
  std::error_code none;
  for (const auto& supply : std::filesystem::directory_iterator(supplies, none)) {
    const std::string type = first_word(supply.path() / "type");
    const bool is_battery = type == "Battery";
    if (!is_battery && first_word(supply.path() / "online") == "1") return false;
    const bool of_device = first_word(supply.path() / "scope") == "Device";
    if (is_battery && !of_device && first_word(supply.path() / "status") == "Discharging") {
      discharging = true;
    }
  }
  return discharging;
}

}  // namespace holdfast::env
