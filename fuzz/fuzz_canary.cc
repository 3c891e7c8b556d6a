// A harness with a planted bug. The runner has to find it; if it does not, the
// silence of the other harnesses means nothing. No corpus file has the bug's
// input, so it is mutations that lead there.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.find("{{") != std::string_view::npos) std::abort();
  return 0;
}
