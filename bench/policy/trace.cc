#include "policy/trace.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "policy/zstd_text.h"

namespace holdfast::policy {

namespace {

using Json = nlohmann::json;

constexpr TokenPos kRequestBlock = 512;  // of the format with a request a line
constexpr std::int64_t kTokensMax = 1 << 28;
constexpr double kSecondsMax = 1e9;

// What is wrong with a line, in words that follow "line N: ".
struct Wrong {
  std::string what;
};
template <typename T>
using Read = std::variant<T, Wrong>;

Read<std::int64_t> whole_number(const Json& value, const char* name, std::int64_t least,
                                std::int64_t most) {
  if (!value.is_number_integer()) return Wrong{std::string(name) + " is not a whole number"};
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(most)) {
    return Wrong{std::string(name) + " is too large"};
  }
  const auto number = value.get<std::int64_t>();
  if (number < least) return Wrong{std::string(name) + " is too small"};
  if (number > most) return Wrong{std::string(name) + " is too large"};
  return number;
}

class Reader {
 public:
  Reader(std::string name, const TraceOptions& options)
      : name_(std::move(name)), options_(options), random_(options.seed) {}

  Result<Trace> read(const std::string& text) {
    std::size_t number = 0;
    for (std::size_t at = 0; at < text.size() && !enough();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view line = std::string_view(text).substr(at, end - at);
      ++number;
      at = end + 1;
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      if (const auto wrong = take(line)) {
        return invalid_argument("--trace",
                                name_ + ", line " + std::to_string(number) + ": " + wrong->what);
      }
    }
    if (trace_.requests.empty()) {
      return invalid_argument("--trace", name_ +
                                             " holds no requests; it should be JSON lines, "
                                             "see holdfast-policy --help");
    }
    std::ranges::stable_sort(trace_.requests, {}, &TraceRequest::time_ms);
    trace_.ids = next_id_;
    return std::move(trace_);
  }

 private:
  enum class Format { kUnknown, kRequests, kSessions };

  [[nodiscard]] bool enough() const {
    return trace_.sessions >= options_.sessions || trace_.requests.size() >= options_.requests;
  }

  std::optional<Wrong> take(std::string_view line) {
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_discarded()) return Wrong{"is not JSON; is the file cut off?"};
    if (!json.is_object()) return Wrong{"is not a JSON object"};
    const Format format = json.contains("hash_ids") ? Format::kRequests
                          : json.contains("reqs")   ? Format::kSessions
                                                    : Format::kUnknown;
    if (format == Format::kUnknown) return Wrong{"has neither hash_ids nor reqs"};
    if (format_ == Format::kUnknown) format_ = format;
    if (format != format_) return Wrong{"is of another format than the lines before"};
    return format == Format::kRequests ? take_request(json) : take_session(json);
  }

  // -- a request a line ------------------------------------------------------------

  std::optional<Wrong> take_request(const Json& json) {
    trace_.block_tokens = kRequestBlock;
    TraceRequest request;
    std::int64_t time = 0;
    std::int64_t input = 0;
    std::int64_t output = 0;
    if (auto wrong = field(json, "timestamp", 0, std::int64_t{1} << 50, time)) return wrong;
    if (auto wrong = field(json, "input_length", 1, kTokensMax, input)) return wrong;
    if (auto wrong = field(json, "output_length", 0, kTokensMax, output)) return wrong;
    const Json& ids = json.at("hash_ids");
    if (!ids.is_array()) return Wrong{"hash_ids is not a list"};
    for (const Json& id : ids) {
      const auto read = whole_number(id, "an id of hash_ids", 0, std::int64_t{1} << 60);
      if (const auto* wrong = std::get_if<Wrong>(&read)) return *wrong;
      request.blocks.push_back(global_id(std::get<std::int64_t>(read)));
    }
    request.time_ms = time;
    request.input = static_cast<TokenPos>(input);
    request.output = static_cast<TokenPos>(output);
    return add(std::move(request));
  }

  static std::optional<Wrong> field(const Json& json, const char* name, std::int64_t least,
                                    std::int64_t most, std::int64_t& into) {
    if (!json.contains(name)) return Wrong{std::string("has no ") + name};
    const auto read = whole_number(json.at(name), name, least, most);
    if (const auto* wrong = std::get_if<Wrong>(&read)) return *wrong;
    into = std::get<std::int64_t>(read);
    return std::nullopt;
  }

  // -- a session a line ------------------------------------------------------------

  std::optional<Wrong> take_session(const Json& json) {
    std::int64_t block = 0;
    std::int64_t tools = 0;
    std::int64_t system = 0;
    if (auto wrong = field(json, "bs", 1, 1 << 20, block)) return wrong;
    if (auto wrong = field(json, "tool", 0, kTokensMax, tools)) return wrong;
    if (auto wrong = field(json, "sys", 0, kTokensMax, system)) return wrong;
    if (trace_.block_tokens != 0 && trace_.block_tokens != block) {
      return Wrong{"has another bs than the lines before"};
    }
    if (!json.at("reqs").is_array()) return Wrong{"reqs is not a list"};
    trace_.block_tokens = static_cast<TokenPos>(block);
    ++trace_.sessions;
    Session session;
    session.begins_ms = static_cast<std::int64_t>(
        random_() % static_cast<std::uint64_t>(std::max<std::int64_t>(options_.spread_ms, 1)));
    session.group = &groups_[{tools, system}];
    session.shared_blocks = static_cast<std::size_t>((tools + system) / block);
    for (const Json& one : json.at("reqs")) {
      if (auto wrong = take_turn(one, session)) return wrong;
    }
    return std::nullopt;
  }

