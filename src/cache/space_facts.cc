#include "cache/space_facts.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

namespace holdfast::cache {

namespace {

constexpr std::size_t kValueCharacters = 60;
constexpr std::size_t kFeaturesMax = 4;
constexpr std::string_view kNowhere = "not noted";

// --- reading --------------------------------------------------------------------

bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

// How long the name at the start of a text is; 0: there is none.
std::size_t name_length(std::string_view text) {
  if (text.empty() || !is_letter(text[0])) return 0;
  std::size_t length = 1;
  while (length < text.size() && (is_letter(text[length]) || text[length] == '-')) ++length;
  return length < text.size() && text[length] == '=' ? length : 0;
}

// Where the value at the start of a text ends: before the blank that the next name follows.
std::size_t value_length(std::string_view text) {
  for (std::size_t blank = text.find(' '); blank != text.npos; blank = text.find(' ', blank + 1)) {
    if (name_length(text.substr(blank + 1)) > 0) return blank;
  }
  return text.size();
}

// --- words ----------------------------------------------------------------------

// In one line, and at most this long; no character is cut apart.
std::string shown(std::string_view value) {
  std::string text;
  std::size_t characters = 0;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0U) != 0x80U && ++characters > kValueCharacters) return text + "...";
    text += byte < ' ' || byte == 0x7f ? '?' : c;
  }
  return text.empty() ? "default" : text;
}

std::string shown_or_not(std::optional<std::string_view> value) {
  return value ? shown(*value) : std::string(kNowhere);
}

std::vector<std::string_view> split(std::string_view text, std::string_view by) {
  std::vector<std::string_view> parts;
  for (std::size_t end = 0; (end = text.find(by)) != text.npos;
       text.remove_prefix(end + by.size())) {
    parts.push_back(text.substr(0, end));
  }
  parts.push_back(text);
  return parts;
}

std::string joined(std::span<const std::string> parts, std::string_view by) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += by;
    text += part;
  }
  return text;
}

std::optional<std::string_view> find(const Facts& facts, std::string_view name) {
  const auto found = std::ranges::find(facts, name, &Fact::name);
  if (found == facts.end()) return std::nullopt;
  return found->value;
}

// Both values of one fact; at least one is there, and they differ.
struct TwoValues {
  std::string_view name;
  std::optional<std::string_view> theirs;
  std::optional<std::string_view> ours;
};

FactDifference named_difference(FactKind kind, std::string_view name, const TwoValues& values) {
  return {
      kind,
      std::string(name) + " " + shown_or_not(values.theirs) + ", here " + shown_or_not(values.ours),
      ""};
}

// --- the engine -----------------------------------------------------------------

// "llama.cpp 0.5.0 (CPU : SSE3 = 1 | AVX = 1 | )" in two parts.
struct EngineText {
  std::string_view version;
  std::set<std::string_view> features;
};

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

EngineText read_engine(std::string_view text) {
  const std::size_t open = std::min(text.find(" ("), text.size());
  EngineText engine{text.substr(0, open), {}};
  if (open == text.size()) return engine;
  std::string_view inside = text.substr(open + 2);
  if (inside.ends_with(')')) inside.remove_suffix(1);
  for (const std::string_view feature : split(inside, "|")) {
    if (const std::string_view name = trimmed(feature); !name.empty()) engine.features.insert(name);
  }
  return engine;
}

// "AVX512 = 1, BMI2 = 1": those of `some` that are not among `others`.
std::string features_beyond(const std::set<std::string_view>& some,
                            const std::set<std::string_view>& others) {
  std::vector<std::string> names;
  for (const std::string_view name : some) {
    if (!others.contains(name)) names.push_back(shown(name));
  }
  const bool more = names.size() > kFeaturesMax;
  names.resize(std::min(names.size(), kFeaturesMax));
  return joined(names, ", ") + (more ? ", ..." : "");
}

// Another variant has other features by nature: `by_variant` leaves them out.
std::optional<FactDifference> engine_difference(const TwoValues& values, bool by_variant) {
  if (!values.theirs || !values.ours) {
    return named_difference(FactKind::kEngine, "engine", values);
  }
  const EngineText theirs = read_engine(*values.theirs);
  const EngineText ours = read_engine(*values.ours);
  if (theirs.version != ours.version) {
    return FactDifference{FactKind::kEngine,
                          shown(theirs.version) + ", here " + shown(ours.version), ""};
  }
  if (by_variant) return std::nullopt;
  const std::string with = features_beyond(theirs.features, ours.features);
  const std::string without = features_beyond(ours.features, theirs.features);
  std::string words = "another build";
  if (!with.empty()) words += " with " + with;
  if (!without.empty()) words += (with.empty() ? " without " : ", without ") + without;
  return FactDifference{FactKind::kEngine, words, ""};
}

