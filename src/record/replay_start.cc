#include "record/replay_start.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace holdfast::record {

void ReplayStart::forget(const LiveRequest& request) {
  if (planned_ == &request) expire();
}

bool ReplayStart::plan(const CacheEvent& event, LiveRequest* request) {
  if (request == nullptr || request->slot || event.slots.empty()) return false;
  std::vector<SlotId> slots;
  for (const int slot : event.slots) {
    const SlotId id{slot};
    if (!slots_.is_idle(slot) || std::ranges::count(slots, id) > 0) return false;
    slots.push_back(id);
  }
  planned_ = request;
  choice_ = cache_->admission().plan(planned_->view(), slots);
  const plan::StartPlan& made = choice_->plan;
  if (made.slot != event.slot || made.source != event.source || made.reused != event.position) {
    differences_.decision(
        "the plan keeps " + std::to_string(made.reused) + " tokens (" +
        plan::start_source_name(made.source) + ") on slot " + std::to_string(made.slot) +
        "; recorded: " + std::to_string(event.position) + " (" +
        plan::start_source_name(event.source) + ") on slot " + std::to_string(event.slot));
  }
  return true;
}

bool ReplayStart::wait(const CacheEvent& event) {
  if (!choice_) return false;
  const auto awaited = cache_->admission().find_peer(planned_->view(), *choice_);
  const bool same = awaited.has_value() == event.yes &&
                    (!awaited || (awaited->slot.value == event.slot && awaited->run == event.run &&
                                  awaited->position == event.position));
  if (!same) differences_.decision("another request is waited for, or none");
  return true;
}

bool ReplayStart::ask_below() {
  if (!choice_ || !cache_.header().lower) return false;
  planned_->fetch = cache_->cold().look_up(planned_->view(), *choice_);
  return true;
}

bool ReplayStart::go_on(CacheEvent& event) {
  if (!choice_ || !planned_->fetch) return false;
  using Stage = cache::ColdFetch::Stage;
  cache::ColdFetch& fetch = *planned_->fetch;
  const bool looks = fetch.stage == Stage::kLooking;
  const bool brings = fetch.stage == Stage::kBringing;
  if (fetch.over() || (event.found && !looks) || (event.came && !brings)) {
    differences_.decision("nothing is asked of the tier below");
    return true;
  }
  if (event.found) fetch.look->set(std::move(*event.found));
  if (event.came) {
    if (!could_come(*event.came, fetch)) return false;
    fetch.bring->set(brought_from(*event.came));
  }
  const bool more = cache_->cold().advance(fetch, planned_->view(), *choice_, planned_->receipt);
  if (more || !fetch.over()) expire();
  return true;
}

// Whether the tree takes these states for the planned prompt.
bool ReplayStart::could_come(const BroughtOutline& came, const cache::ColdFetch& fetch) const {
  const tree::StateNeeds needs = tree::StateNeeds::of(cache_.header().shape);
  if (!came.uses.empty() && !needs.blocks) return false;
  if (came.place > 0 && !needs.snapshot) return false;
  const TokenPos length = length_of(planned_->prompt.tokens);
  const TokenPos most = came.all ? std::min(fetch.choice.position, length) : length;
  if (!came.uses.empty() && came.uses.back().range.end > most) return false;
  return !came.all || came.place == 0 || came.place == fetch.choice.position;
}

LiveRequest* ReplayStart::begin(const CacheEvent& event) {
  const bool planned = choice_ && planned_->prompt.request == event.request;
  if (!planned || !slots_.is_idle(event.slot)) return nullptr;
  const SlotId id{event.slot};
  if (choice_->plan.slot != event.slot)
    choice_ = cache_->admission().plan(planned_->view(), {&id, 1});
  planned_->slot = id;
  cache_->begin(planned_->view(), *choice_, planned_->receipt);
  expire();
  return planned_;
}

}  // namespace holdfast::record
