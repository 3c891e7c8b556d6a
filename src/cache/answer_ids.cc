#include "cache/answer_ids.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

namespace holdfast::cache {

namespace {

constexpr std::array kMagic{std::byte{0x85}, std::byte{0xFD}, std::byte{0x7F}};  // "hf1_"
constexpr std::size_t kTagBytes = 4;
constexpr std::size_t kNameAt = kMagic.size() + 2 * kTagBytes;
constexpr std::size_t kMacAt = kNameAt + tier::AnswerName::kBytes;
constexpr std::size_t kMacBytes = 16;
constexpr std::size_t kBytes = kMacAt + kMacBytes;
static_assert(kBytes % 3 == 0 && kBytes / 3 * 4 == AnswerIds::kLength);

using IdBytes = std::array<std::byte, kBytes>;
using Tag = std::array<std::byte, kTagBytes>;

std::array<std::byte, 16> bytes_of(SpaceKey space) {
  std::array<std::byte, 16> bytes{};
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<std::byte>(space.high >> (8 * i));
    bytes[8 + i] = static_cast<std::byte>(space.low >> (8 * i));
  }
  return bytes;
}

tier::Sha256Digest digest_of(const tier::Secret& key, std::string_view purpose,
                             std::initializer_list<std::span<const std::byte>> parts) {
  const auto first = std::as_bytes(std::span(purpose));
  std::vector<std::byte> bytes(first.begin(), first.end());
  bytes.push_back(std::byte{0});
  for (const auto part : parts) bytes.insert(bytes.end(), part.begin(), part.end());
  return tier::hmac_sha256(key, bytes);
}

Tag tag_of(const tier::Sha256Digest& digest) {
  Tag tag{};
  std::copy_n(digest.begin(), tag.size(), tag.begin());
  return tag;
}

Tag key_tag(const tier::Secret& key) { return tag_of(digest_of(key, "holdfast key tag", {})); }

Tag space_tag(const tier::Secret& key, SpaceKey space) {
  return tag_of(digest_of(key, "holdfast space tag", {bytes_of(space)}));
}

IdBytes signed_bytes(const tier::Secret& key, SpaceKey space, const tier::AnswerName& name) {
  IdBytes bytes{};
  auto out = std::ranges::copy(kMagic, bytes.begin()).out;
  out = std::ranges::copy(key_tag(key), out).out;
  out = std::ranges::copy(space_tag(key, space), out).out;
  out = std::ranges::copy(name.bytes, out).out;
  const auto mac =
      digest_of(key, "holdfast answer id", {std::span(bytes).first(kMacAt), bytes_of(space)});
  std::copy_n(mac.begin(), kMacBytes, out);
  return bytes;
}

// The library's alphabet has two letters that names in JSON and URLs do not like.
std::string base64url(const IdBytes& bytes) {
  std::string text(AnswerIds::kLength + 1, '\0');  // it ends with a zero
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                  reinterpret_cast<const unsigned char*>(bytes.data()), kBytes);
  text.pop_back();
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text;
}

std::optional<IdBytes> from_base64url(std::string_view id) {
  if (id.size() != AnswerIds::kLength) return std::nullopt;
  std::string text(id);
  for (char& c : text) {
    const bool ours = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                      c == '-' || c == '_';
    if (!ours) return std::nullopt;  // the library would skip white space
    if (c == '-') c = '+';
    if (c == '_') c = '/';
  }
  IdBytes bytes{};
  const int length = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  if (length != static_cast<int>(kBytes)) return std::nullopt;
  return bytes;
}

}  // namespace

const char* answer_id_fate_name(AnswerIdFate fate) {
  switch (fate) {
    case AnswerIdFate::kUsed: return "used";
    case AnswerIdFate::kNotShown: return "not_shown";
    case AnswerIdFate::kEdited: return "edited";
    case AnswerIdFate::kStale: return "stale";
    case AnswerIdFate::kForeign: return "foreign";
    case AnswerIdFate::kForged: return "forged";
    case AnswerIdFate::kSurplus: return "surplus";
  }
  return "unknown";
}

AnswerIds::AnswerIds(const tier::Secret& key) : key_(key) {}

tier::AnswerName AnswerIds::new_name() {
  tier::AnswerName name;
  tier::fill_random(name.bytes);
  return name;
}

std::string AnswerIds::make(SpaceKey space, const tier::AnswerName& name) const {
  return base64url(signed_bytes(key_, space, name));
}

AnswerIds::Reading AnswerIds::read(SpaceKey space, std::string_view id) const {
  if (!id.starts_with(kPrefix)) return {std::nullopt, AnswerIdFate::kForeign};
  const auto bytes = from_base64url(id);
  if (!bytes) return {std::nullopt, AnswerIdFate::kForged};
  tier::AnswerName name;
  std::copy_n(bytes->begin() + kNameAt, name.bytes.size(), name.bytes.begin());
  const IdBytes wanted = signed_bytes(key_, space, name);
  if (tier::equal_secrets(*bytes, wanted)) return {name, AnswerIdFate::kUsed};
  const bool same_tags = std::equal(bytes->begin(), bytes->begin() + kNameAt, wanted.begin());
  return {std::nullopt, same_tags ? AnswerIdFate::kForged : AnswerIdFate::kForeign};
}

}  // namespace holdfast::cache
