// Imports any bytes as a file of blobs into a store, as they are and with the digests made to
// fit, and checks the promises of tier/blob_archive.h and that the store stays sound.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.h"
#include "blob_seal.h"
#include "tier/blob_transfer.h"
#include "tier/testing/simulated_files.h"

namespace holdfast {
namespace {

using Bytes = std::vector<std::byte>;

void check_error(const Error& error) {
  CHECK(error.code == ErrorCode::kInvalidArgument || error.code == ErrorCode::kUnsupported);
  CHECK(!error.message.empty() && error.message.size() < 200);
}

void check_report(const tier::ImportReport& report, ByteCount size) {
  CHECK(report.read ==
        report.stored + report.present + report.declined + report.refused + report.failed);
  CHECK(report.failed == 0 && report.stored_bytes <= size);
  if (report.ended.empty()) CHECK(report.announced == report.read);
  CHECK(report.ended.size() < 200 && report.why.size() < 200);
}

// What was taken in can be exported, and is all there again when it is imported.
void check_round_trip(tier::DiskStore& store) {
  tier::SimulatedFiles out;
  auto file = out.create("out");
  const auto exported = tier::export_blobs(store, *file.value, {});
  CHECK(exported.ok() && exported->left_out == 0);
  const Bytes bytes = out.bytes("out");
  tier::MemorySource source(bytes);
  const auto again = tier::import_blobs(store, source, 2000);
  CHECK(again.ok() && again->whole() && again->present == exported->written);
}

void check_bytes(const Bytes& file) {
  tier::SimulatedFiles files;
  auto store = tier::DiskStore::open(files, {.budget = 64 << 10}, 1000);
  CHECK(store.ok());
  tier::MemorySource source(file);
  const auto report = tier::import_blobs(**store, source, 1000);
  if (!report) check_error(report.error());
  if (report) check_report(*report, file.size());
  CHECK((*store)->check().empty());
  CHECK((*store)->stats().quarantined == 0);
  if (report && report->stored > 0) check_round_trip(**store);
}

}  // namespace
}  // namespace holdfast

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  holdfast::check_bytes(file);
  holdfast::seal_archive(file);
  holdfast::check_bytes(file);
  return 0;
}
