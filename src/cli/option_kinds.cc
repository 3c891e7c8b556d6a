#include "cli/option_kinds.h"

namespace holdfast::cli::option_kinds {
namespace {

OptionKind set_to(bool& field, bool value) {
  return {"on or off",
          [&field, value](std::string_view text) {
            const auto truth = truth_of(text);
            if (truth) field = *truth == value;
            return truth.has_value();
          },
          field && value ? "on" : ""};
}

}  // namespace

std::string range_text(std::int64_t min, std::int64_t max) {
  return "from " + std::to_string(min) + " to " + std::to_string(max);
}

OptionKind with_default(OptionKind kind, std::string shown) {
  kind.shown = std::move(shown);
  return kind;
}

OptionKind real_or_model(float& field) { return with_default(real(field, -1.0), "from the model"); }

OptionKind text(std::string& field) {
  return {"a text that is not empty",
          [&field](std::string_view text) {
            field = std::string(text);
            return !text.empty();
          },
          field};
}

OptionKind any_text(std::string& field) {
  return {"a text", [&field](std::string_view text) { return field = std::string(text), true; }};
}

OptionKind text_instead_of(std::string& field, std::string& other) {
  OptionKind kind = text(field);
  kind.set = [set = kind.set, &other](std::string_view text) {
    other.clear();
    return set(text);
  };
  return kind;
}

OptionKind local_port(std::string& url) {
  constexpr std::int64_t kPortMax = 65535;
  return {"a port " + range_text(1, kPortMax), [&url](std::string_view text) {
            const auto port = number_of<std::int64_t>(text);
            if (!port || *port < 1 || *port > kPortMax) return false;
            url = "http://127.0.0.1:" + std::to_string(*port);
            return true;
          }};
}

OptionKind flag(bool& field) { return set_to(field, true); }
OptionKind turn_off(bool& field) { return set_to(field, false); }

OptionKind list(std::vector<std::string>& field, ListMode mode, std::string_view separators) {
  return {"at least one item that is not empty",
          [=, &field](std::string_view text) {
            if (mode == ListMode::kReplace) field.clear();
            const auto parts = split(text, separators);
            field.insert(field.end(), parts.begin(), parts.end());
            return !parts.empty();
          },
          join(field, ",")};
}

OptionKind word(std::string& field, std::initializer_list<std::string> words) {
  std::vector<std::pair<std::string, std::string>> names;
  for (const std::string& name : words) names.emplace_back(name, name);
  return choice(field, std::move(names));
}

Option help_option(bool& asked) {
  return {"-h, --help", "", flag(asked), "This text.", "", "", Support::kCommandLineOnly};
}

}  // namespace holdfast::cli::option_kinds
