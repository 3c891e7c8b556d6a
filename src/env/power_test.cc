#include "env/power.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::env {
namespace {

namespace fs = std::filesystem;

// A folder of power supplies.
class Supplies {
 public:
  Supplies() : folder_(fs::path(testing::TempDir()) / "holdfast_power_test") {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Supplies() { fs::remove_all(folder_); }
  Supplies(const Supplies&) = delete;
  Supplies& operator=(const Supplies&) = delete;

  void add(const std::string& name,
           const std::vector<std::pair<std::string, std::string>>& values) const {
    fs::create_directories(folder_ / name);
    for (const auto& [file, value] : values) std::ofstream(folder_ / name / file) << value << '\n';
  }
  [[nodiscard]] bool on_battery() const { return env::on_battery(folder_.string()); }

 private:
  fs::path folder_;
};

TEST(Power, NothingSaysSo) {
  EXPECT_FALSE(Supplies().on_battery());
  EXPECT_FALSE(on_battery("/nowhere/power_supply"));
}

TEST(Power, ALaptopWithoutItsCable) {
  const Supplies supplies;
  supplies.add("AC", {{"type", "Mains"}, {"online", "0"}});
  supplies.add("BAT0", {{"type", "Battery"}, {"status", "Discharging"}});
  EXPECT_TRUE(supplies.on_battery());
}

TEST(Power, ALaptopWithItsCable) {
  const Supplies supplies;
  supplies.add("AC", {{"type", "Mains"}, {"online", "1"}});
  supplies.add("BAT0", {{"type", "Battery"}, {"status", "Discharging"}});
  EXPECT_FALSE(supplies.on_battery()) << "a weak charger is one";
}

TEST(Power, AMouseIsNoLaptop) {
  const Supplies supplies;
  supplies.add("hidpp_0", {{"type", "Battery"}, {"scope", "Device"}, {"status", "Discharging"}});
  EXPECT_FALSE(supplies.on_battery());
}

}  // namespace
}  // namespace holdfast::env
