#include "engine/llama/llama_engine.h"

#include <llama-ext.h>

#include <algorithm>
#include <exception>

#include "base/check.h"
#include "engine/llama/llama_context_params.h"
#include "engine/llama/llama_planes.h"
#include "engine/llama/llama_sampler.h"
#include "engine/llama/llama_threads.h"

namespace holdfast::llama {

namespace {

llama_memory_t memory_of(const llama_context* context) {
  return llama_get_memory(const_cast<llama_context*>(context));
}

Error engine_error(std::string message) {
  return Error{ErrorCode::kEngine, std::move(message), ""};
}

TransferOptions transfer_options(const LlamaConfig& config) {
  TransferOptions options{.slots = config.slots, .late = config.late_copying};
  if (config.cache_vram >= 0) options.late_room = static_cast<ByteCount>(config.cache_vram) << 20;
  return options;
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
      vocabulary_(
          static_cast<std::size_t>(llama_vocab_n_tokens(llama_model_get_vocab(model_.get())))),
      ledger_(config.slots, decode_tokens_max_,
              static_cast<TokenPos>(llama_n_rs_seq(context_.get()))),
      states_(context_.get(), shape_, transfer_options(config)) {
  if (Part* snapshot = const_cast<Part*>(shape_.find(PartKind::kSnapshot))) {
    snapshot->rollback_depth = static_cast<TokenPos>(llama_n_rs_seq(context_.get()));
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
  auto threads =
      std::make_unique<LlamaThreads>(params->n_threads, params->n_threads_batch, config.poll);
  threads->attach_to(context.get());
  return std::unique_ptr<LlamaEngine>(new LlamaEngine(
      std::move(model), std::move(context), std::move(threads), std::move(shape), config));
}

// --- computing -------------------------------------------------------------

Result<void> LlamaEngine::run_batch(std::span<const SlotId> slots, TokenPos count) {
  int status = 0;
  std::string reason;
  try {
    const auto planes = set_planes(context_.get(), ledger_.rollback_after(count));
    status = planes ? llama_decode(context_.get(), batch_.view()) : -1;
    if (!planes) reason = planes.error().message;
  } catch (const std::exception& failure) {
    status = -1;
    reason = failure.what();
  }
  output_row_ = status == 0 ? batch_.first_output() : -1;
  batch_.clear();
  if (status == 0) return {};
  for (const SlotId slot : slots) clear(slot);  // LLAMA-10
  return engine_error("The model could not be run (code " + std::to_string(status) +
                      (reason.empty() ? ")." : "): " + reason));
}

Result<void> LlamaEngine::prefill(SlotId slot, TokenSpan chunk, engine::LogitsOf logits) {
  const TokenPos count = length_of(chunk);
  CHECK(count >= 1 && count <= chunk_tokens_max_);
  CHECK(length(slot) + count <= context_tokens_);
  ledger_.forget_batch();
  states_.settle(slot, length(slot));
  for (TokenPos i = 0; i < count; ++i) {
    const bool wanted = logits == engine::LogitsOf::kLastToken && i + 1 == count;
    batch_.append(slot, chunk[static_cast<std::size_t>(i)], length(slot) + i, wanted);
  }
  if (auto run = run_batch({&slot, 1}, count); !run) return run;
  ledger_.note_batch(slot, 0, count, logits == engine::LogitsOf::kLastToken ? 1 : 0);
  return {};
}

Result<void> LlamaEngine::decode(std::span<const engine::DecodeStep> steps) {
  CHECK(!steps.empty());
  ledger_.forget_batch();
  const TokenPos count = length_of(steps.front().tokens);
  CHECK(count >= 1 && count <= decode_tokens_max_);
  std::vector<SlotId> slots;
  for (const engine::DecodeStep& step : steps) {
    CHECK(length_of(step.tokens) == count);
    CHECK(slots.empty() || (count == 1 ? slots.back().value < step.slot.value
                                       : slots.back().value + 1 == step.slot.value));
    CHECK(length(step.slot) + count <= context_tokens_);
    TokenPos position = length(step.slot);
    states_.settle(step.slot, position);
    for (const Token token : step.tokens) batch_.append(step.slot, token, position++, true);
    slots.push_back(step.slot);
  }
  if (auto run = run_batch(slots, count); !run) return run;
  int begin = 0;
  for (const SlotId slot : slots) {
    ledger_.note_batch(slot, begin, count, count);
    begin += count;
  }
  return {};
}

Result<engine::Sampled> LlamaEngine::sample(SlotId slot, engine::Sampler& sampler, TokenPos row) {
  return static_cast<LlamaSampler&>(sampler).sample(context_.get(), ledger_.output_row(slot, row),
                                                    logits(slot, row));
}

std::span<const float> LlamaEngine::logits(SlotId slot, TokenPos row) {
  return {llama_get_logits_ith(context_.get(), ledger_.output_row(slot, row)), vocabulary_};
}

// The sampling chain reads logits from the context only, so they are written there, over a row that
// nobody reads any more.
Result<engine::Sampled> LlamaEngine::sample_kept(std::span<const float> logits,
                                                 engine::Sampler& sampler) {
  if (!can_sample_kept() || logits.size() != vocabulary_) {
    return engine_error("Logits that were kept cannot be used.");
  }
  llama_synchronize(context_.get());
  float* row = llama_get_logits_ith(context_.get(), output_row_);
  if (row == nullptr) return engine_error("The model has no outputs to sample from.");
  std::ranges::copy(logits, row);
  ledger_.forget_logits();
  return static_cast<LlamaSampler&>(sampler).sample(context_.get(), output_row_,
                                                    {row, vocabulary_});
}

std::span<const float> LlamaEngine::hidden(SlotId slot, TokenPos row) const {
  const int batch_row = ledger_.token_row(slot, row);
  if (hidden_width_ == 0 || batch_row < 0) return {};
  const float* values = llama_get_embeddings_nextn_ith(context_.get(), batch_row);
  if (values == nullptr) return {};
  return {values, hidden_width_};
}

// --- going back ------------------------------------------------------------

bool LlamaEngine::window_allows_truncation(SlotId slot, TokenPos position) const {
  const Part* window = shape_.find(PartKind::kWindow);
  // For models with a recurrent part the library reports that part's position here. Their states
  // are never truncated beyond the rollback depth, and the window is longer than that.
  if (window == nullptr || shape_.find(PartKind::kSnapshot) != nullptr) return true;
  const llama_pos oldest = llama_memory_seq_pos_min(memory_of(context_.get()), slot.value);
  return oldest >= 0 && oldest <= std::max(0, position - window->window);
}

bool LlamaEngine::can_truncate(SlotId slot, TokenPos position) const {
  if (position < 0 || position > length(slot)) return false;
  if (position == 0 || position == length(slot)) return true;
  const bool recurrent = shape_.find(PartKind::kSnapshot) != nullptr;
  if (recurrent && !ledger_.can_roll_back(slot, position)) return false;  // LLAMA-1, LLAMA-4
  return window_allows_truncation(slot, position);
}

engine::TruncateAnswer LlamaEngine::truncate(SlotId slot, TokenPos position) {
  if (!can_truncate(slot, position)) return engine::TruncateAnswer::kRefused;
  if (position == length(slot)) return engine::TruncateAnswer::kDone;
  if (position == 0) {
    clear(slot);
    return engine::TruncateAnswer::kDone;
  }
  if (!llama_memory_seq_rm(memory_of(context_.get()), slot.value, position, -1)) {
    return engine::TruncateAnswer::kRefused;
  }
  ledger_.note_truncation(slot, position);
  return engine::TruncateAnswer::kDone;
}

bool LlamaEngine::can_take_back(TokenPos count) const {
  const Part* snapshot = shape_.find(PartKind::kSnapshot);
  return snapshot == nullptr || count <= snapshot->rollback_depth;
}

void LlamaEngine::clear(SlotId slot) {
  llama_memory_seq_rm(memory_of(context_.get()), slot.value, -1, -1);
  ledger_.note_cleared(slot);
}

// --- saving and loading ----------------------------------------------------

Result<engine::SavedState> LlamaEngine::save(SlotId slot, engine::SaveScope scope) const {
  if (length(slot) == 0) return invalid_argument("slot", "An empty slot has no state to save.");
  if (scope == engine::SaveScope::kSnapshot && !states_.has_snapshots()) {  // LLAMA-8
    return Error{ErrorCode::kUnsupported, "This model's state has no part to snapshot.", ""};
  }
  return states_.save(slot, length(slot), scope);
}

// LLAMA-6
Result<void> LlamaEngine::refuse_state(SlotId slot, const std::string& why) {
  clear(slot);
  return engine_error("A saved state was refused: " + why);
}

Result<void> LlamaEngine::load(SlotId slot, const engine::SavedStateView& saved) {
  if (saved.length <= 0) return refuse_state(slot, "it holds no token.");
  if (saved.length > context_tokens_) return refuse_state(slot, "it is longer than the context.");
  const std::string defect = states_.defect_of(saved, length(slot));
  if (!defect.empty()) return refuse_state(slot, defect);
  if (saved.scope == engine::SaveScope::kWhole) {
    clear(slot);
    states_.settle(slot, 0);
  }
  if (auto loaded = states_.load(slot, saved); !loaded) {
    return refuse_state(slot, loaded.error().message);
  }
  ledger_.forget_batch();
  return verify_loaded(slot, saved.length);
}

// The recurrent part is now at `length`. Extents beyond are truncated, which the library accepts
// because no recurrent state lies there any more.
Result<void> LlamaEngine::verify_loaded(SlotId slot, TokenPos length) {
  const auto memory = memory_of(context_.get());
  const bool trimmed = llama_memory_seq_rm(memory, slot.value, length, -1);
  if (!trimmed || llama_memory_seq_pos_max(memory, slot.value) != length - 1) {
    return refuse_state(slot, "it is not " + std::to_string(length) + " tokens long.");
  }
  ledger_.note_loaded(slot, length);
  return {};
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
  return states_.save_rows(slot, length(slot), blocks);
}

Result<engine::SavedLater> LlamaEngine::save_later(SlotId slot, std::span<const TokenRange> blocks,
                                                   bool snapshot) const {
  for (const TokenRange& block : blocks) {
    CHECK(block.begin >= 0 && !block.empty() && block.end <= length(slot));
  }
  const bool no_rows = !blocks.empty() && shape_.find(PartKind::kExtent) == nullptr;
  const bool no_snapshot = snapshot && (length(slot) == 0 || !states_.has_snapshots());
  if (no_rows || no_snapshot) return Engine::save_later(slot, blocks, snapshot);  // its Error
  return states_.save_later(slot, length(slot), blocks, snapshot);
}

// If no slot has had tokens yet, because the first state comes from an earlier run, one token is
// computed in the empty slot to learn what a row is.
Result<void> LlamaEngine::learn_rows(SlotId empty_slot) {
  if (states_.knows_rows()) return {};
  const Token any = 0;
  if (auto run = prefill(empty_slot, {&any, 1}, engine::LogitsOf::kLastToken); !run) return run;
  auto learned = states_.learn_rows(empty_slot, length(empty_slot));
  clear(empty_slot);
  return learned;
}

Result<void> LlamaEngine::restore(SlotId slot, const engine::RestorePoint& point) {
  clear(slot);
  const TokenPos length = length_of(point.tokens);
  if (length == 0 || length > context_tokens_) {
    return refuse_state(slot, "it holds no token, or too many.");
  }
  if (auto learned = learn_rows(slot); !learned) {
    return refuse_state(slot, learned.error().message);
  }
  const std::string defect = states_.defect_of(point);
  if (!defect.empty()) return refuse_state(slot, defect);
  states_.settle(slot, 0);
  if (auto restored = states_.restore(slot, point); !restored) {
    return refuse_state(slot, restored.error().message);
  }
  ledger_.forget_batch();
  return verify_loaded(slot, length);
}

// The library writes a window's cells in the order in which they lie, and reads them into the first
// free cells. So saving and loading gives the layout.
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
  std::vector<std::string> violations = ledger_.check();
  for (int i = 0; i < slot_count(); ++i) {
    const TokenPos held = length(SlotId{i});
    const llama_pos last = llama_memory_seq_pos_max(memory_of(context_.get()), i);
    if (last + 1 != held) {
      violations.push_back("ENGINE-1: slot " + std::to_string(i) + " counts " +
                           std::to_string(held) + " tokens, the library " +
                           std::to_string(last + 1));
    }
    if (held < 0 || held > context_tokens_) {
      violations.push_back("ENGINE-2: slot " + std::to_string(i) + " holds " +
                           std::to_string(held));
    }
  }
  return violations;
}

}  // namespace holdfast::llama
