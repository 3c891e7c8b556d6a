#include "cache/request_notes.h"

#include <algorithm>

#include "cache/receipt.h"

namespace holdfast::cache {

namespace {

std::string skipped_sentence(const std::vector<std::string>& kinds) {
  if (kinds.empty()) return "";
  std::string list;
  for (auto kind = kinds.begin(); kind != kinds.end();) {
    const auto next = std::upper_bound(kind, kinds.end(), *kind);
    if (!list.empty()) list += ", ";
    list += *kind;
    if (next - kind > 1) list += " (" + std::to_string(next - kind) + ")";
    kind = next;
  }
  return "Left out, because only their maker's servers run them: " + list + ".";
}

std::string attribution_sentence(const Receipt& receipt) {
  if (!receipt.notes.attribution_at) return "";
  const std::string what =
      "Claude Code's attribution line was left out (--keep-attribution keeps it)";
  const TokenPos saved = attribution_saved(receipt);
  if (saved == 0) return what + ".";
  return what + "; it differs from session to session, and with it up to " + std::to_string(saved) +
         " of the reused tokens would have been read again.";
}

std::string limit_sentence(const RequestNotes& notes) {
  const bool bounded = notes.answer_asked < 0 || notes.answer_asked > notes.answer_limit;
  if (notes.answer_limit <= 0 || !bounded) return "";
  const std::string asked = notes.answer_asked < 0
                                ? "no limit was asked for"
                                : std::to_string(notes.answer_asked) + " were asked for";
  return "The answer may have up to " + std::to_string(notes.answer_limit) +
         " tokens, which is what the context leaves; " + asked + ".";
}

}  // namespace

TokenPos attribution_saved(const Receipt& receipt) {
  if (!receipt.notes.attribution_at) return 0;
  return std::max(0, receipt.restored - *receipt.notes.attribution_at);
}

std::vector<std::string> note_sentences(const Receipt& receipt) {
  std::vector<std::string> sentences = {skipped_sentence(receipt.notes.skipped),
                                        attribution_sentence(receipt),
                                        limit_sentence(receipt.notes)};
  std::erase(sentences, "");
  return sentences;
}

}  // namespace holdfast::cache
