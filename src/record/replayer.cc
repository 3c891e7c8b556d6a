#include "record/replayer.h"

#include <utility>

#include "record/recording_frames.h"
#include "record/replay_differences.h"
#include "record/replay_requests.h"
#include "record/replay_slots.h"
#include "record/replay_start.h"
#include "record/replayed_cache.h"

namespace holdfast::record {

namespace {

// Replays event by event: those of a prompt that begins, of slots at work, and of the whole.
class Replayer {
 public:
  explicit Replayer(ReplayOutcome& outcome)
      : outcome_(outcome),
        cache_(outcome.header),
        requests_(cache_),
        slots_(cache_),
        differences_(outcome),
        start_(cache_, slots_, differences_) {}

  // False: no server writes this event here.
  [[nodiscard]] bool replay(CacheEvent event) {
    differences_.set_event(event.kind, event.request);
    cache_.script().open(event);
    const bool fits = dispatch(event);
    const std::string difference = cache_.script().close();
    if (fits && !difference.empty()) differences_.decision(difference);
    return fits;
  }

  [[nodiscard]] std::uint64_t alive() const { return requests_.count(); }

 private:
  [[nodiscard]] bool dispatch(CacheEvent& event) {
    if (event.kind == EventKind::kOpened) return cache_.open();
    if (!cache_.is_open()) return false;
    switch (event.kind) {
      case EventKind::kPrompt: return requests_.add(std::move(event));
      case EventKind::kPlan: return start_.plan(event, requests_.find(event.request));
      case EventKind::kWait: return start_.wait(event);
      case EventKind::kAskBelow: return start_.ask_below();
      case EventKind::kGoOn: return start_.go_on(event);
      case EventKind::kOneOff:
      case EventKind::kAhead: return note_kind(event);
      case EventKind::kBegin: return begin(event);
      case EventKind::kReceipt: return compare(event);
      case EventKind::kDropped: return drop(event);
      case EventKind::kCalledTool: cache_->live().called_tool({event.slot}, event.run); return true;
      case EventKind::kSpeed:
        cache_->growth().note_prefill_speed(event.position, event.ms);
        return true;
      case EventKind::kForget: return true;
      case EventKind::kOpened:
      case EventKind::kDone: return false;
      default: break;
    }
    start_.expire();
    return at_work(event);
  }

  [[nodiscard]] bool note_kind(const CacheEvent& event) {
    LiveRequest* request = requests_.find(event.request);
    if (request == nullptr || request->slot) return false;
    (event.kind == EventKind::kAhead ? request->ahead : request->one_off) = true;
    return true;
  }

  [[nodiscard]] bool begin(const CacheEvent& event) {
    LiveRequest* request = start_.begin(event);
    if (request != nullptr) slots_.occupy(event.slot, *request);
    return request != nullptr;
  }

  // Of requests on their slots.
  [[nodiscard]] bool at_work(const CacheEvent& event) {
    switch (event.kind) {
      case EventKind::kBeforeChunk: return slots_.before_chunk(event);
      case EventKind::kPrefilled: return slots_.prefilled(event, cache::Copies::kNow);
      case EventKind::kPostponed: return slots_.prefilled(event, cache::Copies::kLater);
      case EventKind::kCopyPostponed: return slots_.copy_postponed(event);
      case EventKind::kDecoded: return slots_.decoded(event);
      case EventKind::kEmptied: return slots_.emptied(event);
      case EventKind::kEnd: return slots_.end(event);
      default: return apart(event);
    }
  }

  // Of idle slots, and of the whole cache.
  [[nodiscard]] bool apart(const CacheEvent& event) {
    switch (event.kind) {
      case EventKind::kKeepIdle: (void)cache_->live().keep_idle(); return true;
      case EventKind::kClear: (void)cache_->clear(); return true;
      case EventKind::kClearSpace: (void)cache_->clear(event.space); return true;
      case EventKind::kDrop: return cache_->conversations().drop(event.node, {}).has_value();
      case EventKind::kDistrust:
        if (!slots_.all_idle()) return false;
        cache_->distrust({}, "");
        return true;
      default: break;
    }
    if (!slots_.is_idle(event.slot)) return false;
    switch (event.kind) {
      case EventKind::kCopyOut: (void)cache_->transfer().copy_out({event.slot}); return true;
      case EventKind::kErase: (void)cache_->transfer().erase({event.slot}); return true;
      case EventKind::kForgetSlot: (void)cache_->transfer().forget({event.slot}); return true;
      case EventKind::kBringIn: return bring_in(event);
      default: return false;
    }
  }

  bool bring_in(const CacheEvent& event) {
    cache::SlotState state;
    state.space = event.space;
    state.tokens = event.tokens;
    state.keys = cache_.keys_for(event.tokens, event.cuts);
    state.exact = event.position;
    (void)cache_->transfer().bring_in({event.slot}, state);
    return true;
  }

  [[nodiscard]] bool compare(CacheEvent& event) {
    LiveRequest* request = requests_.find(event.request);
    if (request == nullptr || !request->ended) return false;
    ReplayedRequest made;
    made.number = event.request;
    made.end = event.end;
    made.replayed = std::move(request->receipt);
    made.receipt = std::move(event.receipt);
    take_given_fields(made.receipt, made.replayed);
    made.differences = compare_receipts(made.receipt, made.replayed, cache_.header().private_form);
    made.answer_tokens = event.position;
    made.answer_ms = event.ms;
    made.known_text = std::move(event.known_text);
    made.sent_text = std::move(event.sent_text);
    if (!made.differences.empty()) differences_.receipt(made.differences.front());
    if (MemoryDigest::of(cache_->status()) != event.digest) differences_.memory();
    outcome_.requests.push_back(std::move(made));
    forget(*request);
    return true;
  }

  [[nodiscard]] bool drop(const CacheEvent& event) {
    const LiveRequest* request = requests_.find(event.request);
    if (request == nullptr || request->slot) return false;
    ++outcome_.dropped;
    forget(*request);
    return true;
  }

  void forget(const LiveRequest& request) {
    start_.forget(request);
    requests_.forget(request.prompt.request);
  }

  ReplayOutcome& outcome_;
  ReplayedCache cache_;
  ReplayRequests requests_;
  ReplaySlots slots_;
  ReplayDifferences differences_;
  ReplayStart start_;
};

// Replays all events of a file, up to the first that cannot be read.
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