// --- settings -------------------------------------------------------------------

// Facts made of one or several flags' values, with '/' between them.
struct FlagsOfFact {
  std::string_view name;
  std::array<std::string_view, 5> flags;
};
constexpr std::array<FlagsOfFact, 7> kFlags = {
    {{"kv", {"--cache-type-k", "--cache-type-v"}},
     {"rope", {"--rope-scaling", "--rope-freq-base", "--rope-freq-scale"}},
     {"yarn",
      {"--yarn-orig-ctx", "--yarn-ext-factor", "--yarn-attn-factor", "--yarn-beta-fast",
       "--yarn-beta-slow"}},
     {"device", {"--device", "--gpu-layers", "--split-mode", "--main-gpu", "--tensor-split"}},
     {"ubatch", {"--ubatch-size"}},
     {"grid", {"--grid-step"}},
     {"threads", {"--threads", "--threads-batch"}}}};

// Only values that name themselves can be given again; the others may stand for a default.
std::string flag_with(std::string_view flag, std::string_view value) {
  const bool plain = !value.empty() && std::ranges::all_of(value, [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
  });
  return plain ? std::string(flag) + " " + std::string(value) : "";
}

std::vector<FactDifference> flag_differences(const FlagsOfFact& known, const TwoValues& values) {
  const auto theirs = split(values.theirs.value_or(""), "/");
  const auto ours = split(values.ours.value_or(""), "/");
  const auto count = static_cast<std::size_t>(std::ranges::find(known.flags, std::string_view()) -
                                              known.flags.begin());
  if (!values.theirs || !values.ours || theirs.size() != count || ours.size() != count) {
    return {named_difference(FactKind::kSetting, known.name, values)};
  }
  std::vector<FactDifference> found;
  for (std::size_t i = 0; i < count; ++i) {
    if (theirs[i] == ours[i]) continue;
    const TwoValues one{known.flags[i], theirs[i], ours[i]};
    found.push_back(named_difference(FactKind::kSetting, known.flags[i], one));
    found.back().flag = flag_with(known.flags[i], theirs[i]);
  }
  return found;
}

// A setting whose values have words of their own. Exact prompts have no flag here: a server has to
// have the same threads as well.
struct WordsOfValue {
  std::string_view name;
  std::string_view value;
  std::string_view words;
  std::string_view flag;
};
constexpr std::array<WordsOfValue, 9> kWords = {
    {{"flash", "0", "--flash-attn auto", "--flash-attn auto"},
     {"flash", "1", "--flash-attn on", "--flash-attn on"},
     {"flash", "2", "--flash-attn off", "--flash-attn off"},
     {"swa-full", "0", "--no-swa-full", "--no-swa-full"},
     {"swa-full", "1", "--swa-full", "--swa-full"},
     {"stretched", "0", "a context within the model's original length", ""},
     {"stretched", "1", "a context beyond the model's original length", ""},
     {"mode", "deterministic", "exact prompts", ""},
     {"mode", "throughput", "prompts that are not exact", "--exact off"}}};

const WordsOfValue* words_for(std::string_view name, std::optional<std::string_view> value) {
  const auto found = std::ranges::find_if(kWords, [&](const WordsOfValue& known) {
    return known.name == name && value && known.value == *value;
  });
  return found == kWords.end() ? nullptr : &*found;
}

std::vector<FactDifference> setting_differences(const TwoValues& values) {
  const auto* const theirs = words_for(values.name, values.theirs);
  const auto* const ours = words_for(values.name, values.ours);
  if (theirs != nullptr && ours != nullptr) {
    return {{FactKind::kSetting, std::string(theirs->words) + ", here " + std::string(ours->words),
             std::string(theirs->flag)}};
  }
  const auto known = std::ranges::find(kFlags, values.name, &FlagsOfFact::name);
  if (known != kFlags.end()) return flag_differences(*known, values);
  return {named_difference(FactKind::kSetting, shown(values.name), values)};
}

// --- one fact after the other ----------------------------------------------------

bool differs(const Facts& theirs, const Facts& ours, std::string_view name) {
  return find(theirs, name) != find(ours, name);
}

void add_differences(const TwoValues& values, const Facts& theirs, const Facts& ours,
                     std::vector<FactDifference>& all) {
  const auto add = [&](FactDifference one) { all.push_back(std::move(one)); };
  if (values.name == "model") return add({FactKind::kModel, "another model file", ""});
  if (values.name == "variant") {
    return add(named_difference(FactKind::kEngine, "CPU variant", values));
  }
  if (values.name == "buffers") return add(named_difference(FactKind::kEngine, "buffers", values));
  if (values.name == "engine") {
    if (auto one = engine_difference(values, differs(theirs, ours, "variant"))) add(*one);
    return;
  }
  // They are noted where prompts are exact only.
  if (values.name == "threads" && differs(theirs, ours, "mode")) return;
  for (FactDifference& one : setting_differences(values)) add(std::move(one));
}

