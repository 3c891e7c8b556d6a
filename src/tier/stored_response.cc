#include "tier/stored_response.h"

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/check.h"
#include "base/hash.h"

namespace holdfast::tier {

namespace {

constexpr std::string_view kMagic = "HFRESP1\n";
constexpr std::size_t kHeadBytes = kMagic.size() + sizeof(std::uint64_t);  // and the checksum

void append_raw(std::vector<std::byte>& out, const void* data, std::size_t size) {
  const auto* const bytes = static_cast<const std::byte*>(data);
  out.insert(out.end(), bytes, bytes + size);
}

void append_number(std::vector<std::byte>& out, std::size_t value) {
  CHECK(value <= UINT32_MAX);
  const auto number = static_cast<std::uint32_t>(value);
  append_raw(out, &number, sizeof(number));
}

void append_text(std::vector<std::byte>& out, const std::string& text) {
  append_number(out, text.size());
  append_raw(out, text.data(), text.size());
}

// Takes numbers and texts from the front; once something is missing, everything is.
class Fields {
 public:
  explicit Fields(std::span<const std::byte> bytes) : left_(bytes) {}

  [[nodiscard]] std::uint32_t number() {
    std::uint32_t value = 0;
    const auto bytes = take(sizeof(value));
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof(value));
    return value;
  }
  [[nodiscard]] std::string text() {
    const auto bytes = take(number());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  [[nodiscard]] bool whole() const { return whole_; }
  [[nodiscard]] bool at_end() const { return whole_ && left_.empty(); }

 private:
  std::span<const std::byte> take(std::size_t size) {
    whole_ = whole_ && size <= left_.size();
    if (!whole_) return {};
    const auto taken = left_.first(size);
    left_ = left_.subspan(size);
    return taken;
  }

  std::span<const std::byte> left_;
  bool whole_ = true;
};

}  // namespace

std::vector<std::byte> encode_response(const StoredResponse& response) {
  std::vector<std::byte> body;
  for (const std::string* text :
       {&response.id, &response.tenant, &response.items_json, &response.response_json}) {
    append_text(body, *text);
  }
  append_number(body, response.output.size());
  for (const StoredItem& item : response.output) {
    append_text(body, item.id);
    append_text(body, item.json);
  }
  std::vector<std::byte> file;
  file.reserve(kHeadBytes + body.size());
  append_raw(file, kMagic.data(), kMagic.size());
  const std::uint64_t checksum = hash_bytes(body);
  append_raw(file, &checksum, sizeof(checksum));
  file.insert(file.end(), body.begin(), body.end());
  return file;
}

std::optional<StoredResponse> decode_response(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeadBytes) return std::nullopt;
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) return std::nullopt;
  std::uint64_t checksum = 0;
  std::memcpy(&checksum, bytes.data() + kMagic.size(), sizeof(checksum));
  const auto body = bytes.subspan(kHeadBytes);
  if (hash_bytes(body) != checksum) return std::nullopt;
  Fields fields(body);
  StoredResponse response;
  response.id = fields.text();
  response.tenant = fields.text();
  response.items_json = fields.text();
  response.response_json = fields.text();
  const std::uint32_t items = fields.number();
  for (std::uint32_t i = 0; i < items && fields.whole(); ++i) {
    StoredItem& item = response.output.emplace_back();
    item.id = fields.text();
    item.json = fields.text();
  }
  if (!fields.at_end() || response.id.empty()) return std::nullopt;
  return response;
}

}  // namespace holdfast::tier
