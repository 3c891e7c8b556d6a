// export and import: the cache as one file.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/cache_access.h"
#include "cli/cache_actions.h"
#include "cli/cache_view.h"
#include "env/log.h"
#include "tier/blob_transfer.h"

namespace holdfast::cli {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

struct OutsideFile {
  std::unique_ptr<tier::RealFiles> folder;
  std::string name;
};

// The folder that a file outside of the cache lies in, and its name there.
Result<OutsideFile> file_outside(const std::string& file) {
  const fs::path path(file);
  const std::string name = path.filename().string();
  if (name.empty() || name == "." || name == "..")
    return failure(ErrorCode::kInvalidArgument, "\"" + file + "\" is no name of a file.");
  const fs::path parent = path.parent_path();
  auto folder = tier::RealFiles::open(parent.empty() ? "." : parent.string(),
                                      tier::RealFiles::Missing::kFail);
  if (!folder)
    return failure(folder.error().code,
                   "The file " + file + " has no place: " + folder.error().message + ".");
  return OutsideFile{std::move(*folder), name};
}

// Whole under its name, or not there.
Result<tier::ExportReport> write_export(tier::DiskStore& store, const OutsideFile& target,
                                        std::optional<SpaceKey> space) {
  const std::string part = target.name + ".part";
  auto file = tier::uninterrupted([&] { return target.folder->create(part); });
  if (file.error == EEXIST)
    return failure(ErrorCode::kIo, part +
                                       " is there: another export is running, or was broken "
                                       "off. Remove it and try again.");
  if (!file.ok()) return tier::io_error(part + " cannot be made", file.error);
  env::ProgressLine line(env::Log::logger(), "exporting the cache");
  auto report = tier::export_blobs(store, *file.value, space, [&](ByteCount done, ByteCount total) {
    line.update(fraction(done, total));
  });
  int error = 0;
  if (report) error = tier::uninterrupted([&] { return target.folder->rename(part, target.name); });
  if (report && error == 0) {
    static_cast<void>(tier::uninterrupted([&] { return target.folder->sync_folder(""); }));
    line.finish();
    return report;
  }
  line.abandon();
  static_cast<void>(tier::uninterrupted([&] { return target.folder->remove(part); }));
  if (!report)
    return failure(report.error().code,
                   "The export failed: " + report.error().message + ". Nothing was written.");
  return tier::io_error("the export cannot be given its name", error);
}

}  // namespace

Result<CacheAnswer> export_cache(const CacheCommandOptions& options,
                                 const CacheCommandWorld& world) {
  auto cache = open_cache(options, world, Access::kLook);
  if (!cache) return cache.error();
  std::optional<SpaceKey> space;
  if (!options.space.empty()) {
    const auto found = find_space((*cache)->inventory().blobs(), options.space);
    if (!found) return found.error();
    space = *found;
  }
  auto target = file_outside(options.file);
  if (!target) return target.error();
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(options.file, ignored)))
    return failure(ErrorCode::kInvalidArgument,
                   options.file + " is there already: remove it, or choose another name.");
  const auto report = write_export(**cache, *target, space);
  if (!report) return report.error();
  const bool sound = report->left_out == 0;
  if (options.json) {
    const Json json = {{"file", options.file},
                       {"blobs", report->written},
                       {"left_out", report->left_out},
                       {"bytes", report->bytes}};
    return CacheAnswer{json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n", sound};
  }
  std::string text = "Exported " + counted(report->written, "blob") + ", " +
                     human_bytes(report->bytes) + ", to " + one_line(options.file, 4096) + ".\n";
  if (!sound)
    text += counted(report->left_out, "blob") + " left out: " + one_line(report->why, 100) +
            ". `holdfast cache verify` says more.\n";
  return CacheAnswer{std::move(text), sound};
}

Result<CacheAnswer> import_file(const CacheCommandOptions& options,
                                const CacheCommandWorld& world) {
  std::error_code error;
  const fs::path real = fs::canonical(options.file, error);
  auto outside = file_outside(error ? options.file : real.string());
  if (!outside) return outside.error();
  auto file = tier::uninterrupted([&] { return outside->folder->open(outside->name); });
  if (!file.ok())
    return failure(
        ErrorCode::kIo,
        tier::io_error("The file " + options.file + " cannot be opened", file.error).message + ".");
  tier::FileSource source(*file.value);
  if (auto looked = tier::BlobArchiveReader::open(source);
      !looked)  // before a folder is made for it
    return failure(looked.error().code,
                   options.file + " cannot be imported: " + looked.error().message + ".");
  auto cache = open_cache(options, world, Access::kFill);
  if (!cache) return cache.error();
  env::ProgressLine line(env::Log::logger(), "importing");
  const auto report = tier::import_blobs(
      **cache, source, world.now_ms,
      [&](ByteCount done, ByteCount total) { line.update(fraction(done, total)); });
  line.finish();
  if (!report) return report.error();
  return CacheAnswer{options.json ? import_json(*report) : import_text(*report), report->whole()};
}

}  // namespace holdfast::cli
