// Replays any bytes as a recording, as they are and with checksums made to fit, and writes the
// report on what comes of it. Whatever they say, nothing is to be broken here.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "record/replayer.h"
#include "record/report_page.h"
#include "record/testing/recording_seal.h"

namespace holdfast {
namespace {

void check_file(std::string_view file) {
  const auto outcome = record::replay_recording(file);
  if (!outcome) {
    CHECK(!outcome.error().message.empty() && outcome.error().message.size() < 300);
    return;
  }
  CHECK(outcome->whole || !outcome->trouble.empty());
  const std::string page = record::report_page(*outcome, "fuzz");
  CHECK(page.find("<script") == std::string::npos);
}

}  // namespace
}  // namespace holdfast

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  holdfast::check_file(file);
  holdfast::check_file(holdfast::record::sealed_recording(file));
  return 0;
}
