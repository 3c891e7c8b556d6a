#include "record/replayer.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "record/recording_frames.h"
#include "record/replay_world.h"

namespace holdfast::record {

namespace {

constexpr std::size_t kNotesMax = 20;
// Of prompts that are alive at one time: a queue of 256 with 256k tokens each.
constexpr std::uint64_t kLiveTokensMax = std::uint64_t{64} << 20U;

// A request that has not ended, and what the cache refers to of it.
struct LiveRequest {
  CacheEvent prompt;
  Tokens keys;
  cache::EndKey end;
  cache::Receipt receipt;
  std::optional<cache::ColdFetch> fetch;
  std::optional<SlotId> slot;  // it has begun there
  bool ended = false;

  [[nodiscard]] cache::Prompt view(bool deterministic) const {
    return {prompt.space,
            prompt.tokens,
            deterministic ? TokenSpan(keys) : TokenSpan(prompt.tokens),
            prompt.cuts,
            prompt.spans,
            prompt.yes,
            prompt.header_end,
            {},
            end,
            prompt.request};
  }
};

struct ReplaySlot {
  LiveRequest* request = nullptr;  // null: idle
  bool emptied = false;            // while it was at work
  bool failed = false;             // the engine emptied it: nothing but its end may follow
};

class Replayer {
 public:
  explicit Replayer(ReplayOutcome& outcome)
      : outcome_(outcome),
        header_(outcome.header),
        clock_(script_),
        engine_(header_, script_),
        companion_(header_, script_),
        below_(script_),
        journal_(script_),
        slots_(static_cast<std::size_t>(header_.slots)) {}

  // False: no server writes this event here.
  [[nodiscard]] bool replay(CacheEvent event) {
    event_ = &event;
    script_.open(event);
    const bool fits = dispatch(event);
    const std::string difference = script_.close();
    if (fits && !difference.empty()) differs(difference);
    return fits;
  }

  [[nodiscard]] std::uint64_t alive() const { return requests_.size(); }

 private:
  [[nodiscard]] bool dispatch(CacheEvent& event) {
    if (event.kind == EventKind::kOpened) return open();
    if (!cache_) return false;
    switch (event.kind) {
      case EventKind::kPrompt: return add(event);
      case EventKind::kPlan: return plan(event);
      case EventKind::kWait: return wait(event);
      case EventKind::kAskBelow: return ask_below();
      case EventKind::kGoOn: return go_on(event);
      case EventKind::kBegin: return begin(event);
      case EventKind::kBeforeChunk: return before_chunk(event);
      case EventKind::kPrefilled: return prefilled(event, cache::Copies::kNow);
      case EventKind::kPostponed: return prefilled(event, cache::Copies::kLater);
      case EventKind::kCopyPostponed: return copy_postponed(event);
      case EventKind::kDecoded: return decoded(event);
      case EventKind::kEmptied: return emptied(event);
      case EventKind::kEnd: return end(event);
      case EventKind::kReceipt: return compare(event);
      case EventKind::kDropped: return drop(event);
      case EventKind::kCalledTool: cache_->live().called_tool({event.slot}, event.run); return true;
      case EventKind::kSpeed:
        cache_->growth().note_prefill_speed(event.position, event.ms);
        return true;
      case EventKind::kForget: return true;
      case EventKind::kOpened:
      case EventKind::kDone: return false;
      default: return apart(event);
    }
  }

  // What is asked of slots by themselves, and of the whole.
  [[nodiscard]] bool apart(const CacheEvent& event) {
    outlook_.reset();
    switch (event.kind) {
      case EventKind::kKeepIdle: (void)cache_->live().keep_idle(); return true;
      case EventKind::kClear: (void)cache_->clear(); return true;
      case EventKind::kDistrust:
        if (std::ranges::any_of(slots_, [](const auto& slot) { return slot.request != nullptr; })) {
          return false;
        }
        cache_->distrust({}, "");
        return true;
      default: break;
    }
    if (slot_of(event).request != nullptr) return false;
    switch (event.kind) {
      case EventKind::kCopyOut: (void)cache_->transfer().copy_out({event.slot}); return true;
      case EventKind::kErase: (void)cache_->transfer().erase({event.slot}); return true;
      case EventKind::kBringIn: return bring_in(event);
      default: return false;
    }
  }

