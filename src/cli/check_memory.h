// CheckMemory: what an engine's check found on this machine, so that it is done once.
//
// One small file for each engine, machine, model and set of options, in the cache folder
// (docs/formats/cache-folder.md). A file that cannot be read or understood is a check that has not
// been done. Nothing is remembered where there is no cache folder.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "engine/ladder.h"

namespace holdfast::cli {

struct CheckRecord {
  engine::EngineSetting setting;  // that passed
  std::string words;              // what was given up for it; empty: nothing
  std::string fault;              // why
  std::set<std::string> passed;   // kinds of batch, with that setting
  std::set<std::string> failed;   // likewise, found while it served: to be looked at first
  bool operator==(const CheckRecord&) const = default;
};

class CheckMemory {
 public:
  // The cache folder; empty or "off": nothing is remembered.
  explicit CheckMemory(std::string cache_dir);

  [[nodiscard]] std::optional<CheckRecord> recall(const std::string& key) const;
  // Best effort. REQUIRES: the key is made of digits and letters.
  void remember(const std::string& key, const CheckRecord& record) const;

 private:
  [[nodiscard]] std::string path_of(const std::string& key) const;

  std::string cache_dir_;
};

[[nodiscard]] std::string record_text(const CheckRecord& record);
[[nodiscard]] std::optional<CheckRecord> parse_record(std::string_view text);

}  // namespace holdfast::cli
