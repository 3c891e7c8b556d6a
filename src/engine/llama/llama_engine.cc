#include "engine/llama/llama_engine.h"

#include <llama-ext.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <thread>

#include "base/check.h"
#include "base/hash.h"
#include "engine/llama/llama_context_params.h"
#include "engine/llama/llama_planes.h"
#include "engine/llama/llama_rows.h"
#include "engine/llama/llama_sampler.h"
#include "engine/llama/llama_threads.h"

namespace holdfast::llama {

namespace {

llama_memory_t memory_of(const llama_context* context) {
  return llama_get_memory(const_cast<llama_context*>(context));
}

llama_state_seq_flags flags_of(engine::SaveScope scope) {
  return scope == engine::SaveScope::kSnapshot ? LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY : 0;
}

std::uint32_t blob_head(std::span<const std::byte> bytes) {
  std::uint32_t head = 0;
  if (bytes.size() >= sizeof head) std::memcpy(&head, bytes.data(), sizeof head);
  return head;
}

Error engine_error(std::string message) {
  return Error{ErrorCode::kEngine, std::move(message), ""};
}

}  // namespace

LlamaEngine::LlamaEngine(std::shared_ptr<llama_model> model, LlamaContextPtr context,
                         std::unique_ptr<LlamaThreads> threads, StateShape shape,
                         const LlamaConfig& config)
    : model_(std::move(model)),
      threads_(std::move(threads)),
      context_(std::move(context)),
      shape_(std::move(shape)),
      context_tokens_(static_cast<TokenPos>(llama_n_ctx_seq(context_.get()))),
      chunk_tokens_max_(static_cast<TokenPos>(llama_n_ubatch(context_.get()))),
      decode_tokens_max_(1 + config.draft_tokens_max),
      rollback_depth_(static_cast<TokenPos>(llama_n_rs_seq(context_.get()))),
      vocabulary_(
          static_cast<std::size_t>(llama_vocab_n_tokens(llama_model_get_vocab(model_.get())))),
      slots_(static_cast<std::size_t>(config.slots)),
      row_maps_(static_cast<std::size_t>(config.slots)) {
  if (Part* snapshot = const_cast<Part*>(shape_.find(PartKind::kSnapshot))) {
    snapshot->rollback_depth = rollback_depth_;
  }
  if (config.mtp) {
    hidden_width_ = static_cast<std::size_t>(llama_model_n_embd_out(model_.get()));
    llama_set_embeddings_nextn(context_.get(), true, /*masked=*/false);
  }
}

LlamaEngine::~LlamaEngine() = default;

Result<std::unique_ptr<LlamaEngine>> LlamaEngine::create(std::shared_ptr<llama_model> model,
                                                         const LlamaConfig& config,
                                                         StateShape shape) {
  auto params = make_context_params(config);
  if (!params) return params.error();
  LlamaContextPtr context(llama_init_from_model(model.get(), *params));
  if (!context) {
    return engine_error("The context could not be created: " + std::to_string(config.slots) +
                        " slots of " + std::to_string(config.context_tokens) +
                        " tokens may need more memory than there is. Try a smaller --ctx-size or"
                        " --parallel.");
  }
  auto threads = std::make_unique<LlamaThreads>(params->n_threads, params->n_threads_batch);
  threads->attach_to(context.get());
  return std::unique_ptr<LlamaEngine>(new LlamaEngine(
      std::move(model), std::move(context), std::move(threads), std::move(shape), config));
}

const LlamaEngine::SlotState& LlamaEngine::state(SlotId slot) const {
  CHECK(slot.value >= 0 && slot.value < slot_count());
  return slots_[static_cast<std::size_t>(slot.value)];
}

LlamaEngine::SlotState& LlamaEngine::state(SlotId slot) {
  return const_cast<SlotState&>(std::as_const(*this).state(slot));
}

// --- computing -------------------------------------------------------------

void LlamaEngine::append_to_batch(SlotId slot, Token token, TokenPos position, bool logits) {
  batch_tokens_.push_back(token);
  batch_positions_.push_back(position);
  batch_sequence_counts_.push_back(1);
  batch_sequences_.push_back(slot.value);
  batch_logits_.push_back(logits ? 1 : 0);
}

// Each of the slots has `count` tokens in it.
Result<void> LlamaEngine::run_batch(std::span<const SlotId> slots, TokenPos count) {
  batch_sequence_pointers_.clear();
  for (llama_seq_id& sequence : batch_sequences_) batch_sequence_pointers_.push_back(&sequence);

  llama_batch batch{};
  batch.n_tokens = static_cast<std::int32_t>(batch_tokens_.size());
  batch.token = batch_tokens_.data();
  batch.pos = batch_positions_.data();
  batch.n_seq_id = batch_sequence_counts_.data();
  batch.seq_id = batch_sequence_pointers_.data();
  batch.logits = batch_logits_.data();

  int status = 0;
  std::string reason;
  try {
    const auto planes = set_planes(context_.get(), taken_back_after(count));
    status = planes ? llama_decode(context_.get(), batch) : -1;
    if (!planes) reason = planes.error().message;
  } catch (const std::exception& failure) {
    status = -1;
    reason = failure.what();
  }
  batch_tokens_.clear();
  batch_positions_.clear();
  batch_sequence_counts_.clear();
  batch_sequences_.clear();
  const auto wanted = std::ranges::find(batch_logits_, 1);
  const bool any = status == 0 && wanted != batch_logits_.end();
  output_row_ = any ? static_cast<int>(wanted - batch_logits_.begin()) : -1;
  batch_logits_.clear();
  if (status == 0) return {};
  for (const SlotId slot : slots) clear(slot);  // X10
  return engine_error("The model could not be run (code " + std::to_string(status) +
                      (reason.empty() ? ")." : "): " + reason));
}

void LlamaEngine::forget_outputs() {
  for (SlotState& slot : slots_) {
    slot.batch_begin = -1;
    slot.batch_tokens = 0;
    slot.batch_position = -1;
    slot.outputs = 0;
    slot.rollback_left = 0;
  }
}

void LlamaEngine::note_batch(SlotId slot, int begin, TokenPos count, TokenPos outputs) {
  SlotState& now = state(slot);
  now.batch_position = now.length;
  now.length += count;
  now.batch_begin = begin;
  now.batch_tokens = count;
  now.outputs = outputs;
  now.rollback_left = taken_back_after(count);
}

// Of a batch in which each slot has `count` tokens. More than a step has are a prompt, which is
// never taken back.
TokenPos LlamaEngine::taken_back_after(TokenPos count) const {
  const bool step = count <= std::max(decode_tokens_max_, 1 + rollback_depth_);
  return step ? std::min(count - 1, rollback_depth_) : 0;
}

Result<void> LlamaEngine::prefill(SlotId slot, TokenSpan chunk, engine::LogitsOf logits) {
  const TokenPos count = length_of(chunk);
  CHECK(count >= 1 && count <= chunk_tokens_max_);
  CHECK(length(slot) + count <= context_tokens_);
  forget_outputs();
  for (TokenPos i = 0; i < count; ++i) {
    const bool wanted = logits == engine::LogitsOf::kLastToken && i + 1 == count;
    append_to_batch(slot, chunk[static_cast<std::size_t>(i)], length(slot) + i, wanted);
  }
  if (auto run = run_batch({&slot, 1}, count); !run) return run;
  note_batch(slot, 0, count, logits == engine::LogitsOf::kLastToken ? 1 : 0);
  return {};
}

Result<void> LlamaEngine::decode(std::span<const engine::DecodeStep> steps) {
  CHECK(!steps.empty());
  forget_outputs();
  const TokenPos count = length_of(steps.front().tokens);
  CHECK(count >= 1 && count <= decode_tokens_max_);
  std::vector<SlotId> slots;
  for (const engine::DecodeStep& step : steps) {
    CHECK(length_of(step.tokens) == count);
    CHECK(slots.empty() || (count == 1 ? slots.back().value < step.slot.value
                                       : slots.back().value + 1 == step.slot.value));
    CHECK(length(step.slot) + count <= context_tokens_);
    TokenPos position = length(step.slot);
    for (const Token token : step.tokens) append_to_batch(step.slot, token, position++, true);
    slots.push_back(step.slot);
  }
  if (auto run = run_batch(slots, count); !run) return run;
  int begin = 0;
  for (const SlotId slot : slots) {
    note_batch(slot, begin, count, count);
    begin += count;
  }
  return {};
}

int LlamaEngine::batch_row(SlotId slot, TokenPos row) const {
  const SlotState& now = state(slot);
  CHECK(row >= 0 && row < now.outputs);
  return now.batch_begin + now.batch_tokens - now.outputs + row;
}

Result<engine::Sampled> LlamaEngine::sample(SlotId slot, engine::Sampler& sampler, TokenPos row) {
  return static_cast<LlamaSampler&>(sampler).sample(context_.get(), batch_row(slot, row),
                                                    logits(slot, row));
}

std::span<const float> LlamaEngine::logits(SlotId slot, TokenPos row) {
  return {llama_get_logits_ith(context_.get(), batch_row(slot, row)), vocabulary_};
}

// The sampling chain takes logits from the context alone, so they are put there, over a row
// that nobody reads any more.
Result<engine::Sampled> LlamaEngine::sample_kept(std::span<const float> logits,
                                                 engine::Sampler& sampler) {
  if (!can_sample_kept() || logits.size() != vocabulary_) {
    return engine_error("Logits that were kept cannot be used.");
  }
  llama_synchronize(context_.get());
  float* row = llama_get_logits_ith(context_.get(), output_row_);
  if (row == nullptr) return engine_error("The model has no outputs to sample from.");
  std::ranges::copy(logits, row);
  for (SlotState& slot : slots_) slot.outputs = 0;
  return static_cast<LlamaSampler&>(sampler).sample(context_.get(), output_row_,
                                                    {row, vocabulary_});
}

std::span<const float> LlamaEngine::hidden(SlotId slot, TokenPos row) const {
  const SlotState& now = state(slot);
  if (hidden_width_ == 0 || row < 0 || row >= now.batch_tokens) return {};
  const float* values = llama_get_embeddings_nextn_ith(context_.get(), now.batch_begin + row);
  if (values == nullptr) return {};
  return {values, hidden_width_};
}

// --- going back ------------------------------------------------------------

bool LlamaEngine::has_uncuttable_part() const {
  return shape_.find(PartKind::kSnapshot) != nullptr || shape_.find(PartKind::kWindow) != nullptr;
}

bool LlamaEngine::snapshot_allows_cut(const SlotState& slot, TokenPos position) const {
  return shape_.find(PartKind::kSnapshot) == nullptr ||
         slot.length - position <= slot.rollback_left;
}

bool LlamaEngine::window_allows_cut(SlotId slot, TokenPos position) const {
  const Part* window = shape_.find(PartKind::kWindow);
  // With a recurrent part the library reports that part's position here; such a
  // state is never cut beyond the rollback depth, which the window outlasts.
  if (window == nullptr || shape_.find(PartKind::kSnapshot) != nullptr) return true;
  const llama_pos oldest = llama_memory_seq_pos_min(memory_of(context_.get()), slot.value);
  return oldest >= 0 && oldest <= std::max(0, position - window->window);
}

bool LlamaEngine::can_cut(SlotId slot, TokenPos position) const {
  const SlotState& now = state(slot);
  if (position < 0 || position > now.length) return false;
  if (position == 0 || position == now.length) return true;
  return snapshot_allows_cut(now, position) && window_allows_cut(slot, position);
}

engine::CutAnswer LlamaEngine::cut(SlotId slot, TokenPos position) {
  if (!can_cut(slot, position)) return engine::CutAnswer::kRefused;
  SlotState& now = state(slot);
  if (position == now.length) return engine::CutAnswer::kDone;
  if (position == 0) {
    clear(slot);
    return engine::CutAnswer::kDone;
  }
  if (!llama_memory_seq_rm(memory_of(context_.get()), slot.value, position, -1)) {
    return engine::CutAnswer::kRefused;
  }
  now.length = position;
  now.outputs = 0;
  now.rollback_left = 0;
  return engine::CutAnswer::kDone;
}

bool LlamaEngine::can_take_back(TokenPos count) const {
  const Part* snapshot = shape_.find(PartKind::kSnapshot);
  return snapshot == nullptr || count <= snapshot->rollback_depth;
}

void LlamaEngine::clear(SlotId slot) {
  llama_memory_seq_rm(memory_of(context_.get()), slot.value, -1, -1);
  state(slot) = SlotState{};
}

// --- saving and loading ----------------------------------------------------

Result<engine::SavedState> LlamaEngine::save(SlotId slot, engine::SaveScope scope) const {
  if (length(slot) == 0) return invalid_argument("slot", "An empty slot has no state to save.");
  if (scope == engine::SaveScope::kSnapshot && !has_uncuttable_part()) {  // X8
    return Error{ErrorCode::kUnsupported, "This model's state has no part to snapshot.", ""};
  }
  engine::SavedState saved{.scope = scope, .length = length(slot), .checksum = 0, .bytes = {}};
  const auto flags = flags_of(scope);
  saved.bytes.resize(llama_state_seq_get_size_ext(context_.get(), slot.value, flags));
  llama_synchronize(context_.get());
  std::size_t written = 0;
  try {
    written = copy_state_out(context_.get(), slot, flags, saved.bytes, copies_);
  } catch (const std::exception&) {
    written = 0;
  }
  if (written == 0 || written != saved.bytes.size()) {
    return engine_error("The state of a slot could not be copied out.");
  }
  saved.checksum = hash_bytes(saved.bytes);
  return saved;
}

Result<void> LlamaEngine::load(SlotId slot, const engine::SavedStateView& saved) {
  const bool keeps_extents = saved.scope == engine::SaveScope::kSnapshot;
  const auto refuse = [&](std::string why) -> Result<void> {
    clear(slot);  // X6
    return engine_error("A saved state was refused: " + std::move(why));
  };
  if (saved.length <= 0) return refuse("it holds no token.");
  if (saved.length > context_tokens_) return refuse("it is longer than the context.");
  if (keeps_extents && !has_uncuttable_part()) return refuse("this model takes no snapshots.");
  if (keeps_extents && shape_.find(PartKind::kExtent) && length(slot) < saved.length) {
    return refuse("the slot holds fewer tokens than the snapshot.");
  }
  if (hash_bytes(saved.bytes) != saved.checksum) return refuse("its bytes are damaged.");
  if (blob_head(saved.bytes) != kSequenceBlobMagic) return refuse("it is not of this engine.");
  if (!keeps_extents) clear(slot);

  std::size_t taken = 0;
  try {
    taken = llama_state_seq_set_data_ext(context_.get(),
                                         reinterpret_cast<const std::uint8_t*>(saved.bytes.data()),
                                         saved.bytes.size(), slot.value, flags_of(saved.scope));
  } catch (const std::exception& failure) {
    return refuse(failure.what());
  }
  if (taken != saved.bytes.size()) return refuse("the library did not take all of it.");
  forget_outputs();
  return verify_loaded(slot, saved.length);
}

// The recurrent part now stands at `length`; extents beyond it are cut, which
// the library accepts because no recurrent state lies there any more.
Result<void> LlamaEngine::verify_loaded(SlotId slot, TokenPos length) {
  const auto memory = memory_of(context_.get());
  const bool trimmed = llama_memory_seq_rm(memory, slot.value, length, -1);
  if (!trimmed || llama_memory_seq_pos_max(memory, slot.value) != length - 1) {
    clear(slot);
    return engine_error("A saved state was refused: it is not " + std::to_string(length) +
                        " tokens long.");
  }
  state(slot).length = length;
  return {};
}

Result<const LlamaRowMap*> LlamaEngine::row_map(SlotId slot) const {
  auto& map = row_maps_[static_cast<std::size_t>(slot.value)];
  if (map == nullptr) {
    auto made = LlamaRowMap::record(context_.get(), slot, length(slot), has_uncuttable_part());
    if (!made) return made.error();
    map = std::move(*made);
  }
  return map.get();
}

// The maps of all slots agree on what a row is. Where none has been made yet (a
// state from an earlier run), a token in an empty slot serves to make one.
Result<const LlamaRowMap*> LlamaEngine::any_row_map(SlotId empty_slot) {
  for (const auto& map : row_maps_) {
    if (map != nullptr) return map.get();
  }
  const Token any = 0;
  if (auto run = prefill(empty_slot, {&any, 1}, engine::LogitsOf::kLastToken); !run)
    return run.error();
  auto map = row_map(empty_slot);
  clear(empty_slot);
  return map;
}

Result<engine::ExtentRows> LlamaEngine::save_rows(SlotId slot, TokenPos begin, TokenPos end) const {
  const TokenRange block{begin, end};
  auto rows = save_rows(slot, {&block, 1});
  if (!rows) return rows.error();
  return std::move(rows->front());
}

Result<std::vector<engine::ExtentRows>> LlamaEngine::save_rows(
    SlotId slot, std::span<const TokenRange> blocks) const {
  for (const TokenRange& block : blocks) {
    CHECK(block.begin >= 0 && !block.empty() && block.end <= length(slot));
  }
  if (shape_.find(PartKind::kExtent) == nullptr) {
    return Error{ErrorCode::kUnsupported, "This model's state has no extents.", ""};
  }
  llama_synchronize(context_.get());
  auto map = row_map(slot);
  if (!map) return map.error();
  std::vector<engine::ExtentRows> all;
  for (const TokenRange& block : blocks) {
    engine::ExtentRows& rows = all.emplace_back(engine::ExtentRows{block.begin, block.end, 0, {}});
    rows.bytes.resize((*map)->row_bytes() * static_cast<std::size_t>(block.length()));
  }
  (*map)->copy_out(all, copies_);
  return all;
}

Result<void> LlamaEngine::restore(SlotId slot, const engine::RestorePoint& point) {
  clear(slot);
  const TokenPos length = length_of(point.tokens);
  const auto refuse = [&](const std::string& why) -> Result<void> {
    clear(slot);
    return engine_error("A saved state was refused: " + why);
  };
  if (length == 0 || length > context_tokens_) return refuse("it holds no token, or too many.");
  const auto known = any_row_map(slot);
  if (!known) return refuse(known.error().message);
  const LlamaRowMap* map = *known;
  TokenPos covered = 0;
  for (const engine::RowsView& rows : point.rows) {
    if (rows.begin != covered) return refuse("it has a gap.");
    const auto count = static_cast<std::size_t>(rows.block_end - rows.block_begin);
    if (rows.bytes.size() != map->row_bytes() * count) return refuse("it is not of this engine.");
    covered = rows.end;
  }
  if (map->row_bytes() > 0 && covered < length) return refuse("it has a gap.");
  if (has_uncuttable_part()) {
    if (!point.snapshot || point.snapshot->length != length ||
        point.snapshot->scope != engine::SaveScope::kSnapshot) {
      return refuse("its snapshot is missing or of another length.");
    }
    if (hash_bytes(point.snapshot->bytes) != point.snapshot->checksum ||
        blob_head(point.snapshot->bytes) != kSequenceBlobMagic) {
      return refuse("its snapshot is damaged or foreign.");
    }
  }
  llama_synchronize(context_.get());
  try {
    map->restore(context_.get(), slot, point, copies_);
  } catch (const std::exception& failure) {
    return refuse(failure.what());
  }
  forget_outputs();
  return verify_loaded(slot, length);
}

// The library writes a window's cells in the order in which they lie and reads
// them into the first free ones, so a round trip is all it takes.
Result<void> LlamaEngine::normalize(SlotId slot) {
  if (shape_.find(PartKind::kWindow) == nullptr || length(slot) == 0) return {};
  const auto saved = save(slot, engine::SaveScope::kSnapshot);
  if (!saved) {
    clear(slot);
    return saved.error();
  }
  return load(slot, *saved);
}

void LlamaEngine::wait() const { llama_synchronize(context_.get()); }

std::vector<std::string> LlamaEngine::check() const {
  std::vector<std::string> violations;
  for (int i = 0; i < slot_count(); ++i) {
    const TokenPos held = length(SlotId{i});
    const llama_pos last = llama_memory_seq_pos_max(memory_of(context_.get()), i);
    if (last + 1 != held) {
      violations.push_back("E1: slot " + std::to_string(i) + " counts " + std::to_string(held) +
                           " tokens, the library " + std::to_string(last + 1));
    }
    if (held < 0 || held > context_tokens_) {
      violations.push_back("E2: slot " + std::to_string(i) + " holds " + std::to_string(held));
    }
  }
  return violations;
}

}  // namespace holdfast::llama