  bool open() {
    if (cache_) return false;
    const cache::CacheWorld world{
        .engine = &engine_,
        .clock = &clock_,
        .companion = header_.companion.empty() ? nullptr : &companion_,
        .lower = header_.lower ? &below_ : nullptr,
    };
    cache_.emplace(world, header_.options, &journal_);
    return true;
  }

  // --- before -----------------------------------------------------------------------

  bool add(CacheEvent& event) {
    live_tokens_ += event.tokens.size();
    if (requests_.contains(event.request) || live_tokens_ > kLiveTokensMax) return false;
    auto request = std::make_unique<LiveRequest>();
    request->prompt = std::move(event);
    const CacheEvent& prompt = request->prompt;
    request->keys = cache::filing_keys(prompt.tokens, prompt.cuts, header_.options.deterministic);
    if (prompt.yes) {
      const cache::Prompt seen = request->view(header_.options.deterministic);
      request->end = cache::EndKey::of(seen.space, seen.keys);
    }
    requests_.emplace(prompt.request, std::move(request));
    return true;
  }

  [[nodiscard]] cache::Prompt view() const { return planned_->view(header_.options.deterministic); }

  bool plan(const CacheEvent& event) {
    const auto found = requests_.find(event.request);
    if (found == requests_.end() || found->second->slot || event.slots.empty()) return false;
    std::vector<SlotId> slots;
    for (const int slot : event.slots) {
      const SlotId id{slot};
      if (slots_[static_cast<std::size_t>(slot)].request != nullptr) return false;
      if (std::ranges::count(slots, id) > 0) return false;
      slots.push_back(id);
    }
    planned_ = found->second.get();
    outlook_ = cache_->admission().plan(view(), slots);
    const plan::StartPlan& made = outlook_->plan;
    if (made.slot != event.slot || made.source != event.source || made.keep != event.position) {
      differs("the plan keeps " + std::to_string(made.keep) + " tokens (" +
              plan::start_source_name(made.source) + ") on slot " + std::to_string(made.slot) +
              "; recorded: " + std::to_string(event.position) + " (" +
              plan::start_source_name(event.source) + ") on slot " + std::to_string(event.slot));
    }
    return true;
  }

  bool wait(const CacheEvent& event) {
    if (!outlook_) return false;
    const auto awaited = cache_->admission().find_peer(view(), *outlook_);
    const bool same =
        awaited.has_value() == event.yes &&
        (!awaited || (awaited->slot.value == event.slot && awaited->run == event.run &&
                      awaited->position == event.position));
    if (!same) differs("another request is waited for, or none");
    return true;
  }

  bool ask_below() {
    if (!outlook_ || !header_.lower) return false;
    planned_->fetch = cache_->cold().look_up(view(), *outlook_);
    return true;
  }

  bool go_on(CacheEvent& event) {
    if (!outlook_ || !planned_->fetch) return false;
    using Stage = cache::ColdFetch::Stage;
    cache::ColdFetch& fetch = *planned_->fetch;
    const bool looks = fetch.stage == Stage::kLooking;
    const bool brings = fetch.stage == Stage::kBringing;
    if (fetch.over() || (event.found && !looks) || (event.came && !brings)) {
      differs("nothing is asked of the tier below");
      return true;
    }
    if (event.found) fetch.look->set(std::move(*event.found));
    if (event.came) {
      if (!could_come(*event.came, fetch)) return false;
      fetch.bring->set(brought_from(*event.came));
    }
    const bool more = cache_->cold().advance(fetch, view(), *outlook_, planned_->receipt);
    if (more || !fetch.over()) outlook_.reset();
    return true;
  }

  // What the tree takes for this prompt.
  [[nodiscard]] bool could_come(const BroughtOutline& came, const cache::ColdFetch& fetch) const {
    const tree::StateNeeds needs = tree::StateNeeds::of(header_.shape);
    if (!came.uses.empty() && !needs.blocks) return false;
    if (came.place > 0 && !needs.snapshot) return false;
    const TokenPos length = length_of(planned_->prompt.tokens);
    const TokenPos most = came.all ? std::min(fetch.choice.position, length) : length;
    if (!came.uses.empty() && came.uses.back().range.end > most) return false;
    return !came.all || came.place == 0 || came.place == fetch.choice.position;
  }

  // --- during -----------------------------------------------------------------------

