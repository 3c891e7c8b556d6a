// Companion: an optional second model (draft model, MTP head) that follows the
// primary's slots so that it can propose tokens.
//
// It is told where the primary went and answers how far it came along. That is
// all: there is no way for it to refuse, to fail loudly or to change the primary
// (H5). One that cannot be trimmed answers 0 and is rebuilt.
//
// Same thread as the Engine.
#pragma once

#include "engine/engine.h"
#include "state/tokens.h"

namespace holdfast {

class Companion {
 public:
  virtual ~Companion() = default;
  // The primary's slot now holds exactly `tokens`. Comes as near as it can and
  // says how many of them it holds: 0 .. tokens.size().
  [[nodiscard]] virtual TokenPos follow(SlotId slot, TokenSpan tokens) noexcept = 0;
};

}  // namespace holdfast
