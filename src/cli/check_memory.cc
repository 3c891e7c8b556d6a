#include "cli/check_memory.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "env/log.h"

namespace holdfast::cli {

namespace {

using Json = nlohmann::json;

constexpr int kFormat = 1;
constexpr std::uintmax_t kBytesMax = 1 << 20;

}  // namespace

CheckMemory::CheckMemory(std::string cache_dir)
    : cache_dir_(cache_dir == "off" ? "" : std::move(cache_dir)) {}

std::string CheckMemory::path_of(const std::string& key) const {
  return cache_dir_ + "/checks/" + key + ".json";
}

std::optional<CheckRecord> CheckMemory::recall(const std::string& key) const {
  if (cache_dir_.empty()) return std::nullopt;
  std::error_code missing;
  const auto bytes = std::filesystem::file_size(path_of(key), missing);
  if (missing || bytes > kBytesMax) return std::nullopt;
  std::ifstream file(path_of(key), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return parse_record(text.str());
}

void CheckMemory::remember(const std::string& key, const CheckRecord& record) const {
  std::error_code failure;
  // A folder that is not ours yet is not made ours by this.
  if (cache_dir_.empty() || !std::filesystem::exists(cache_dir_ + "/FORMAT", failure)) return;
  std::filesystem::create_directory(cache_dir_ + "/checks", failure);
  std::filesystem::permissions(cache_dir_ + "/checks", std::filesystem::perms::owner_all, failure);
  const std::string unfinished = path_of(key) + ".new";
  {
    std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
    file << record_text(record);
    file.flush();
    if (!file) failure = std::make_error_code(std::errc::io_error);
  }
  if (!failure) std::filesystem::rename(unfinished, path_of(key), failure);
  if (failure) env::Log::debug("the engine's check is not remembered: " + failure.message());
}

std::string record_text(const CheckRecord& record) {
  const Json json = {{"format", kFormat},
                     {"cpu_variant", record.setting.cpu_variant},
                     {"extra_buffers", record.setting.extra_buffers},
                     {"together", record.setting.together},
                     {"drafts", record.setting.drafts},
                     {"words", record.words},
                     {"fault", record.fault},
                     {"passed", record.passed},
                     {"failed", record.failed}};
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

std::optional<CheckRecord> parse_record(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    if (json.at("format").get<int>() != kFormat) return std::nullopt;
    CheckRecord record;
    record.setting = {json.at("cpu_variant").get<std::string>(),
                      json.at("extra_buffers").get<bool>(), json.at("together").get<bool>(),
                      json.at("drafts").get<bool>()};
    record.words = json.at("words").get<std::string>();
    record.fault = json.at("fault").get<std::string>();
    record.passed = json.at("passed").get<std::set<std::string>>();
    record.failed = json.at("failed").get<std::set<std::string>>();
    return record;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace holdfast::cli