  [[nodiscard]] ReplaySlot& slot_of(const CacheEvent& event) {
    return slots_[static_cast<std::size_t>(event.slot)];
  }
  // The slot, if a request is at work there.
  [[nodiscard]] ReplaySlot* busy(const CacheEvent& event) {
    ReplaySlot& slot = slot_of(event);
    outlook_.reset();
    return slot.request != nullptr && !slot.failed ? &slot : nullptr;
  }

  bool begin(const CacheEvent& event) {
    ReplaySlot& slot = slot_of(event);
    const bool planned = outlook_ && planned_->prompt.request == event.request;
    if (!planned || slot.request != nullptr) return false;
    const SlotId id{event.slot};
    if (outlook_->plan.slot != event.slot) outlook_ = cache_->admission().plan(view(), {&id, 1});
    planned_->slot = id;
    slot = {planned_};
    cache_->begin(view(), *outlook_, planned_->receipt);
    outlook_.reset();
    return true;
  }

  bool before_chunk(const CacheEvent& event) {
    ReplaySlot* slot = busy(event);
    if (slot == nullptr) return false;
    slot->failed = !cache_->growth().before_chunk({event.slot}).ok();
    return true;
  }

  // Reads the prompt up to a place, in the chunks that the cache asks for.
  void read_up_to(SlotId id, LiveRequest& request, TokenPos end, bool with_logits,
                  cache::Copies copies = cache::Copies::kNow) {
    const TokenSpan prompt = request.prompt.tokens;
    while (cache_->slots()[id].length() < end) {
      const TokenPos at = cache_->slots()[id].length();
      const TokenPos next = std::min(cache_->growth().chunk_end(id), end);
      engine_.set_length(id, next);
      cache_->growth().prefilled(
          id, prompt.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(next - at)),
          request.receipt,
          with_logits && next == end ? engine::LogitsOf::kLastToken : engine::LogitsOf::kNone,
          next == end ? copies : cache::Copies::kNow);
    }
  }

  bool prefilled(const CacheEvent& event, cache::Copies copies) {
    ReplaySlot* slot = busy(event);
    if (slot == nullptr || slot->emptied || cache_->growth().postponed({event.slot})) return false;
    if (event.position > length_of(slot->request->prompt.tokens)) return false;
    read_up_to({event.slot}, *slot->request, event.position, event.yes, copies);
    return true;
  }

  bool copy_postponed(const CacheEvent& event) {
    ReplaySlot* slot = busy(event);
    if (slot == nullptr || !cache_->growth().postponed({event.slot})) return false;
    cache_->growth().copy_postponed({event.slot}, event.bytes, slot->request->receipt);
    return true;
  }

  bool decoded(const CacheEvent& event) {
    ReplaySlot* slot = busy(event);
    if (slot == nullptr || cache_->growth().postponed({event.slot})) return false;
    const SlotId id{event.slot};
    if (!slot->emptied) {
      read_up_to(id, *slot->request, length_of(slot->request->prompt.tokens), true);
    }
    const TokenPos length = cache_->slots()[id].length() + length_of(event.tokens);
    if (length > header_.context_tokens) return false;
    engine_.set_length(id, length);
    cache_->growth().decoded(id, event.tokens);
    return true;
  }

  bool emptied(const CacheEvent& event) {
    ReplaySlot* slot = busy(event);
    if (slot == nullptr) return false;
    slot->emptied = true;
    engine_.set_length({event.slot}, 0);
    cache_->growth().emptied({event.slot});
    return true;
  }

  // A request that failed left its slot shorter.
  bool end(const CacheEvent& event) {
    ReplaySlot& slot = slot_of(event);
    outlook_.reset();
    if (slot.request == nullptr) return false;
    const SlotId id{event.slot};
    engine_.set_length(id, std::min(engine_.length(id), event.position));
    cache_->end(id);
    slot.request->ended = true;
    slot = {};
    return true;
  }

  bool bring_in(const CacheEvent& event) {
    cache::SlotState state;
    state.space = event.space;
    state.tokens = event.tokens;
    state.keys = cache::filing_keys(event.tokens, event.cuts, header_.options.deterministic);
    state.exact = event.position;
    (void)cache_->transfer().bring_in({event.slot}, state);
    return true;
  }

  // --- after ------------------------------------------------------------------------

