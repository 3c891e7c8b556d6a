#include "engine/text.h"

namespace holdfast {

std::string TextModel::detokenize(TokenSpan tokens) const {
  std::string text;
  for (const Token token : tokens) text += piece(token, true);
  return text;
}

}  // namespace holdfast
