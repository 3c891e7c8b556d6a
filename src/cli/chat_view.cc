#include "cli/chat_view.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "cli/text_parts.h"

namespace holdfast::cli {
std::string harmless(std::string_view text) {
  std::string safe;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool c1 = c == 0xC2 && i + 1 < text.size() &&
                    static_cast<unsigned char>(text[i + 1]) >= 0x80 &&
                    static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (c1) ++i;
    if (c1 || c == 0x7F || (c < ' ' && c != '\n' && c != '\t')) continue;
    safe += text[i];
  }
  return safe;
}

void AnswerView::reasoning(std::string_view text) {
  if (!io_.terminal() || text.empty()) return;
  if (!std::exchange(reasoning_, true) && io_.colour()) io_.write(kDim);
  show(text);
}

void AnswerView::content(std::string_view text) {
  if (text.empty()) return;
  if (reasoning_) {
    end_reasoning();
    io_.write("\n");
  }
  show(text);
}

void AnswerView::end() {
  end_reasoning();
  if (last_ != '\n') io_.write("\n");
  last_ = '\n';
}

void AnswerView::end_reasoning() {
  if (!std::exchange(reasoning_, false)) return;
  if (io_.colour()) io_.write(kPlain);
  if (std::exchange(last_, '\n') != '\n') io_.write("\n");
}

void AnswerView::show(std::string_view text) {
  const std::string safe = io_.terminal() ? harmless(text) : std::string(text);
  io_.write(safe);
  if (!safe.empty()) last_ = safe.back();
}

std::string stats_line(const TurnStats& stats) {
  std::string line;
  if (stats.cached > 0) line += with_commas(stats.cached) + " cached + ";
  line += with_commas(stats.read) + (stats.cached > 0 ? " new tokens read" : " tokens read");
  if (stats.read_ms > 0) line += " in " + fixed(stats.read_ms / 1000, 2) + " s";
  line += " · " + with_commas(stats.generated) + " tokens";
  if (stats.per_second > 0) line += " at " + fixed(stats.per_second, 1) + " tok/s";
  if (stats.drafted > 0) {
    line += ", " + with_commas(stats.accepted) + " of " + with_commas(stats.drafted) +
            " drafted accepted";
  }
  return line;
}

std::string total_line(const TurnStats& total, int turns) {
  const std::int64_t prompt = total.cached + total.read;
  std::string line = std::to_string(turns) + (turns == 1 ? " turn · " : " turns · ");
  line += with_commas(prompt) + " prompt tokens, " + with_commas(total.cached) + " of them cached";
  if (prompt > 0) line += " (" + fixed(100.0 * total.cached / prompt, 1) + "%)";
  return line + " · " + with_commas(total.generated) + " tokens generated";
}

}  // namespace holdfast::cli
