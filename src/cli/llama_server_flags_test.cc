// docs/llama-server.md against llama-server's own table of options and ours: the page that people
// read before they switch names every flag, and says of each what is true.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "cli/option_groups.h"

namespace holdfast::cli {
namespace {

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// llama.cpp's source, which the build fetches for its headers; empty: there is none.
std::string source_tree() {
  const std::string command =
      "cd '" HOLDFAST_SOURCE_DIR "' && env -u LLAMA_DIR scripts/engine.sh tree 2>/dev/null";
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "";
  std::array<char, 4096> line{};
  const bool any = std::fgets(line.data(), line.size(), pipe) != nullptr;
  pclose(pipe);
  const std::string path = any ? line.data() : "";
  return path.substr(0, path.find('\n'));
}

// --- llama-server's table ----------------------------------------------------------------

struct TheirOption {
  std::vector<std::string> names;  // those that turn it off included
  std::vector<std::string> variables;
};

std::vector<std::string> all_matches(const std::string& text, const std::string& pattern) {
  std::vector<std::string> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at)
    found.push_back((*at)[1]);
  return found;
}

// The names in the one or two lists that an option begins with.
std::vector<std::string> names_in(const std::string& option) {
  static const std::regex lists(R"(^\s*\{([^}]*)\}\s*,\s*(\{([^}]*)\})?)");
  std::smatch match;
  if (!std::regex_search(option, match, lists)) return {};
  return all_matches(match[1].str() + "," + match[3].str(), R"re("(-[^"]+)")re");
}

// An option without examples belongs to all programs, as does one of LLAMA_EXAMPLE_COMMON.
bool is_servers(const std::string& option) {
  std::string examples;
  for (const std::string& list : all_matches(option, R"(set_examples\(\{([^}]*)\}\))"))
    examples += list;
  std::string excluded;
  for (const std::string& list : all_matches(option, R"(set_excludes\(\{([^}]*)\}\))"))
    excluded += list;
  if (excluded.find("LLAMA_EXAMPLE_SERVER") != std::string::npos) return false;
  return examples.empty() || examples.find("LLAMA_EXAMPLE_SERVER") != std::string::npos ||
         examples.find("LLAMA_EXAMPLE_COMMON") != std::string::npos;
}

std::vector<TheirOption> their_options(const std::string& tree) {
  std::string text = file_text(tree + "/common/arg.cpp");
  const std::string begin = "add_opt(common_arg(";
  std::vector<TheirOption> all;
  for (std::size_t at = text.find(begin); at != std::string::npos;) {
    const std::size_t next = text.find(begin, at + begin.size());
    std::string option = text.substr(at + begin.size(), next - at - begin.size());
    option = std::regex_replace(option, std::regex(R"(\n\s*//[^\n]*)"), "");
    if (is_servers(option)) {
      all.push_back({names_in(option), all_matches(option, R"re(set_env\("([^"]+)"\))re")});
      EXPECT_FALSE(all.back().names.empty()) << option.substr(0, 200);
    }
    at = next;
  }
  return all;
}

// --- the page ------------------------------------------------------------------------------

// The flags in the first columns of the tables below each heading of the part "Flags".
std::map<std::string, std::set<std::string>> flags_on_page() {
  std::istringstream page(file_text(HOLDFAST_SOURCE_DIR "/docs/llama-server.md"));
  std::map<std::string, std::set<std::string>> sections;
  std::string heading;
  bool within = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) within = line == "## Flags";
    if (line.starts_with("### ")) heading = line.substr(4);
    if (!within || !line.starts_with("| ")) continue;
    const std::string column = line.substr(2, line.find(" |", 2) - 2);
    for (const std::string& flag : all_matches(column, "`(-[^`\\s]+)[^`]*`")) {
      EXPECT_TRUE(sections[heading].insert(flag).second) << flag << " is there twice";
    }
  }
  return sections;
}

std::vector<std::string> headings_for(Support support) {
  switch (support) {
    case Support::kFull:
    case Support::kCommandLineOnly: return {"The same", "Different"};
    case Support::kNoEffect: return {"Accepted, without effect"};
    case Support::kNone: return {"Refused"};
  }
  return {};
}

class LlamaServerFlags : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string tree = source_tree();
    if (tree.empty()) GTEST_SKIP() << "the source of llama.cpp cannot be had here";
    theirs_ = their_options(tree);
    ASSERT_GT(theirs_.size(), 240U) << "their table is read wrongly";
  }

  // How we take this name; nothing: not at all.
  [[nodiscard]] const Option* ours(const std::string& name) const {
    const auto named = names_.find(name);
    return named && named->name == name ? named->option : nullptr;
  }
  [[nodiscard]] bool on_page(const std::string& flag, Support support) const {
    return std::ranges::any_of(headings_for(support), [&](const std::string& heading) {
      const auto section = page_.find(heading);
      return section != page_.end() && section->second.contains(flag);
    });
  }

  ServeOptions options_;
  const std::vector<OptionGroup> groups_ = serve_option_groups(options_);
  const OptionNames names_{groups_};
  const std::map<std::string, std::set<std::string>> page_ = flags_on_page();
  std::vector<TheirOption> theirs_;
};

TEST_F(LlamaServerFlags, EachIsTakenOrRefusedInWordsUnderAllOfItsNames) {
  for (const TheirOption& option : theirs_) {
    for (const std::string& name : option.names)
      EXPECT_NE(ours(name), nullptr) << name << " is not in option_groups_*.cc";
  }
}

TEST_F(LlamaServerFlags, ThePageSaysOfEachWhatIsTrue) {
  for (const TheirOption& option : theirs_) {
    std::map<std::string, std::vector<std::string>> by_heading;
    for (const std::string& name : option.names) {
      if (const Option* const taken = ours(name))
        by_heading[headings_for(taken->support).back()].push_back(name);
    }
    for (const auto& [heading, names] : by_heading) {
      const bool there = std::ranges::any_of(
          names, [&](const std::string& name) { return on_page(name, ours(name)->support); });
      EXPECT_TRUE(there) << names.front() << " is missing below \"" << heading << '"';
    }
  }
}

TEST_F(LlamaServerFlags, ThePageNamesNoOthers) {
  std::set<std::string> known;
  for (const TheirOption& option : theirs_) known.insert(option.names.begin(), option.names.end());
  EXPECT_EQ(page_.size(), 4U);
  for (const auto& [heading, flags] : page_) {
    for (const std::string& flag : flags) {
      EXPECT_TRUE(known.contains(flag)) << flag << " is no flag of llama-server";
      const Option* const taken = ours(flag);
      ASSERT_NE(taken, nullptr) << flag;
      EXPECT_TRUE(on_page(flag, taken->support)) << flag << " is not \"" << heading << '"';
    }
  }
}

TEST_F(LlamaServerFlags, TheirVariablesWorkWhereTheFlagDoes) {
  for (const TheirOption& option : theirs_) {
    const Option* const taken = option.names.empty() ? nullptr : ours(option.names.front());
    if (taken == nullptr || taken->support != Support::kFull) continue;
    for (const std::string& variable : option.variables) {
      EXPECT_NE((", " + taken->llama_env + ",").find(", " + variable + ","), std::string::npos)
          << variable << " of " << option.names.front();
    }
  }
}

}  // namespace
}  // namespace holdfast::cli