  bool compare(CacheEvent& event) {
    const auto found = requests_.find(event.request);
    if (found == requests_.end() || !found->second->ended) return false;
    ReplayedRequest made;
    made.number = event.request;
    made.end = event.end;
    made.replayed = std::move(found->second->receipt);
    made.receipt = std::move(event.receipt);
    take_given_fields(made.receipt, made.replayed);
    made.differences = compare_receipts(made.receipt, made.replayed, header_.private_form);
    made.answer_tokens = event.position;
    made.answer_ms = event.ms;
    made.known_text = std::move(event.known_text);
    made.sent_text = std::move(event.sent_text);
    if (!made.differences.empty()) {
      ++outcome_.receipts_differ;
      const FieldDifference& first = made.differences.front();
      note("its receipt says " + first.field + " " + first.recorded + ", the replay " +
           first.replayed);
    }
    if (MemoryDigest::of(cache_->status()) != event.digest) {
      ++outcome_.digests_differ;
      note("memory holds something else after it");
    }
    outcome_.requests.push_back(std::move(made));
    forget(found);
    return true;
  }

  bool drop(const CacheEvent& event) {
    const auto found = requests_.find(event.request);
    if (found == requests_.end() || found->second->slot) return false;
    ++outcome_.dropped;
    forget(found);
    return true;
  }

  using Requests = std::map<std::uint64_t, std::unique_ptr<LiveRequest>>;
  void forget(Requests::iterator request) {
    if (planned_ == request->second.get()) outlook_.reset();
    live_tokens_ -= request->second->prompt.tokens.size();
    requests_.erase(request);
  }

  void differs(const std::string& how) {
    ++outcome_.decisions_differ;
    note(how);
  }

  void note(const std::string& how) {
    if (outcome_.notes.size() == kNotesMax) return;
    std::string who = "event " + std::to_string(outcome_.events);
    who += std::string(" (") + event_kind_name(event_->kind);
    if (event_->request > 0) who += ", request " + std::to_string(event_->request);
    outcome_.notes.push_back(who + "): " + how);
  }

  ReplayOutcome& outcome_;
  const RecordingHeader header_;
  ReplayScript script_;
  ReplayClock clock_;
  ReplayEngine engine_;
  ReplayCompanion companion_;
  ReplayBelow below_;
  ReplayJournal journal_;
  std::optional<cache::StateCache> cache_;
  std::vector<ReplaySlot> slots_;
  Requests requests_;
  std::uint64_t live_tokens_ = 0;
  LiveRequest* planned_ = nullptr;             // the latest plan is this request's,
  std::optional<cache::StartChoice> outlook_;  // and still true if it is there
  const CacheEvent* event_ = nullptr;
};

// All events of a file, up to the first that is none.
void replay_events(FrameReader& frames, ReplayOutcome& outcome) {
  EventDecoder decoder(outcome.header);
  Replayer replayer(outcome);
  const auto stop = [&](const std::string& why) {
    outcome.trouble = why;
    outcome.unfinished = replayer.alive();
  };
  while (const auto payload = frames.next()) {
    if (outcome.whole) return stop("something follows after the recording's end");
    RecordReader in(*payload);
    while (!in.at_end()) {
      ++outcome.events;
      auto event = decoder.decode(in);
      const std::string which = "event " + std::to_string(outcome.events);
      if (!event) return stop(which + " is damaged");
      if (event->kind == EventKind::kDone) {
        outcome.whole = in.at_end();
        outcome.done = event->done;
        if (!outcome.whole) return stop("something follows after the recording's end");
        break;
      }
      const EventKind kind = event->kind;
      if (!replayer.replay(std::move(*event))) {
        return stop(which + " (" + event_kind_name(kind) +
                    ") is not one that a server writes there");
      }
    }
  }
  outcome.unfinished = replayer.alive();
  outcome.trouble = frames.trouble();
  if (!outcome.whole && outcome.trouble.empty()) {
    outcome.trouble = "it has no end: the server was killed, or could not write on";
  }
}

}  // namespace

Result<ReplayOutcome> replay_recording(std::string_view file) {
  FrameReader frames(file);
  if (auto opened = frames.open(); !opened) return opened.error();
  const auto first = frames.next();
  if (!first) {
    const std::string why =
        frames.trouble().empty() ? "nothing follows its name" : frames.trouble();
    return Error{ErrorCode::kInvalidArgument, "The recording has no header: " + why + ".", ""};
  }
  auto header = decode_header(*first);
  if (!header) return header.error();
  ReplayOutcome outcome;
  outcome.header = std::move(*header);
  replay_events(frames, outcome);
  return outcome;
}

}  // namespace holdfast::record
