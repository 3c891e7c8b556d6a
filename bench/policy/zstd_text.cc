#include "policy/zstd_text.h"

#include <zstd.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>

namespace holdfast::policy {

namespace {

constexpr unsigned char kMagic[] = {0x28, 0xB5, 0x2F, 0xFD};

bool is_packed(const std::string& bytes) {
  return bytes.size() >= sizeof kMagic && std::memcmp(bytes.data(), kMagic, sizeof kMagic) == 0;
}

Error broken(const std::string& name, const std::string& what) {
  return {ErrorCode::kIo, name + " " + what, {}};
}

}  // namespace

Result<std::string> unpack_text(std::string packed, const std::string& name,
                                std::size_t bytes_max) {
  if (!is_packed(packed)) return packed;
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                     &ZSTD_freeDCtx);
  std::string text;
  std::string piece(ZSTD_DStreamOutSize(), '\0');
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  std::size_t wanted = 1;  // 0: a frame has ended
  while (in.pos < in.size) {
    ZSTD_outBuffer out{piece.data(), piece.size(), 0};
    wanted = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(wanted) != 0) {
      return broken(name, std::string("cannot be unpacked: ") + ZSTD_getErrorName(wanted));
    }
    if (text.size() + out.pos > bytes_max) return broken(name, "is too large when unpacked");
    text.append(piece.data(), out.pos);
  }
  if (wanted != 0) return broken(name, "ends in the middle of its compressed data");
  return text;
}

Result<std::string> read_text(const std::string& path, std::size_t bytes_max) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return broken(path, "cannot be opened; is the path right?");
  std::ostringstream bytes;
  bytes << file.rdbuf();
  if (file.bad()) return broken(path, "cannot be read");
  return unpack_text(std::move(bytes).str(), path, bytes_max);
}

}  // namespace holdfast::policy
