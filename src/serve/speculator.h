// Speculator: what the companion proposes for the slots that are writing.
//
//   sampled token ---> companion ---> draft ---> one batch with all of it
//                                                 | each row is sampled as if it
//                                                 | were the only one
//                        accepted: the tokens that were chosen anyway
//
// A draft never decides anything: the request's own sampler chooses every token, in
// order, from the primary's logits. So the distribution is the primary's, whatever
// was proposed (H5); a bad draft costs time, and the next ones are as long as measured
// times and acceptance suggest (plan/draft_pace.h).
//
// One owning thread, that of the engine.
#pragma once

#include <span>
#include <vector>

#include "engine/companion.h"
#include "engine/engine.h"
#include "env/clock.h"
#include "plan/acceptance.h"
#include "plan/draft_pace.h"
#include "serve/draft_room.h"
#include "serve/slot.h"

namespace holdfast::serve {

class Speculator {
 public:
  // `companion` may be null. `fixed`: see DraftRoom.
  Speculator(engine::Engine& engine, engine::Companion* companion, int vocabulary, TokenPos fixed,
             const env::Clock& clock);

  [[nodiscard]] bool active() const { return companion_ != nullptr; }

  // Gives each slot that is writing a draft, which may be empty. Where the engine
  // could not take it back, the state before it is saved first.
  void propose(std::span<Slot* const> slots);
  // A step over these slots took this long; their drafts are still in place.
  void note_step(std::span<Slot* const> slots, double ms);
  // The engine read a prompt: the next step is one after a change.
  void note_other_work() { pace_.costs().note_other_work(); }
  // This many of the draft, which is still in place, were right.
  void note_verdict(Job& job, TokenPos accepted);
  // These tokens of the step were right, but the primary's state goes back to before
  // them. The companion learns them now, while what the primary computed is there.
  void note_undone(Slot& slot, TokenSpan undone);
  // Bringing the state back took this long.
  void note_brought_back(double ms) { pace_.costs().note_brought_back(ms); }
  // The request is over.
  void note_end(const Job& job);

 private:
  void make_wishes(std::span<Slot* const> slots);
  [[nodiscard]] TokenPos pace(std::span<Slot* const> slots);
  [[nodiscard]] bool chosen_here(const Job& job) const;
  [[nodiscard]] plan::DraftCosts::Call take_drafts(std::span<Slot* const> slots);
  void fill_up(std::span<Slot* const> slots);
  void save_rollback_state(Slot& slot);

  engine::Engine& engine_;
  engine::Companion* const companion_;
  const DraftRoom room_;
  const env::Clock& clock_;
  plan::DraftPace pace_;
  plan::AcceptanceByPosition acceptance_;  // of requests that have ended
  std::vector<engine::DraftWish> wishes_;
  std::vector<plan::PacedRequest> paced_;
};

}  // namespace holdfast::serve
