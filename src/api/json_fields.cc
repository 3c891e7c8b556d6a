#include "api/json_fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace holdfast::api {
namespace {

// 2^53: up to here a double holds every integer.
constexpr double kExactIntegerMax = 9007199254740992.0;

// An array or object under construction. Its children wait here because
// growing an ordered_json object would copy every subtree it already holds.
struct OpenContainer {
  std::vector<std::string> keys;
  std::vector<Json> values;
};

bool has_duplicates(const std::vector<std::string>& keys) {
  std::vector<std::string_view> sorted(keys.begin(), keys.end());
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
}

Json close_object(OpenContainer& container) {
  Json::object_t object;
  object.reserve(container.keys.size());
  // Not emplace(): that one searches the whole object for each new key.
  using Pairs = std::vector<Json::object_t::value_type>;
  for (std::size_t i = 0; i < container.keys.size(); ++i)
    object.Pairs::emplace_back(std::move(container.keys[i]), std::move(container.values[i]));
  return Json(std::move(object));
}

// What nlohmann says, without its prefix and without the client's own text,
// which may be long. Only a number beyond double's range is no syntax error.
std::string parse_reason(std::string_view what) {
  const auto at = what.find("syntax error");
  if (at == what.npos) return "a number is too large";
  what.remove_prefix(at);
  return std::string(what.substr(0, what.find("; last read")));
}

// Builds the tree within the limits; parsing stops at the first `false`.
class TreeBuilder final : public nlohmann::json_sax<Json> {
 public:
  explicit TreeBuilder(const JsonLimits& limits) : limits_(limits) {}

  Result<Json> take() {
    if (!error_.message.empty()) return std::move(error_);
    return std::move(root_);
  }

  bool null() override { return add(Json()); }
  bool boolean(bool value) override { return add(Json(value)); }
  bool number_integer(number_integer_t value) override { return add(Json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(Json(value)); }
  bool number_float(number_float_t value, const string_t&) override { return add(Json(value)); }
  bool string(string_t& value) override { return add(Json(std::move(value))); }
  bool binary(binary_t&) override { return stop("binary values are not JSON"); }
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return open(); }
  bool key(string_t& value) override {
    open_.back().keys.push_back(std::move(value));
    return true;
  }
  bool end_array() override { return add_closed(Json(std::move(open_.back().values))); }
  bool end_object() override {
    if (has_duplicates(open_.back().keys)) return stop("the same key appears twice in one object");
    return add_closed(close_object(open_.back()));
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& problem) override {
    return stop("the text is not valid JSON at byte " + std::to_string(position) + ": " +
                parse_reason(problem.what()));
  }

 private:
  bool open() {
    if (open_.size() >= static_cast<std::size_t>(limits_.depth_max))
      return stop("nested deeper than " + std::to_string(limits_.depth_max) + " levels");
    open_.emplace_back();
    return true;
  }

  bool add_closed(Json value) {
    open_.pop_back();
    return add(std::move(value));
  }

  bool add(Json value) {
    if (++values_ > limits_.values_max) {
      error_.code = ErrorCode::kTooLarge;
      return stop("more than " + std::to_string(limits_.values_max) + " values");
    }
    if (open_.empty())
      root_ = std::move(value);
    else
      open_.back().values.push_back(std::move(value));
    return true;
  }

  bool stop(std::string message) {
    error_.message = std::move(message);
    return false;
  }

  JsonLimits limits_;
  std::vector<OpenContainer> open_;
  Json root_;
  std::size_t values_ = 0;
  Error error_{ErrorCode::kInvalidArgument, "", ""};
};

std::size_t valid_utf8_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = utf8_length_at(text, at);
    if (length == 0) break;
    at += length;
  }
  return at;
}

bool is_continuation(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
}

// The second byte's range excludes overlong forms, surrogates and values
// beyond U+10FFFF; see table 3-7 of the Unicode standard.
bool is_second_byte(unsigned char lead, unsigned char second) {
  switch (lead) {
    case 0xE0: return second >= 0xA0 && second <= 0xBF;
    case 0xED: return second >= 0x80 && second <= 0x9F;
    case 0xF0: return second >= 0x90 && second <= 0xBF;
    case 0xF4: return second >= 0x80 && second <= 0x8F;
    default: return second >= 0x80 && second <= 0xBF;
  }
}

std::string bounds_text(const std::string& min, const std::string& max) {
  return "must be between " + min + " and " + max;
}

std::string number_text(double value) {
  std::string text;
  append_json_number(text, value);
  return text;
}

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
}

void append_escape(std::string& out, char c) {
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  out += "\\u00";
  out += kHex[byte >> 4U];
  out += kHex[byte & 15U];
}

// The character at `at` that is not plain; returns its length.
std::size_t append_special(std::string& out, std::string_view text, std::size_t at) {
  if (static_cast<unsigned char>(text[at]) < 0x80) {
    append_escape(out, text[at]);
    return 1;
  }
  const std::size_t length = utf8_length_at(text, at);
  out += length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(at, length);
  return std::max<std::size_t>(length, 1);
}

}  // namespace

