// Reads any bytes as a blob, as they are and with the digests made to fit, and checks
// the promises of tier/blob.h on what is accepted.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/hash.h"
#include "blob_seal.h"
#include "tier/blob.h"
#include "tier/blob_layout.h"

namespace holdfast {
namespace {

using namespace tier::blob_layout;
using Bytes = std::vector<std::byte>;

// What is accepted is consistent enough to be written again, to the same bytes.
Bytes written_again(const tier::Blob& blob) {
  const auto encoded =
      std::visit([&](const auto& content) { return tier::encode(content, blob.facts.created_ms); },
                 blob.content);
  CHECK(encoded.ok());
  Bytes bytes;
  for (const auto piece : encoded->pieces()) bytes.insert(bytes.end(), piece.begin(), piece.end());
  return bytes;
}

void check_facts(const tier::BlobFacts& facts, ByteCount size) {
  CHECK(facts.bytes == size);
  CHECK(facts.path.first() >= 0 && facts.path.first() % kBlockTokens == 0);
  CHECK(4 * facts.path.tokens.size() < size);
}

void check_bytes(const Bytes& file, bool sealed) {
  tier::MemorySource source(file);
  const auto facts = tier::read_facts(source);
  const auto blob = tier::read_blob(source, tier::Verify::kPartsAndDigest);
  for (const Error* error : {facts ? nullptr : &facts.error(), blob ? nullptr : &blob.error()}) {
    if (error == nullptr) continue;
    CHECK(error->code == ErrorCode::kInvalidArgument || error->code == ErrorCode::kUnsupported);
    CHECK(!error->message.empty() && error->message.size() < 200);
  }
  if (facts) check_facts(*facts, file.size());
  if (!blob) return;
  CHECK(facts.ok() && facts->key == blob->facts.key);
  // Fields without a meaning are not kept; only a blob from outside has them.
  if (!sealed) CHECK(written_again(*blob) == file);
  if (sealed) CHECK(written_again(*blob).size() == file.size());
}

}  // namespace
}  // namespace holdfast

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  holdfast::check_bytes(file, false);
  holdfast::seal_blob(file);
  holdfast::check_bytes(file, true);
  return 0;
}
