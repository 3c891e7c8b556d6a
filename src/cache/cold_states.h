// ColdStates: what comes up to memory from the tier below it, and what goes down.
//
//   look_up   is there more of the prompt below than the outlook keeps?
//   ready     an answer is there, or will not be waited for
//   advance   chooses what pays and asks for it; then takes it into memory
//   persist   writes a path behind
//
// A prompt that waits owns its ColdFetch. A store that fails, lies or hangs costs the time that
// reading would take at most, and is a miss (H7).
//
// One owning thread, that of the engine.
#pragma once

#include <memory>
#include <vector>

#include "cache/cache_core.h"
#include "cache/prompt.h"
#include "cache/receipt.h"
#include "cache/start_choice.h"

namespace holdfast::cache {

// What is being brought up for a prompt that waits.
struct ColdFetch {
  enum class Stage { kLooking, kBringing, kOver };
  Stage stage = Stage::kOver;
  std::shared_ptr<Pending<tier::StoreMatch>> look;
  std::shared_ptr<Pending<Brought>> bring;
  ColdChoice choice;
  RoomHold room;
  int tries = 0;
  env::Clock::TimePoint began{};
  double patience_ms = 0.0;  // how long it may take from `began`

  [[nodiscard]] bool over() const { return stage == Stage::kOver; }
};

class ColdStates {
 public:
  explicit ColdStates(CacheCore& core) : core_(core) {}

  // What a prompt's states are found by below; empty where there is no such tier. Any thread.
  [[nodiscard]] std::vector<tier::PathName> names_for(SpaceKey space, TokenSpan keys) const;
  // Asks for more of the prompt than the outlook keeps, where there may be more.
  [[nodiscard]] ColdFetch look_up(const Prompt& prompt, const StartChoice& outlook);
  [[nodiscard]] bool ready(const ColdFetch& fetch) const;
  // Does the next step of a fetch that is ready. True: memory holds more of the prompt now.
  // REQUIRES: the outlook is the prompt's, of now.
  bool advance(ColdFetch& fetch, const Prompt& prompt, const StartChoice& outlook,
               Receipt& receipt);
  // Memory's states along these keys are written below, as far as they are worth it.
  void persist(SpaceKey space, TokenSpan keys);

 private:
  bool choose(ColdFetch& fetch, const Prompt& prompt, const StartChoice& outlook);
  bool take_in(ColdFetch& fetch, const Prompt& prompt, Receipt& receipt);
  [[nodiscard]] std::vector<KeptPlace> places_worth_keeping(const tree::Match& match,
                                                            TokenSpan keys) const;

  CacheCore& core_;
};

}  // namespace holdfast::cache