Result<Json> parse_json(std::string_view text, const JsonLimits& limits) {
  if (const std::size_t valid = valid_utf8_prefix(text); valid < text.size())
    return invalid_argument("", "the text is not valid UTF-8 at byte " + std::to_string(valid));
  TreeBuilder builder(limits);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

std::string json_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void FirstError::note(std::string param, std::string message) {
  if (error_) return;
  if (!param.empty()) message = '\'' + param + "' " + message;
  error_ = invalid_argument(std::move(param), std::move(message));
}

const Error& FirstError::get() const {
  CHECK(error_.has_value());
  return *error_;
}

std::string element_path(std::string_view array, std::size_t index) {
  return std::string(array) + '[' + std::to_string(index) + ']';
}

std::optional<std::int64_t> exact_integer(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto wide = value.get<std::uint64_t>();
    if (!std::in_range<std::int64_t>(wide)) return std::nullopt;
    return static_cast<std::int64_t>(wide);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const auto real = value.get<double>();
  if (std::trunc(real) != real || std::abs(real) > kExactIntegerMax) return std::nullopt;
  return static_cast<std::int64_t>(real);
}

JsonFields::JsonFields(const Json& object, std::string path, FirstError& error)
    : object_(&object), path_(std::move(path)), error_(&error) {
  CHECK(object.is_object());
}

const Json* JsonFields::find(std::string_view name) const {
  const auto found = object_->find(name);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

std::optional<bool> JsonFields::boolean(std::string_view name) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  fail(name, "must be true or false");
  return std::nullopt;
}

std::optional<double> JsonFields::number(std::string_view name, double min, double max) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) {
    fail(name, "must be a number");
    return std::nullopt;
  }
  const auto number = value->get<double>();
  if (number >= min && number <= max) return number;
  fail(name, bounds_text(number_text(min), number_text(max)));
  return std::nullopt;
}

std::optional<std::int64_t> JsonFields::integer(std::string_view name, std::int64_t min,
                                                std::int64_t max) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  const std::optional<std::int64_t> number = exact_integer(*value);
  if (number && *number >= min && *number <= max) return number;
  fail(name, value->is_number() ? "must be an integer, and " +
                                      bounds_text(std::to_string(min), std::to_string(max))
                                : "must be an integer");
  return std::nullopt;
}

std::optional<std::string> JsonFields::text(std::string_view name) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get_ref<const std::string&>();
  fail(name, "must be a string");
  return std::nullopt;
}

std::optional<std::string> JsonFields::choice(std::string_view name,
                                              std::span<const std::string_view> allowed) const {
  std::optional<std::string> value = text(name);
  if (!value || std::find(allowed.begin(), allowed.end(), *value) != allowed.end()) return value;
  std::string list;
  for (const std::string_view item : allowed) (list += list.empty() ? "" : ", ") += item;
  fail(name, "must be one of: " + list);
  return std::nullopt;
}

std::optional<std::vector<std::string>> JsonFields::texts(std::string_view name,
                                                          std::size_t count_max,
                                                          std::size_t bytes_max) const {
  const Json* values = array(name);
  if (values == nullptr) return std::nullopt;
  if (values->size() > count_max) fail(name, "may hold at most " + std::to_string(count_max));
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < values->size() && error_->empty(); ++i) {
    const Json& value = (*values)[i];
    const std::size_t bytes = value.is_string() ? value.get_ref<const std::string&>().size() : 0;
    if (bytes >= 1 && bytes <= bytes_max)
      texts.push_back(value.get_ref<const std::string&>());
    else
      fail(element_path(name, i),
           "must be a string of 1 to " + std::to_string(bytes_max) + " bytes");
  }
  return texts;
}

const Json* JsonFields::array(std::string_view name) const {
  const Json* value = find(name);
  if (value == nullptr || value->is_array()) return value;
  fail(name, "must be an array");
  return nullptr;
}

std::optional<JsonFields> JsonFields::object(std::string_view name) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  return as_object(*value, path(name));
}

std::optional<JsonFields> JsonFields::element(const Json& array, std::string_view name,
                                              std::size_t index) const {
  return as_object(array[index], element_path(path(name), index));
}

std::optional<JsonFields> JsonFields::as_object(const Json& value, std::string path) const {
  if (value.is_object()) return JsonFields(value, std::move(path), *error_);
  error_->note(std::move(path), "must be an object");
  return std::nullopt;
}

std::string JsonFields::path(std::string_view name) const {
  return path_.empty() ? std::string(name) : path_ + '.' + std::string(name);
}

void JsonFields::fail(std::string_view name, std::string message) const {
  error_->note(path(name), std::move(message));
}

std::size_t utf8_length_at(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (at + 1 >= text.size() || !is_second_byte(lead, static_cast<unsigned char>(text[at + 1])))
    return 0;
  for (std::size_t i = 2; i < length; ++i)
    if (!is_continuation(text, at + i)) return 0;
  return length;
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t run = at;
    while (at < text.size() && is_plain(text[at])) ++at;
    out += text.substr(run, at - run);
    if (at < text.size()) at += append_special(out, text, at);
  }
  out += '"';
}

void append_json_number(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  std::array<char, 32> digits{};
  const auto [end, problem] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  CHECK(problem == std::errc());
  out.append(digits.data(), end);
}

void append_json_number(std::string& out, std::int64_t value) {
  std::array<char, 24> digits{};
  const auto [end, problem] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  CHECK(problem == std::errc());
  out.append(digits.data(), end);
}

std::string& ObjectWriter::key(std::string_view name) {
  out_ += first_ ? "\"" : ",\"";
  first_ = false;
  out_ += name;
  out_ += "\":";
  return out_;
}

}  // namespace holdfast::api
