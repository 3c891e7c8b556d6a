// StoredResponse: one response of the Responses API with its conversation, and the bytes that a
// cache folder keeps it in (docs/formats/cache-folder.md).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast::tier {

struct StoredItem {
  std::string id;
  std::string json;
  bool operator==(const StoredItem&) const = default;
};

struct StoredResponse {
  std::string id;
  std::string tenant;
  std::string items_json;     // the conversation up to the end of the response: a JSON array
  std::string response_json;  // the response object
  std::vector<StoredItem> output;
  bool operator==(const StoredResponse&) const = default;
};

// A whole file. REQUIRES: each text is shorter than 4 GiB.
[[nodiscard]] std::vector<std::byte> encode_response(const StoredResponse& response);
// Any bytes may be given. Nothing: they are damaged, cut short, or something else.
[[nodiscard]] std::optional<StoredResponse> decode_response(std::span<const std::byte> bytes);

}  // namespace holdfast::tier
