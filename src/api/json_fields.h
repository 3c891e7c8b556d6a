// Reads and writes the fields of JSON objects at the API's edge.
//
// Reading happens in two steps. parse_json() bounds what a client can make us
// build. JsonFields then takes typed values out of one object and remembers the
// first mistake with the path of its field, so a decoder reads straight through
// and asks once, at the end, whether all was well.
//
// Writing appends to a std::string. Text that is not UTF-8 never fails: each
// bad byte becomes U+FFFD.
//
// Nothing here throws on any input. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace holdfast::api {

// Keys keep their order: the schema of a tool is part of the prompt, and the
// same keys in another order would be other tokens.
using Json = nlohmann::ordered_json;

struct JsonLimits {
  // Far beyond real requests, and few enough for the recursive readers of the
  // same text that follow (templates, the schema converter).
  int depth_max = 128;
  // A value costs about 100 bytes with its key, so the tree stays near 200 MB.
  std::size_t values_max = 2'000'000;
};

// An Error says where the text goes wrong: not UTF-8, not JSON, nested too
// deep, a key twice in one object, or too many values (kTooLarge).
[[nodiscard]] Result<Json> parse_json(std::string_view text, const JsonLimits& limits = {});

// Compact JSON text of a value.
[[nodiscard]] std::string json_text(const Json& value);

// Keeps the first of the mistakes that are noted. `message` goes on where the
// name of the field ends: "must be a string".
class FirstError {
 public:
  void note(std::string param, std::string message);
  [[nodiscard]] bool empty() const { return !error_.has_value(); }
  // REQUIRES: !empty().
  [[nodiscard]] const Error& get() const;

 private:
  std::optional<Error> error_;
};

// "messages" and 2 make "messages[2]".
[[nodiscard]] std::string element_path(std::string_view array, std::size_t index);

// The fields of one object. A field that is null counts as absent, as OpenAI's
// clients send null for "not set". A field of the wrong type or out of range is
// noted, and reads as absent.
class JsonFields {
 public:
  // `path` is where the object lies: "" for the body, "messages[2]" inside it.
  // REQUIRES: `object` is a JSON object; it and `error` outlive this.
  JsonFields(const Json& object, std::string path, FirstError& error);

  // nullptr when absent.
  [[nodiscard]] const Json* find(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }

  [[nodiscard]] std::optional<bool> boolean(std::string_view name) const;
  // Both bounds are allowed values.
  [[nodiscard]] std::optional<double> number(std::string_view name, double min, double max) const;
  // 3.0 is an integer too.
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name, std::int64_t min,
                                                    std::int64_t max) const;
  [[nodiscard]] std::optional<std::string> text(std::string_view name) const;
  [[nodiscard]] std::optional<std::string> choice(std::string_view name,
                                                  std::span<const std::string_view> allowed) const;
  // An array of at most `count_max` strings, none empty or over `bytes_max`.
  [[nodiscard]] std::optional<std::vector<std::string>> texts(std::string_view name,
                                                              std::size_t count_max,
                                                              std::size_t bytes_max) const;
  [[nodiscard]] const Json* array(std::string_view name) const;
  [[nodiscard]] std::optional<JsonFields> object(std::string_view name) const;
  // The object at `index` of `array`, which is the field `name`. Taking the array
  // saves a search among the fields for each of its elements.
  [[nodiscard]] std::optional<JsonFields> element(const Json& array, std::string_view name,
                                                  std::size_t index) const;

  [[nodiscard]] std::string path(std::string_view name) const;
  [[nodiscard]] FirstError& error() const { return *error_; }
  void fail(std::string_view name, std::string message) const;

 private:
  [[nodiscard]] std::optional<JsonFields> as_object(const Json& value, std::string path) const;

  const Json* object_;
  std::string path_;
  FirstError* error_;
};

// The value as an integer if it is one, exactly.
[[nodiscard]] std::optional<std::int64_t> exact_integer(const Json& value);

// Bytes of the valid UTF-8 character at `at`; 0 when there is none.
// REQUIRES: at < text.size().
[[nodiscard]] std::size_t utf8_length_at(std::string_view text, std::size_t at);

// Quotes and escapes.
void append_json_string(std::string& out, std::string_view text);
// Infinities and NaN have no JSON; they become null.
void append_json_number(std::string& out, double value);
void append_json_number(std::string& out, std::int64_t value);

// Appends [a,b,...] with `append_item` for each.
template <typename Items, typename Append>
void append_array(std::string& out, const Items& items, Append append_item) {
  out += '[';
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += ',';
    first = false;
    append_item(item);
  }
  out += ']';
}

// Appends one object to `out`; the closing brace comes with the destructor, so
// a nested writer lives in a scope of its own. Names are literals, not escaped.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string& out) : out_(out) { out_ += '{'; }
  ~ObjectWriter() { out_ += '}'; }
  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;

  // Appends the name; the caller appends the value to what this returns.
  std::string& key(std::string_view name);

  void text(std::string_view name, std::string_view value) { append_json_string(key(name), value); }
  void real(std::string_view name, double value) { append_json_number(key(name), value); }
  void integer(std::string_view name, std::int64_t value) { append_json_number(key(name), value); }
  // `json` is JSON text already.
  void raw(std::string_view name, std::string_view json) { key(name) += json; }

 private:
  std::string& out_;
  bool first_ = true;
};

}  // namespace holdfast::api
