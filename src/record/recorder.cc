#include "record/recorder.h"

#include <algorithm>
#include <utility>

#include "record/recording_world.h"

namespace holdfast::record {

namespace {

// A frame ends with a request, or when it is this long.
constexpr std::size_t kFrameBytes = 64 << 10U;

BroughtOutline outline_of(const cache::Brought& came) {
  BroughtOutline outline;
  const ExtentBlock* last = nullptr;
  for (const BlockUse& use : came.rows) {
    if (use.block.get() != std::exchange(last, use.block.get())) {
      outline.blocks.push_back(
          {use.block->range(), use.block->bytes().size(), use.block->companion().bytes.size()});
    }
    outline.uses.push_back({outline.blocks.size() - 1, use.range});
  }
  if (came.snapshot != nullptr) {
    outline.place = came.snapshot->position();
    outline.place_bytes = came.snapshot->bytes().size();
    outline.place_companion = came.snapshot->companion().bytes.size();
  }
  outline.logits = came.logits.bytes.size();
  outline.marks = bits_of(came.marks);
  outline.bytes = came.bytes;
  outline.all = came.all;
  return outline;
}

// A key differs from its token where a chunk begins (state/chunk_keys.h).
std::vector<TokenPos> cuts_of(const cache::SlotState& state) {
  std::vector<TokenPos> cuts;
  if (state.keys.empty()) return cuts;
  for (std::size_t i = 1; i < state.keys.size(); ++i) {
    if (state.keys[i] != state.tokens[i]) cuts.push_back(static_cast<TokenPos>(i));
  }
  cuts.push_back(state.length());
  return cuts;
}

}  // namespace

CacheRecorder::CacheRecorder(RecordingSink& sink, RecorderOptions options)
    : sink_(sink), options_(std::move(options)), encoder_(options_.private_form) {}

CacheRecorder::~CacheRecorder() { finish(); }

void CacheRecorder::finish() {
  const bool began = engine_ != nullptr;
  if (std::exchange(finished_, true) || !recording_ || !began) return;
  write_decoded();
  CacheEvent done;
  done.kind = EventKind::kDone;
  write(done);
  write_frame();
}

// --- the world -------------------------------------------------------------------------

cache::CacheWorld CacheRecorder::watch(cache::CacheWorld world,
                                       const cache::CacheOptions& options) {
  engine_ = world.engine;
  RecordingHeader header;
  header.private_form = options_.private_form;
  header.build = options_.build;
  header.unix_ms = options_.unix_ms;
  header.options = options;
  header.shape = world.engine->shape();
  header.slots = world.engine->slot_count();
  header.context_tokens = world.engine->context_tokens();
  header.chunk_tokens_max = world.engine->chunk_tokens_max();
  if (world.companion != nullptr) {
    header.companion = world.companion->name();
    header.companion_shape = world.companion->shape();
  }
  header.lower = world.lower != nullptr;
  send(recording_magic() + frames_.frame(encode_header(header)));

  world.engine = engines_.emplace_back(recorded(*world.engine, *this)).get();
  world.clock = clocks_.emplace_back(recorded(*world.clock, *this)).get();
  if (world.companion != nullptr) {
    world.companion = companions_.emplace_back(recorded(*world.companion, *this)).get();
  }
  if (world.lower != nullptr) {
    world.lower = belows_.emplace_back(recorded(*world.lower, *this)).get();
  }
  open(EventKind::kOpened);
  return world;
}

void CacheRecorder::note(Answer answer) {
  if (in_call_) call_.answers.push_back(std::move(answer));
}

void CacheRecorder::note_time(env::Clock::TimePoint now) {
  if (!in_call_) return;
  const auto since = now - last_time_.value_or(now);
  last_time_ = now;
  call_.clock_ns.push_back(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

bool CacheRecorder::intact(std::span<const std::byte> bytes, std::uint64_t checksum) {
  const bool whole = hash_bytes(bytes) == checksum;
  note({AnswerKind::kIntact, whole});
  return whole;
}

// --- calls -----------------------------------------------------------------------------

void CacheRecorder::open(EventKind kind, SlotId slot) {
  if (!recording_) return;
  if (kind != EventKind::kDecoded) write_decoded();
  call_ = CacheEvent{};
  call_.kind = kind;
  call_.slot = slot.value;
  in_call_ = true;
}

void CacheRecorder::close() {
  if (!std::exchange(in_call_, false) || !recording_) return;
  if (call_.kind == EventKind::kDecoded) return;  // gathered
  write(call_);
}

// What a prompt is, before it is first spoken of.
void CacheRecorder::introduce(const cache::Prompt& prompt) {
  if (!recording_ || !prompts_.emplace(prompt.number, true).second) return;
  write_decoded();
  CacheEvent event;
  event.kind = EventKind::kPrompt;
  event.request = prompt.number;
  event.space = space_of(prompt.space);
  event.tokens.assign(prompt.tokens.begin(), prompt.tokens.end());
  event.cuts.assign(prompt.cuts.begin(), prompt.cuts.end());
  event.spans.assign(prompt.spans.begin(), prompt.spans.end());
  event.yes = prompt.reuse;
  event.header_end = prompt.header_end;
  write(event);
}

void CacheRecorder::plan(const cache::Prompt& prompt, std::span<const SlotId> slots) {
  introduce(prompt);
  open(EventKind::kPlan);
  call_.request = prompt.number;
  for (const SlotId slot : slots) call_.slots.push_back(slot.value);
}

void CacheRecorder::planned(const plan::StartPlan& plan) {
  call_.slot = plan.slot;
  call_.source = plan.source;
  call_.position = plan.keep;
}

void CacheRecorder::worth_waiting_for(const cache::Prompt&) { open(EventKind::kWait); }

void CacheRecorder::waits_for(const std::optional<cache::Awaited>& awaited) {
  call_.yes = awaited.has_value();
  if (!awaited) return;
  call_.slot = awaited->slot.value;
  call_.run = awaited->run;
  call_.position = awaited->position;
}

void CacheRecorder::ask_below(const cache::Prompt&) { open(EventKind::kAskBelow); }

void CacheRecorder::go_on(const cache::Prompt&, const tier::StoreMatch* found,
                          const cache::Brought* came) {
  open(EventKind::kGoOn);
  if (!recording_) return;
  if (found != nullptr) {
    call_.found.emplace();
    call_.found->places = found->places;
    call_.found->rows = found->rows;
    call_.found->covered = found->covered;
  }
  if (came == nullptr) return;
  // No engine of ours makes one; a foreign folder might hold it.
  const bool windowed = came->snapshot != nullptr && !came->snapshot->window().empty();
  if (windowed) return stop("A state came from the cache folder that a recording cannot describe.");
  call_.came = outline_of(*came);
}

void CacheRecorder::begin(const cache::Prompt& prompt, SlotId slot, const cache::Receipt& receipt) {
  open(EventKind::kBegin, slot);
  call_.request = prompt.number;
  if (options_.private_form) running_[receipt.id] = prompt.number;
}

void CacheRecorder::prefilled(SlotId slot, TokenSpan, engine::LogitsOf logits,
                              cache::Copies copies) {
  open(copies == cache::Copies::kLater ? EventKind::kPostponed : EventKind::kPrefilled, slot);
  call_.yes = logits == engine::LogitsOf::kLastToken;
  call_.position = engine_->length(slot);
}

void CacheRecorder::copy_postponed(SlotId slot, ByteCount bytes) {
  open(EventKind::kCopyPostponed, slot);
  call_.bytes = bytes;
}

void CacheRecorder::decoded(SlotId slot, TokenSpan kept) {
  open(EventKind::kDecoded, slot);
  if (!recording_) return;
  Tokens& gathered = decoded_[slot.value];
  gathered.insert(gathered.end(), kept.begin(), kept.end());
}

void CacheRecorder::write_decoded() {
  for (auto& [slot, tokens] : decoded_) {
    if (tokens.empty()) continue;
    CacheEvent event;
    event.kind = EventKind::kDecoded;
    event.slot = slot;
    event.tokens = std::exchange(tokens, {});
    write(event);
  }
}

void CacheRecorder::end(SlotId slot) {
  open(EventKind::kEnd, slot);
  call_.position = engine_->length(slot);
}

void CacheRecorder::called_tool(SlotId slot, std::uint64_t run) {
  open(EventKind::kCalledTool, slot);
  call_.run = run;
}

void CacheRecorder::note_prefill_speed(TokenPos tokens, double ms) {
  open(EventKind::kSpeed);
  call_.position = tokens;
  call_.ms = ms;
}

void CacheRecorder::bring_in(SlotId slot, const cache::SlotState& state) {
  open(EventKind::kBringIn, slot);
  if (!recording_) return;
  call_.space = space_of(state.space);
  call_.tokens = state.tokens;
  call_.cuts = cuts_of(state);
  call_.position = state.exact;
}

void CacheRecorder::finished(const cache::FinishedRequest& over, const cache::CacheStatus& status) {
  if (!recording_) return;
  write_decoded();
  CacheEvent event;
  event.kind = EventKind::kReceipt;
  event.request = over.number;
  event.end = over.end;
  event.receipt = options_.private_form ? without_names(*over.receipt) : *over.receipt;
  event.position = over.answer_tokens;
  event.ms = over.answer_ms;
  if (!options_.private_form) event.known_text = over.known_text;
  if (!options_.private_form) event.sent_text = over.sent_text;
  event.digest = MemoryDigest::of(status);
  if (options_.private_form) {
    event.receipt.id = "r" + std::to_string(over.number);
  }
  write(event);
  prompts_.erase(over.number);
  running_.erase(over.receipt->id);
  ++requests_;
  write_frame();
  mind_memory();
}

void CacheRecorder::dropped(std::uint64_t number, cache::RequestEnd end) {
  if (!recording_ || prompts_.erase(number) == 0) return;
  write_decoded();
  CacheEvent event;
  event.kind = EventKind::kDropped;
  event.request = number;
  event.end = end;
  write(event);
}

// --- names -----------------------------------------------------------------------------

SpaceKey CacheRecorder::space_of(SpaceKey space) {
  if (!options_.private_form) return space;
  return {0, spaces_.emplace(space, spaces_.size() + 1).first->second};
}

cache::Receipt CacheRecorder::without_names(const cache::Receipt& receipt) {
  cache::Receipt bare = receipt;
  bare.response.clear();
  bare.advice.clear();
  if (!receipt.tenant.empty()) {
    const auto number = tenants_.emplace(receipt.tenant, tenants_.size() + 1).first->second;
    bare.tenant = "t" + std::to_string(number);
  }
  const auto other = running_.find(receipt.waited_for);
  if (!receipt.waited_for.empty()) {
    bare.waited_for = other == running_.end() ? "r" : "r" + std::to_string(other->second);
  }
  if (bare.difference) {
    bare.difference->known.clear();
    bare.difference->sent.clear();
  }
  return bare;
}

// --- writing ---------------------------------------------------------------------------

void CacheRecorder::write(const CacheEvent& event) {
  if (!recording_) return;
  encoder_.encode(pending_, event);
  if (pending_.size() >= kFrameBytes) write_frame();
}

void CacheRecorder::write_frame() {
  if (!recording_ || pending_.size() == 0) return;
  if (pending_.size() > kFrameBytesMax) return stop("One event is larger than a frame may be.");
  const std::string payload = pending_.take();
  send(frames_.frame(payload));
}

void CacheRecorder::send(std::string bytes) {
  if (auto sent = sink_.write(std::move(bytes)); !sent) stop(sent.error().message);
}

void CacheRecorder::mind_memory() {
  if (!recording_ || encoder_.tokens() <= options_.tokens_max) return;
  CacheEvent event;
  event.kind = options_.private_form ? EventKind::kDone : EventKind::kForget;
  event.done = DoneReason::kTooManyTokens;
  write(event);
  write_frame();
  if (options_.private_form) {
    stop("It has seen " + std::to_string(encoder_.tokens()) +
         " different tokens, as many as a private recording can tell apart.");
  }
}

void CacheRecorder::stop(const std::string& why) {
  if (!std::exchange(recording_, false)) return;
  in_call_ = false;
  decoded_.clear();
  pending_.clear();
  if (on_stopped) on_stopped(why);
}

}  // namespace holdfast::record
