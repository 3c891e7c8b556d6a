#include "serve/slot_commands.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace holdfast::serve {

namespace {

// Generous: twice what the shapes say, and something for headers.
ByteCount slot_file_bytes_max(const engine::Engine& engine, const engine::Companion* companion) {
  constexpr ByteCount kHeaders = 16 << 20;
  constexpr ByteCount kHeadersPerToken = 64;
  const engine::CompanionShape beside =
      companion != nullptr ? companion->shape() : engine::CompanionShape{};
  const ByteCount per_token = engine.shape().bytes_per_token() + beside.bytes_per_token;
  const auto tokens = static_cast<ByteCount>(engine.context_tokens());
  return 2 * (tokens * per_token + engine.shape().bytes_per_snapshot() + beside.bytes_per_place) +
         tokens * kHeadersPerToken + kHeaders;
}

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

// One function for both ends of a command: it is done, or it is refused.
template <typename T, typename Work>
std::function<void(const Error*)> command_of(Answer<T> answer, Work work) {
  return [answer = std::move(answer), work = std::move(work)](const Error* refusal) {
    if (refusal != nullptr) {
      answer(*refusal);
    } else {
      answer(work());
    }
  };
}

}  // namespace

SlotCommands::SlotCommands(LoopCore& core, Inbox& inbox, const engine::Companion* companion)
    : core_(core), inbox_(inbox), state_bytes_max_(slot_file_bytes_max(core.engine, companion)) {}

// --- any thread ------------------------------------------------------------------------------

void SlotCommands::save(SlotAsk ask, Answer<SlotCopy> answer) {
  auto work = [this, ask] { return copy_slot(ask); };
  enqueue({ask, command_of(std::move(answer), std::move(work))});
}

void SlotCommands::restore(SlotAsk ask, std::shared_ptr<const cache::SlotState> state,
                           Answer<SlotBrought> answer) {
  if (const auto error = unlike_ours(*state)) {
    answer(refused(ask.slot, error->message));
    return;
  }
  auto work = [this, ask, state = std::move(state)] { return bring_to_slot(ask, *state); };
  enqueue({ask, command_of(std::move(answer), std::move(work))});
}

void SlotCommands::erase(SlotAsk ask, Answer<TokenPos> answer) {
  auto work = [this, ask] { return empty_slot(ask); };
  enqueue({ask, command_of(std::move(answer), std::move(work))});
}

void SlotCommands::end_thoughts(const std::string& response, const std::string& tenant,
                                Answer<bool> answer) {
  const auto end = [this, response, tenant, answer] {
    bool found = false;
    bool ended = false;
    for (const Slot& slot : core_.slots) {
      if (slot.idle()) continue;
      const GenerateRequest& request = slot.job->input;
      if (request.response != response || request.tenant != tenant) continue;
      found = true;
      ended = request.sampler->end_thoughts() || ended;
    }
    if (found) return answer(ended);
    answer(Error{ErrorCode::kNotFound, "No answer of this id is being written.", "id"});
  };
  if (!inbox_.post(end)) answer(stopping_error());
}

cache::SlotLimits SlotCommands::limits(SpaceKey space) const {
  cache::SlotLimits limits;
  limits.space = space;
  limits.tokens_max = core_.engine.context_tokens();
  limits.vocabulary = static_cast<Token>(core_.text.card().vocabulary);
  limits.bytes_max = state_bytes_max_;
  return limits;
}

void SlotCommands::enqueue(Command command) {
  CHECK(0 <= command.ask.slot.value && command.ask.slot.value < core_.engine.slot_count());
  if (waiting_.fetch_add(1) >= kWaitingMax) {
    --waiting_;
    const Error full{ErrorCode::kUnavailable, "Too many requests wait for slots. Try again later.",
                     ""};
    return command.act(&full);
  }
  const auto shared = std::make_shared<Command>(std::move(command));
  if (inbox_.post([this, shared] { commands_.push_back(std::move(*shared)); })) return;
  --waiting_;
  const Error stopping = stopping_error();
  shared->act(&stopping);
}

