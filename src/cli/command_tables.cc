#include "cli/command_tables.h"

#include <algorithm>

#include "base/check.h"
#include "cli/cache.h"
#include "cli/chat.h"
#include "cli/doctor.h"
#include "cli/explain.h"
#include "cli/launch.h"
#include "cli/option_groups.h"
#include "cli/program.h"
#include "cli/replay.h"
#include "cli/text_parts.h"
#include "cli/verify_exact.h"

namespace holdfast::cli {
namespace {

constexpr std::string_view kDash = " - ";

// The introduction without the command's name.
std::string_view sentences_of(const CommandSyntax& syntax) {
  const auto dash = syntax.intro.find(kDash);
  CHECK(dash != std::string::npos);
  return std::string_view(syntax.intro).substr(dash + kDash.size());
}

std::size_t end_of_first(std::string_view sentences) {
  return std::min(sentences.find(". "), sentences.size() - 1);
}

}  // namespace

void visit_commands(const CommandVisitor& visit) {
  visit(program_syntax());
  ServeOptions serve;
  visit(serve_syntax(serve));
  ChatOptions chat;
  visit(chat_syntax(chat));
  LaunchOptions launch;
  visit(launch_syntax(launch));
  ExplainOptions explain;
  visit(explain_syntax(explain));
  DoctorFlags doctor;
  visit(doctor_syntax(doctor));
  CacheCommandOptions cache;
  bool cache_help_asked = false;
  visit(cache_syntax(cache, cache_help_asked));
  ReplayOptions replay;
  visit(replay_syntax(replay));
  VerifyExactOptions verify_exact;
  visit(verify_exact_syntax(verify_exact));
}

std::string name_of(const CommandSyntax& syntax) {
  const auto space = syntax.command.find(' ');
  return space == std::string::npos ? "" : syntax.command.substr(space + 1);
}

std::string first_word(const std::string& usage) { return usage.substr(0, usage.find(' ')); }

std::string about(const CommandSyntax& syntax) {
  const std::string_view sentences = sentences_of(syntax);
  return std::string(sentences.substr(0, end_of_first(sentences)));
}

std::string more_about(const CommandSyntax& syntax) {
  const std::string_view sentences = sentences_of(syntax);
  return std::string(trim(sentences.substr(end_of_first(sentences) + 1)));
}

}  // namespace holdfast::cli
