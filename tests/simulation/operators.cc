#include "operators.h"

#include <optional>
#include <utility>

#include "cache/slot_file.h"
#include "trouble.h"

namespace holdfast::simulation {

void Operators::act(serve::Scheduler& scheduler) {
  switch (choices_.below(9)) {
    case 0: return clear(scheduler);
    case 8: return drop(scheduler);
    case 1: return list(scheduler);
    case 2:
    case 3:
    case 4: return save(scheduler);
    case 5:
    case 6: return restore(scheduler);
    default: return erase(scheduler);
  }
}

void Operators::clear(serve::Scheduler& scheduler) {
  std::optional<serve::CacheOwner> whose;
  if (choices_.once_in(2)) whose = serve::CacheOwner{SpaceKey{choices_.below(2), 7}, "tenant0"};
  ++*waiting_;
  scheduler.cache_commands().clear(whose,
                                   [waiting = waiting_](const Result<ByteCount>&) { --*waiting; });
  counts_.add(whose ? "caches of one tenant emptied" : "caches emptied");
}

void Operators::list(serve::Scheduler& scheduler) {
  ++*waiting_;
  scheduler.cache_commands().list_conversations(
      5, [waiting = waiting_, seen = seen_](const Result<cache::ConversationsStatus>& listed) {
        --*waiting;
        seen->clear();
        if (!listed) return;
        for (const auto& one : listed->latest) seen->push_back(one.tip);
      });
  demand(scheduler.receipts().latest(5, "tenant0").size() <= 5,
         "more receipts than were asked for");
}

// It may be gone by now, or of another space.
void Operators::drop(serve::Scheduler& scheduler) {
  if (seen_->empty()) return list(scheduler);
  const tree::NodeId tip = (*seen_)[choices_.below(seen_->size())];
  std::optional<SpaceKey> only;
  if (choices_.once_in(2)) only = SpaceKey{choices_.below(2), 7};
  ++*waiting_;
  scheduler.cache_commands().drop(tip, only,
                                  [waiting = waiting_](const Result<ByteCount>&) { --*waiting; });
  counts_.add("conversations dropped");
}

serve::SlotAsk Operators::some_slot() {
  const int slot = static_cast<int>(choices_.below(static_cast<std::size_t>(slots_)));
  return {SlotId{slot}, SpaceKey{choices_.once_in(4) ? 1U : 0U, 7}, nullptr};
}

void Operators::save(serve::Scheduler& scheduler) {
  ++*waiting_;
  scheduler.slot_commands().save(some_slot(), [this, waiting = waiting_, name = some_name()](
                                                  const Result<serve::SlotCopy>& copy) {
    --*waiting;
    if (!copy) return counts_.add("slots not saved");
    const auto written =
        cache::write_slot_file(files_, name, copy->state, cache::slot_owner("x"), clock_.unix_ms());
    counts_.add(written ? "slots saved" : "slots not saved");
  });
}

void Operators::restore(serve::Scheduler& scheduler) {
  const serve::SlotAsk ask = some_slot();
  auto file = cache::read_slot_file(files_, some_name(), cache::slot_owner("x"),
                                    scheduler.slot_commands().limits(ask.space));
  if (!file) return counts_.add("slots not restored");
  ++*waiting_;
  scheduler.slot_commands().restore(
      ask, std::make_shared<const cache::SlotState>(std::move(file->state)),
      [this, waiting = waiting_](const Result<serve::SlotBrought>& brought) {
        --*waiting;
        counts_.add(brought ? "slots restored" : "slots not restored");
      });
}

void Operators::erase(serve::Scheduler& scheduler) {
  ++*waiting_;
  scheduler.slot_commands().erase(some_slot(),
                                  [waiting = waiting_](const Result<TokenPos>&) { --*waiting; });
  counts_.add("slots erased");
}

}  // namespace holdfast::simulation
