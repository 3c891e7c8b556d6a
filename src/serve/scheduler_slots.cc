// What is asked of slots by themselves: save, restore, erase.
#include <algorithm>

#include "base/check.h"
#include "serve/scheduler.h"

namespace holdfast::serve {

namespace {

// Each of them may hold a whole state.
constexpr std::size_t kTasksMax = 32;

std::string name_of(SlotId slot) { return "Slot " + std::to_string(slot.value); }

Error not_theirs(SlotId slot) {
  return {ErrorCode::kNotFound,
          name_of(slot) + " holds a conversation of another API key or cache_salt.", "id_slot"};
}

Error refused(SlotId slot, const std::string& why) {
  return {ErrorCode::kInvalidArgument,
          "The saved state is refused: " + why + ". " + name_of(slot) + " is as it was.",
          "filename"};
}

// One function for both ends of a task: it is done, or it is refused.
template <typename T, typename Work>
std::function<void(const Error*)> task_of(SlotAnswer<T> answer, Work work) {
  return [answer = std::move(answer), work = std::move(work)](const Error* refusal) {
    if (refusal != nullptr) {
      answer(*refusal);
    } else {
      answer(work());
    }
  };
}

}  // namespace

// --- called from other threads ---------------------------------------------

void Scheduler::save_slot(SlotAsk ask, SlotAnswer<SlotCopy> answer) {
  auto work = [this, ask] { return copy_slot(ask); };
  enqueue({ask, task_of(std::move(answer), std::move(work))});
}

void Scheduler::restore_slot(SlotAsk ask, std::shared_ptr<const cache::SlotState> state,
                             SlotAnswer<SlotBrought> answer) {
  if (const auto error = unlike_ours(*state)) {
    answer(refused(ask.slot, error->message));
    return;
  }
  auto work = [this, ask, state = std::move(state)] { return bring_to_slot(ask, *state); };
  enqueue({ask, task_of(std::move(answer), std::move(work))});
}

void Scheduler::erase_slot(SlotAsk ask, SlotAnswer<TokenPos> answer) {
  auto work = [this, ask] { return empty_slot(ask); };
  enqueue({ask, task_of(std::move(answer), std::move(work))});
}

cache::SlotLimits Scheduler::slot_limits(SpaceKey space) const {
  cache::SlotLimits limits;
  limits.space = space;
  limits.tokens_max = engine_.context_tokens();
  limits.vocabulary = static_cast<Token>(text_.card().vocabulary);
  limits.bytes_max = state_bytes_max_;
  return limits;
}

void Scheduler::enqueue(SlotTask task) {
  CHECK(0 <= task.ask.slot.value && task.ask.slot.value < engine_.slot_count());
  Error refusal{ErrorCode::kUnavailable, "The server is shutting down.", ""};
  {
    const std::lock_guard lock(mutex_);
    if (!stop_ && slot_tasks_waiting_ < kTasksMax) {
      ++slot_tasks_waiting_;
      new_slot_tasks_.push_back(std::move(task));
      news_.notify_one();
      return;
    }
    if (!stop_) refusal.message = "Too many requests wait for slots. Try again later.";
  }
  task.act(&refusal);
}

// Whether the tokens are cut as they would be here. Pure; any thread.
std::optional<Error> Scheduler::unlike_ours(const cache::SlotState& state) const {
  const auto wrong = [](const char* what) { return Error{ErrorCode::kInvalidArgument, what, ""}; };
  if (state.length() == 0 || state.length() > engine_.context_tokens())
    return wrong("it holds no token, or more than the context");
  if (state.exact < 0 || state.exact > state.length()) return wrong("it is not of this server");
  if (!options_.deterministic) {
    if (!state.keys.empty()) return wrong("it is of a server with other settings");
    return std::nullopt;
  }
  const std::vector<TokenPos> cuts = grid_.cuts(state.tokens);
  const bool on_grid = !cuts.empty() && cuts.back() == state.length();
  if (!on_grid || state.exact != state.length() ||
      state.keys != cache::StateCache::keys_for(state.tokens, cuts, true))
    return wrong("it does not end where --deterministic cuts its tokens");
  return std::nullopt;
}

// --- the loop --------------------------------------------------------------

void Scheduler::do_slot_tasks() {
  std::size_t done = 0;
  const auto ready = [&](const SlotTask& task) {
    return slots_[static_cast<std::size_t>(task.ask.slot.value)].idle();
  };
  for (auto task = std::ranges::find_if(slot_tasks_, ready); task != slot_tasks_.end();
       task = std::ranges::find_if(slot_tasks_, ready)) {
    const SlotTask next = std::move(*task);
    slot_tasks_.erase(task);
    ++done;
    const Error unwanted{ErrorCode::kCancelled, "The request was cancelled.", ""};
    const bool given_up = next.ask.unwanted != nullptr && next.ask.unwanted->load();
    next.act(given_up ? &unwanted : nullptr);
  }
  if (done == 0) return;
  const std::lock_guard lock(mutex_);
  slot_tasks_waiting_ -= done;
}

Result<SlotCopy> Scheduler::copy_slot(const SlotAsk& ask) {
  const TokenPos length = cache_.length(ask.slot);
  if (length == 0) return Error{ErrorCode::kNotFound, name_of(ask.slot) + " is empty.", "id_slot"};
  if (cache_.space(ask.slot) != ask.space) return not_theirs(ask.slot);
  const auto before = clock_.now();
  auto state = cache_.copy_out(ask.slot);
  if (state) return SlotCopy{std::move(*state), env::ms_between(before, clock_.now())};
  if (!options_.deterministic) {
    return Error{ErrorCode::kUnavailable,
                 name_of(ask.slot) + " cannot be copied: there is not enough memory.", ""};
  }
  return Error{ErrorCode::kNotFound,
               name_of(ask.slot) +
                   " holds nothing that --deterministic could go on from: its prompt was not cut "
                   "anywhere, or the state there is no longer in memory.",
               "id_slot"};
}

Result<TokenPos> Scheduler::empty_slot(const SlotAsk& ask) {
  const bool holds = cache_.length(ask.slot) > 0;
  if (holds && cache_.space(ask.slot) != ask.space) return not_theirs(ask.slot);
  const TokenPos erased = cache_.erase(ask.slot);
  publish_status();
  return erased;
}

Result<SlotBrought> Scheduler::bring_to_slot(const SlotAsk& ask, const cache::SlotState& state) {
  if (state.space != ask.space) return refused(ask.slot, "it is another's");
  if (!totals_.disproved.empty()) {
    return Error{ErrorCode::kUnavailable,
                 "Nothing is restored any more, because a restored state was found to be wrong (" +
                     totals_.disproved + "). Restart the server after a look at `holdfast doctor`.",
                 ""};
  }
  const auto before = clock_.now();
  const auto brought = cache_.bring_in(ask.slot, state);
  publish_status();  // whoever has the answer sees it
  if (!brought) {
    return Error{ErrorCode::kInvalidArgument,
                 brought.error().message + " " + name_of(ask.slot) + " is empty now.", "filename"};
  }
  return SlotBrought{state.length(), env::ms_between(before, clock_.now())};
}

}  // namespace holdfast::serve
