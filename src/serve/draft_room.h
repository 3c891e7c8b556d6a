// DraftRoom: how long a draft may be, by engine, context and request, and what of it is sound.
#pragma once

#include "engine/engine.h"
#include "serve/slot.h"

namespace holdfast::serve {

class DraftRoom {
 public:
  // `fixed` > 0: every step has exactly this many tokens more than one, drafted or filled in, as
  // far as the context holds them.
  DraftRoom(const engine::Engine& engine, int vocabulary, TokenPos fixed)
      : engine_(engine), vocabulary_(vocabulary), fixed_(fixed) {}

  [[nodiscard]] TokenPos fixed() const { return fixed_; }
  // The longest draft, up to `most`, that the engine takes back at no cost.
  [[nodiscard]] TokenPos taken_back_freely(TokenPos most) const;
  // Tokens that the engine takes in one step and the context still holds, beside those that wait.
  [[nodiscard]] TokenPos room(const Slot& slot) const;
  // Tokens that a draft may have: what there is room for, the request allows, and the answer may
  // still get.
  [[nodiscard]] TokenPos limit(const Slot& slot) const;
  // Whatever a companion said, the engine gets tokens of its vocabulary, and not too many.
  void make_sound(Job& job, TokenPos most) const;

 private:
  const engine::Engine& engine_;
  const int vocabulary_;
  const TokenPos fixed_;
};

}  // namespace holdfast::serve