// --- several lists ----------------------------------------------------------------

bool agree_in(std::span<const Facts> lists, std::string_view name) {
  return std::ranges::all_of(
      lists, [&](const Facts& facts) { return find(facts, name) == find(lists.front(), name); });
}

// Lists of the same variant have the same engine, and each has a variant.
bool follows_from_variant(std::span<const Facts> lists) {
  std::map<std::string_view, std::string_view> engines;
  return std::ranges::all_of(lists, [&](const Facts& facts) {
    const auto variant = find(facts, "variant");
    const std::string_view engine = value_of(facts, "engine");
    return variant && engines.emplace(*variant, engine).first->second == engine &&
           read_engine(engine).version == read_engine(value_of(lists.front(), "engine")).version;
  });
}

// The version where there are several, and features that not all have.
std::string engine_apart(std::string_view own, std::span<const Facts> lists) {
  const EngineText engine = read_engine(own);
  std::set<std::string_view> common = engine.features;
  bool one_version = true;
  for (const Facts& facts : lists) {
    const EngineText other = read_engine(value_of(facts, "engine"));
    one_version = one_version && other.version == engine.version;
    std::erase_if(common, [&](std::string_view name) { return !other.features.contains(name); });
  }
  const std::string features = features_beyond(engine.features, common);
  if (one_version) return features.empty() ? "(fewer features)" : "(" + features + ")";
  return shown(engine.version) + (features.empty() ? "" : " (" + features + ")");
}

std::vector<std::string> words_of(std::span<const FactDifference> differences, FactKind kind) {
  std::vector<std::string> words;
  for (const FactDifference& one : differences) {
    if (one.kind == kind && !one.words.empty()) words.push_back(one.words);
  }
  return words;
}

}  // namespace

Facts parse_facts(std::string_view settings) {
  Facts facts;
  while (const std::size_t name = name_length(settings)) {
    const std::string_view rest = settings.substr(name + 1);
    const std::size_t value = value_length(rest);
    facts.push_back({std::string(settings.substr(0, name)), std::string(rest.substr(0, value))});
    settings = rest.substr(std::min(value + 1, rest.size()));
  }
  return facts;
}

std::string_view value_of(const Facts& facts, std::string_view name) {
  return find(facts, name).value_or("");
}

Fingerprint as_fingerprint(const Facts& facts) {
  Fingerprint fingerprint;
  for (const Fact& fact : facts) fingerprint.add(fact.name, fact.value);
  return fingerprint;
}

std::vector<FactDifference> differences(const Facts& theirs, const Facts& ours) {
  std::vector<FactDifference> all;
  std::set<std::string_view> done;
  for (const Facts* facts : {&theirs, &ours}) {
    for (const Fact& fact : *facts) {
      const TwoValues values{fact.name, find(theirs, fact.name), find(ours, fact.name)};
      if (!done.insert(fact.name).second || values.theirs == values.ours) continue;
      add_differences(values, theirs, ours, all);
    }
  }
  return all;
}

std::string made_by(const Facts& theirs, const Facts& ours) {
  if (theirs == ours) return "";
  const auto all = differences(theirs, ours);
  if (!words_of(all, FactKind::kModel).empty()) return "another model file";
  const std::string engine = joined(words_of(all, FactKind::kEngine), "; ");
  const std::string settings = joined(words_of(all, FactKind::kSetting), "; ");
  if (engine.empty() && settings.empty()) return "another version of Holdfast";
  const std::string maker = engine.empty() ? "a server" : "another engine (" + engine + ")";
  return settings.empty() ? maker : maker + " with other settings (" + settings + ")";
}

std::vector<Facts> telling_apart(std::span<const Facts> lists) {
  std::vector<Facts> apart;
  for (const Facts& facts : lists) {
    Facts& left = apart.emplace_back();
    for (const Fact& fact : facts) {
      if (agree_in(lists, fact.name)) continue;
      const bool engine = fact.name == "engine";
      if (engine && follows_from_variant(lists)) continue;
      left.push_back({fact.name, engine ? engine_apart(fact.value, lists) : fact.value});
    }
  }
  return apart;
}

std::string flags_for(const Facts& theirs, const Facts& ours) {
  std::vector<std::string> flags;
  for (const FactDifference& one : differences(theirs, ours)) {
    if (one.kind != FactKind::kSetting || one.flag.empty()) return "";
    flags.push_back(one.flag);
  }
  return joined(flags, " ");
}

}  // namespace holdfast::cache
