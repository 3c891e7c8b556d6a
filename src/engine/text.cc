#include "engine/text.h"

namespace holdfast::engine {

std::string TextModel::detokenize(TokenSpan tokens) const {
  std::string text;
  for (const Token token : tokens) text += piece(token, true);
  return text;
}

}  // namespace holdfast::engine