  struct Session {
    std::int64_t begins_ms = 0;
    double last_s = 0;
    std::int64_t at_ms = 0;
    std::size_t shared_blocks = 0;
    std::vector<BlockId>* group = nullptr;
    std::unordered_map<std::int64_t, BlockId> ids;
    std::vector<BlockId> before;
    bool first = true;
  };

  std::optional<Wrong> take_turn(const Json& one, Session& session) {
    if (!one.is_array() || one.size() < 5) return Wrong{"a request of reqs is too short"};
    if (!one[0].is_number()) return Wrong{"the time of a request is not a number"};
    const double at_s = one[0].get<double>();
    if (!(std::abs(at_s) <= kSecondsMax)) return Wrong{"the time of a request is out of range"};
    const auto input = whole_number(one[1], "input_tokens", 1, kTokensMax);
    if (const auto* wrong = std::get_if<Wrong>(&input)) return *wrong;
    const auto output = whole_number(one[2], "output_tokens", 0, kTokensMax);
    if (const auto* wrong = std::get_if<Wrong>(&output)) return *wrong;
    const auto keep =
        whole_number(one[3], "k", 0, static_cast<std::int64_t>(session.before.size()));
    if (const auto* wrong = std::get_if<Wrong>(&keep)) return *wrong;
    if (!one[4].is_array()) return Wrong{"the new ids of a request are not a list"};

    TraceRequest request;
    request.input = static_cast<TokenPos>(std::get<std::int64_t>(input));
    request.output = static_cast<TokenPos>(std::get<std::int64_t>(output));
    session.before.resize(static_cast<std::size_t>(std::get<std::int64_t>(keep)));
    for (const Json& id : one[4]) {
      const auto read = whole_number(id, "an id", 0, std::int64_t{1} << 60);
      if (const auto* wrong = std::get_if<Wrong>(&read)) return *wrong;
      session.before.push_back(session_id(session, std::get<std::int64_t>(read)));
    }
    request.blocks = session.before;
    request.system_end = system_end(session);
    request.tool_call = one.size() > 5 && one[5].is_string() && one[5] == "tool_use";
    const auto pause_ms = static_cast<std::int64_t>((at_s - session.last_s) * 1000);
    if (!session.first)
      session.at_ms += std::clamp<std::int64_t>(pause_ms, 0, options_.pause_max_ms);
    session.last_s = at_s;
    session.first = false;
    request.time_ms = session.begins_ms + session.at_ms;
    return add(std::move(request));
  }

  // The blocks of tools and system that the first request of a session begins with
  // are those of every session with as many tokens of both.
  BlockId session_id(Session& session, std::int64_t local) {
    if (const auto known = session.ids.find(local); known != session.ids.end()) {
      return known->second;
    }
    const std::size_t index = session.before.size();
    const bool shared = session.first && index < session.shared_blocks;
    BlockId id = 0;
    if (shared && index < session.group->size()) {
      id = (*session.group)[index];
    } else {
      id = next_id_++;
      if (shared && index == session.group->size()) session.group->push_back(id);
    }
    session.ids.emplace(local, id);
    return id;
  }

  [[nodiscard]] TokenPos system_end(const Session& session) const {
    const std::size_t shared = std::min(session.shared_blocks, session.group->size());
    const bool begins_with_it =
        shared > 0 && session.before.size() >= shared &&
        std::equal(session.before.begin(),
                   session.before.begin() + static_cast<std::ptrdiff_t>(shared),
                   session.group->begin());
    return begins_with_it ? static_cast<TokenPos>(shared) * trace_.block_tokens : 0;
  }

  BlockId global_id(std::int64_t id) {
    const auto [entry, added] = ids_.emplace(id, next_id_);
    if (added) ++next_id_;
    return entry->second;
  }

  // -- both --------------------------------------------------------------------------

  std::optional<Wrong> add(TraceRequest request) {
    const auto whole = static_cast<std::size_t>(request.input / trace_.block_tokens);
    const bool partial = request.input % trace_.block_tokens != 0;
    const std::size_t count = request.blocks.size();
    if (count != whole && !(partial && count == whole + 1)) {
      return Wrong{"has " + std::to_string(count) + " ids for " + std::to_string(request.input) +
                   " tokens"};
    }
    before_.resize(std::max(before_.size(), static_cast<std::size_t>(next_id_)), kNotSeen);
    BlockId last = kFirst;
    for (const BlockId id : request.blocks) {
      BlockId& expected = before_[static_cast<std::size_t>(id)];
      if (expected == kNotSeen) expected = last;
      if (expected != last) return Wrong{"an id stands behind two different ones"};
      last = id;
    }
    if (request.input > options_.input_max) {
      ++trace_.dropped;
    } else {
      trace_.requests.push_back(std::move(request));
    }
    return std::nullopt;
  }

  static constexpr BlockId kNotSeen = -2;
  static constexpr BlockId kFirst = -1;

  const std::string name_;
  const TraceOptions options_;
  std::mt19937_64 random_;
  Format format_ = Format::kUnknown;
  Trace trace_;
  BlockId next_id_ = 0;
  std::unordered_map<std::int64_t, BlockId> ids_;
  std::vector<BlockId> before_;  // each id's
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<BlockId>> groups_;
};

}  // namespace

Result<Trace> parse_trace(const std::string& text, const std::string& name,
                          const TraceOptions& options) {
  return Reader(name, options).read(text);
}

Result<Trace> read_trace(const std::string& path, const TraceOptions& options) {
  auto text = read_text(path);
  if (!text) return text.error();
  return parse_trace(*text, path, options);
}

}  // namespace holdfast::policy
