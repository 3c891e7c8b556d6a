#include "cli/text_wrap.h"

#include <algorithm>
#include <utility>

#include "cli/text_parts.h"

namespace holdfast::cli {

std::string wrap_text(std::string_view text, int width, int indent) {
  const std::string margin(indent, ' ');
  const std::size_t room = std::max(20, width - indent);
  std::string wrapped;
  std::string line;
  for (const std::string& word : split(text, " ")) {
    if (!line.empty() && line.size() + 1 + word.size() > room) {
      wrapped += margin + std::exchange(line, "") + "\n";
    }
    line += (line.empty() ? "" : " ") + word;
  }
  wrapped += margin + line + "\n";
  std::replace(wrapped.begin(), wrapped.end(), kFixedSpace, ' ');
  return wrapped;
}

}  // namespace holdfast::cli