// Whether the tokens are cut as they would be here. Pure; any thread.
std::optional<Error> SlotCommands::unlike_ours(const cache::SlotState& state) const {
  const auto wrong = [](const char* what) { return Error{ErrorCode::kInvalidArgument, what, ""}; };
  if (state.length() == 0 || state.length() > core_.engine.context_tokens())
    return wrong("it holds no token, or more than the context");
  if (state.exact < 0 || state.exact > state.length()) return wrong("it is not of this server");
  if (!core_.options.has_exact_prompts()) {
    if (!state.keys.empty()) return wrong("it is of a server with other settings");
    return std::nullopt;
  }
  const std::vector<TokenPos> cuts = core_.grid.cuts(state.tokens);
  const bool on_grid = !cuts.empty() && cuts.back() == state.length();
  if (!on_grid || state.exact != state.length() ||
      state.keys != cache::filing_keys(state.tokens, cuts, true))
    return wrong("it does not end where --exact cuts its tokens");
  return std::nullopt;
}

// --- the loop --------------------------------------------------------------------------------

void SlotCommands::run() {
  const auto ready = [&](const Command& command) { return core_.slot(command.ask.slot).idle(); };
  for (auto found = std::ranges::find_if(commands_, ready); found != commands_.end();
       found = std::ranges::find_if(commands_, ready)) {
    const Command next = std::move(*found);
    commands_.erase(found);
    --waiting_;
    const Error unwanted = cancelled_error();
    const bool given_up = next.ask.unwanted != nullptr && next.ask.unwanted->load();
    next.act(given_up ? &unwanted : nullptr);
  }
}

void SlotCommands::refuse_all(const Error& error) {
  for (const Command& command : std::exchange(commands_, {})) {
    --waiting_;
    command.act(&error);
  }
}

std::vector<std::string> SlotCommands::check() const {
  std::vector<std::string> violations;
  const std::size_t waiting = waiting_.load();
  if (waiting < commands_.size()) violations.push_back("SLOTCMD-1: commands are miscounted");
  if (commands_.size() > kWaitingMax) violations.push_back("SLOTCMD-1: too many commands wait");
  return violations;
}

Result<SlotCopy> SlotCommands::copy_slot(const SlotAsk& ask) {
  const TokenPos length = core_.length(ask.slot);
  if (length == 0) return Error{ErrorCode::kNotFound, name_of(ask.slot) + " is empty.", "id_slot"};
  if (core_.cache.slots()[ask.slot].space != ask.space) return not_theirs(ask.slot);
  const auto before = core_.clock.now();
  auto state = core_.cache.transfer().copy_out(ask.slot);
  if (state) return SlotCopy{std::move(*state), env::ms_between(before, core_.clock.now())};
  if (!core_.options.has_exact_prompts()) {
    return Error{ErrorCode::kUnavailable,
                 name_of(ask.slot) + " cannot be copied: there is not enough memory.", ""};
  }
  return Error{ErrorCode::kNotFound,
               name_of(ask.slot) +
                   " holds nothing that --exact could go on from: its prompt was not cut "
                   "anywhere, or the state there is no longer in memory.",
               "id_slot"};
}

Result<TokenPos> SlotCommands::empty_slot(const SlotAsk& ask) {
  const bool holds = core_.length(ask.slot) > 0;
  if (holds && core_.cache.slots()[ask.slot].space != ask.space) return not_theirs(ask.slot);
  const TokenPos erased = core_.cache.transfer().forget(ask.slot);
  core_.publish();
  return erased;
}

Result<SlotBrought> SlotCommands::bring_to_slot(const SlotAsk& ask, const cache::SlotState& state) {
  if (state.space != ask.space) return refused(ask.slot, "it is another's");
  if (!core_.totals.disproved.empty()) {
    return Error{ErrorCode::kUnavailable,
                 "Nothing is restored any more, because a restored state was found to be wrong (" +
                     core_.totals.disproved +
                     "). Restart the server after a look at `holdfast doctor`.",
                 ""};
  }
  const auto before = core_.clock.now();
  const auto brought = core_.cache.transfer().bring_in(ask.slot, state);
  core_.publish();  // a client that has its answer sees it
  if (!brought) {
    return Error{ErrorCode::kInvalidArgument,
                 brought.error().message + " " + name_of(ask.slot) + " is empty now.", "filename"};
  }
  return SlotBrought{state.length(), env::ms_between(before, core_.clock.now())};
}

}  // namespace holdfast::serve
