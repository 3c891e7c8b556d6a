#include "record/recorder.h"

#include <utility>

namespace holdfast::record {

namespace {

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
    : options_(std::move(options)), writer_(sink, options_.private_form, options_.tokens_max) {
  writer_.on_stopped = [this](const std::string& why) {
    notes_.drop();
    decoded_.clear();
    if (on_stopped) on_stopped(why);
  };
}

CacheRecorder::~CacheRecorder() { finish(); }

void CacheRecorder::finish() {
  const bool began = engine_ != nullptr;
  if (std::exchange(finished_, true) || !recording() || !began) return;
  write_decoded();
  CacheEvent done;
  done.kind = EventKind::kDone;
  writer_.write(done);
  writer_.end_frame();
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
  writer_.begin(header);
  const cache::CacheWorld watched = worlds_.emplace_back(world, notes_).world();
  open(EventKind::kOpened);
  return watched;
}

bool CacheRecorder::intact(std::span<const std::byte> bytes, std::uint64_t checksum) {
  const bool whole = hash_bytes(bytes) == checksum;
  notes_.note({AnswerKind::kIntact, whole});
  return whole;
}

// --- calls -----------------------------------------------------------------------------

void CacheRecorder::open(EventKind kind, SlotId slot) {
  if (!recording()) return;
  if (kind != EventKind::kDecoded) write_decoded();
  notes_.open(kind, slot);
}

void CacheRecorder::close() {
  const CacheEvent* call = notes_.close();
  const bool gathered = call != nullptr && call->kind == EventKind::kDecoded;
  if (call != nullptr && !gathered) writer_.write(*call);
}

void CacheRecorder::clear(const std::optional<SpaceKey>& only) {
  open(only ? EventKind::kClearSpace : EventKind::kClear);
  if (only && recording()) notes_.call().space = space_of(*only);
}

void CacheRecorder::drop(tree::NodeId tip) {
  open(EventKind::kDrop);
  if (recording()) notes_.call().node = tip;
}

void CacheRecorder::introduce(const cache::Prompt& prompt) {
  if (!recording() || !prompts_.insert(prompt.number).second) return;
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
  writer_.write(event);
}

void CacheRecorder::plan(const cache::Prompt& prompt, std::span<const SlotId> slots) {
  introduce(prompt);
  open(EventKind::kPlan);
  notes_.call().request = prompt.number;
  for (const SlotId slot : slots) notes_.call().slots.push_back(slot.value);
}

void CacheRecorder::planned(const plan::StartPlan& plan) {
  notes_.call().slot = plan.slot;
  notes_.call().source = plan.source;
  notes_.call().position = plan.reused;
}

void CacheRecorder::worth_waiting_for(const cache::Prompt&) { open(EventKind::kWait); }

void CacheRecorder::waits_for(const std::optional<cache::Awaited>& awaited) {
  notes_.call().yes = awaited.has_value();
  if (!awaited) return;
  notes_.call().slot = awaited->slot.value;
  notes_.call().run = awaited->run;
  notes_.call().position = awaited->position;
}

void CacheRecorder::ask_below(const cache::Prompt&) { open(EventKind::kAskBelow); }

void CacheRecorder::go_on(const cache::Prompt&, const tier::StoreMatch* found,
                          const cache::Brought* came) {
  open(EventKind::kGoOn);
  if (!recording()) return;
  if (found != nullptr) {
    notes_.call().found.emplace();
    notes_.call().found->places = found->places;
    notes_.call().found->rows = found->rows;
    notes_.call().found->covered = found->covered;
  }
  if (came != nullptr) notes_.call().came = outline_of(*came);
}

void CacheRecorder::note_kind(const cache::Prompt& prompt) {
  if (!recording()) return;
  CacheEvent event;
  event.request = prompt.number;
  for (const auto& [is_one, kind] : {std::pair(prompt.one_off, EventKind::kOneOff),
                                     std::pair(prompt.ahead, EventKind::kAhead)}) {
    if (!is_one) continue;
    write_decoded();
    event.kind = kind;
    writer_.write(event);
  }
}

void CacheRecorder::begin(const cache::Prompt& prompt, SlotId slot, const cache::Receipt& receipt) {
  note_kind(prompt);
  open(EventKind::kBegin, slot);
  notes_.call().request = prompt.number;
  if (options_.private_form) names_.note_begun(receipt.id, prompt.number);
}

void CacheRecorder::prefilled(SlotId slot, TokenSpan, engine::LogitsOf logits,
                              cache::Copies copies) {
  open(copies == cache::Copies::kLater ? EventKind::kPostponed : EventKind::kPrefilled, slot);
  notes_.call().yes = logits == engine::LogitsOf::kLastToken;
  notes_.call().position = engine_->length(slot);
}

void CacheRecorder::copy_postponed(SlotId slot, ByteCount bytes) {
  open(EventKind::kCopyPostponed, slot);
  notes_.call().bytes = bytes;
}

void CacheRecorder::decoded(SlotId slot, TokenSpan kept) {
  open(EventKind::kDecoded, slot);
  if (!recording()) return;
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
    writer_.write(event);
  }
}

void CacheRecorder::end(SlotId slot) {
  open(EventKind::kEnd, slot);
  notes_.call().position = engine_->length(slot);
}

void CacheRecorder::called_tool(SlotId slot, std::uint64_t run) {
  open(EventKind::kCalledTool, slot);
  notes_.call().run = run;
}

void CacheRecorder::note_prefill_speed(TokenPos tokens, double ms) {
  open(EventKind::kSpeed);
  notes_.call().position = tokens;
  notes_.call().ms = ms;
}

void CacheRecorder::bring_in(SlotId slot, const cache::SlotState& state) {
  open(EventKind::kBringIn, slot);
  if (!recording()) return;
  notes_.call().space = space_of(state.space);
  notes_.call().tokens = state.tokens;
  notes_.call().cuts = cuts_of(state);
  notes_.call().position = state.exact;
}

void CacheRecorder::finished(const cache::FinishedRequest& over, const cache::CacheStatus& status) {
  if (!recording()) return;
  write_decoded();
  CacheEvent event;
  event.kind = EventKind::kReceipt;
  event.request = over.number;
  event.end = over.end;
  event.receipt =
      options_.private_form ? names_.without_names(*over.receipt, over.number) : *over.receipt;
  event.position = over.answer_tokens;
  event.ms = over.answer_ms;
  if (!options_.private_form) event.known_text = over.known_text;
  if (!options_.private_form) event.sent_text = over.sent_text;
  event.digest = MemoryDigest::of(status);
  writer_.write(event);
  prompts_.erase(over.number);
  names_.note_ended(over.receipt->id);
  ++requests_;
  writer_.end_frame();
  writer_.limit_memory();
}

void CacheRecorder::dropped(std::uint64_t number, cache::RequestEnd end) {
  if (!recording() || prompts_.erase(number) == 0) return;
  write_decoded();
  CacheEvent event;
  event.kind = EventKind::kDropped;
  event.request = number;
  event.end = end;
  writer_.write(event);
}

SpaceKey CacheRecorder::space_of(SpaceKey space) {
  return options_.private_form ? names_.number_of(space) : space;
}

}  // namespace holdfast::record
