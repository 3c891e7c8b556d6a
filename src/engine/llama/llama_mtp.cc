#include "engine/llama/llama_mtp.h"

#include <llama-ext.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "base/check.h"
#include "engine/llama/llama_context_params.h"
#include "engine/llama/llama_engine.h"
#include "engine/llama/llama_rows.h"
#include "engine/llama/llama_threads.h"

namespace holdfast::llama {

namespace {

// Hidden rows of this many tokens wait for a draft; then their rows are made in one go.
constexpr TokenPos kPendingMax = 256;

Error unsupported(std::string why) { return {ErrorCode::kUnsupported, std::move(why), ""}; }
Error engine_error(std::string why) { return {ErrorCode::kEngine, std::move(why), ""}; }

// Sums of squared differences.
double distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += static_cast<double>(a[i] - b[i]) * static_cast<double>(a[i] - b[i]);
  }
  return sum;
}

}  // namespace

// --- making it -------------------------------------------------------------

LlamaMtp::LlamaMtp(std::shared_ptr<llama_model> model, const LlamaEngine& primary,
                   LlamaContextPtr context)
    : model_(std::move(model)),
      primary_(primary),
      context_(std::move(context)),
      width_(static_cast<std::size_t>(llama_model_n_embd_out(model_.get()))),
      vocabulary_(
          static_cast<std::size_t>(llama_vocab_n_tokens(llama_model_get_vocab(model_.get())))),
      pending_in_draft_(primary.decode_tokens_max()),
      pending_max_(std::min(kPendingMax, primary.chunk_tokens_max())),
      slots_(static_cast<std::size_t>(primary.slot_count())),
      row_maps_(slots_.size()) {
  for (SlotState& slot : slots_) {
    slot.carried.assign(width_, 0.0F);
    slot.pending.reserve(width_ * static_cast<std::size_t>(pending_in_draft_));
  }
  drafting_.reserve(slots_.size());
  drafted_.reserve(slots_.size());
  const auto rows = static_cast<std::size_t>(llama_n_batch(context_.get()));
  batch_tokens_.resize(rows);
  batch_hidden_.resize(rows * width_);
  batch_positions_.resize(rows);
  batch_sequence_counts_.assign(rows, 1);
  batch_sequences_.resize(rows);
  batch_outputs_.resize(rows);
  for (llama_seq_id& sequence : batch_sequences_) batch_sequence_pointers_.push_back(&sequence);
}

LlamaMtp::~LlamaMtp() = default;

Result<std::unique_ptr<LlamaMtp>> LlamaMtp::create(std::shared_ptr<llama_model> model,
                                                   LlamaEngine& primary,
                                                   const LlamaConfig& config) {
  const auto blocks = llama_model_n_layer_nextn(model.get());
  if (blocks <= 0) return unsupported("The model has no MTP block.");
  if (blocks > 1)
    return unsupported("The model chains several MTP blocks, which is not supported.");
  if (!config.mtp) return unsupported("The model was loaded without its MTP block.");  // D3

  LlamaConfig same = config;
  same.slots = primary.slot_count();
  same.context_tokens = primary.context_tokens();
  auto params = make_context_params(same);
  if (!params) return params.error();
  const auto slots = static_cast<std::uint32_t>(primary.slot_count());
  const auto first_step = static_cast<std::uint32_t>(primary.decode_tokens_max() + 1);
  params->ctx_type = LLAMA_CONTEXT_TYPE_MTP;
  params->n_rs_seq = 0;
  params->n_ubatch = std::max({params->n_ubatch, slots * first_step,  // D2
                               static_cast<std::uint32_t>(primary.chunk_tokens_max())});
  params->n_batch = params->n_ubatch;
  params->n_outputs_max = std::max(slots, 2U);  // explore() wants two
  params->n_outputs_max_per_seq = 2;

  LlamaContextPtr context;
  try {
    context.reset(llama_init_from_model(model.get(), *params));
  } catch (const std::exception& failure) {
    return engine_error(std::string("The MTP context could not be created: ") + failure.what());
  }
  if (!context) return engine_error("The MTP context could not be created.");
  if (llama_get_ctx_other(context.get()) != nullptr) {
    return unsupported("The model's MTP block shares the model's own state.");
  }
  if (static_cast<TokenPos>(llama_n_ctx_seq(context.get())) < primary.context_tokens()) {
    return engine_error("The MTP context is smaller than the model's.");
  }
  primary.threads().attach_to(context.get());  // D4
  std::unique_ptr<LlamaMtp> made(new LlamaMtp(std::move(model), primary, std::move(context)));
  try {
    if (auto explored = made->explore(); !explored) return explored.error();
  } catch (const std::exception& failure) {
    return engine_error(std::string("The MTP block cannot be used: ") + failure.what());
  }
  return made;
}

Result<void> LlamaMtp::explore() {
  auto rows = find_hidden_rows();
  if (!rows) return rows.error();
  hidden_rows_ = *rows;
  return record_row_maps();
}

// D1: computes two tokens with both as outputs, which is right for either kind, and
// again with one. What then comes back is the second's row or the first's.
Result<LlamaMtp::HiddenRows> LlamaMtp::find_hidden_rows() {
  const SlotId slot{0};
  const auto compute = [&](bool first_too) {
    erase_sequence(slot);
    append_row(slot, 0, 0, nullptr, first_too);
    append_row(slot, 1, 1, nullptr, true);
    return run_batch(Outputs::kWanted);
  };
  const auto row = [&](int at) -> std::vector<float> {
    const float* values = llama_get_embeddings_nextn_ith(context_.get(), at);
    if (values == nullptr) return {};
    return {values, values + width_};
  };
  hidden_rows_ = HiddenRows::kOfOutputs;
  if (!compute(true)) return engine_error("The MTP block could not be run.");
  const auto first = row(0);
  const auto second = row(1);
  if (!compute(false)) return engine_error("The MTP block could not be run.");
  const auto got = row(1);
  erase_sequence(slot);
  if (first.empty() || second.empty() || got.empty()) {
    return unsupported("The model's MTP block gives no hidden rows.");
  }
  return distance(got, second) <= distance(got, first) ? HiddenRows::kOfOutputs
                                                       : HiddenRows::kOfEveryToken;
}

Result<void> LlamaMtp::record_row_maps() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const SlotId slot{static_cast<int>(i)};
    append_row(slot, 0, 0, nullptr, false);
    if (!run_batch(Outputs::kNone)) return engine_error("The MTP block could not be run.");
    llama_synchronize(context_.get());
    auto map = LlamaRowMap::record(context_.get(), slot, 1, /*has_rest=*/false);
    erase_sequence(slot);
    if (!map) return map.error();
    if ((*map)->row_bytes() == 0) return unsupported("The MTP block's state has no rows.");
    row_maps_[i] = std::move(*map);
  }
  return {};
}

engine::CompanionShape LlamaMtp::shape() const noexcept {
  return {.bytes_per_token = row_maps_.front()->row_bytes(),
          .bytes_per_place = width_ * sizeof(float)};
}

// --- the context -----------------------------------------------------------

// `hidden` is a row, or null for zeros.
void LlamaMtp::append_row(SlotId slot, Token token, TokenPos position, const float* hidden,
                          bool output) {
  CHECK(batch_size_ < batch_tokens_.size());
  const std::size_t at = batch_size_++;
  batch_tokens_[at] = token;
  batch_positions_[at] = position;
  batch_sequences_[at] = slot.value;
  batch_outputs_[at] = output ? 1 : 0;
  float* into = batch_hidden_.data() + at * width_;
  if (hidden != nullptr) {
    std::memcpy(into, hidden, width_ * sizeof(float));
  } else {
    std::fill_n(into, width_, 0.0F);
  }
}

bool LlamaMtp::run_batch(Outputs outputs) {
  llama_batch batch{};
  batch.n_tokens = static_cast<std::int32_t>(batch_size_);
  batch.token = batch_tokens_.data();
  batch.embd = batch_hidden_.data();
  batch.pos = batch_positions_.data();
  batch.n_seq_id = batch_sequence_counts_.data();
  batch.seq_id = batch_sequence_pointers_.data();
  batch.logits = batch_outputs_.data();
  batch_size_ = 0;
  if (fails(MtpOperation::kDecode)) return false;
  llama_set_embeddings_nextn(context_.get(), outputs == Outputs::kWanted,
                             /*masked=*/hidden_rows_ == HiddenRows::kOfOutputs);
  try {
    return llama_decode(context_.get(), batch) == 0;
  } catch (...) {
    return false;
  }
}

bool LlamaMtp::trim(SlotId slot, TokenPos position) {
  if (fails(MtpOperation::kTrim)) return false;
  return llama_memory_seq_rm(llama_get_memory(context_.get()), slot.value, position, -1);
}

void LlamaMtp::erase_sequence(SlotId slot) noexcept {
  llama_memory_seq_rm(llama_get_memory(context_.get()), slot.value, -1, -1);
}

// --- one slot --------------------------------------------------------------

bool LlamaMtp::valid(SlotId slot) const noexcept {
  return slot.value >= 0 && slot.value < static_cast<int>(slots_.size());
}

// Without rows; it goes on from the primary's next token.
void LlamaMtp::begin_anew(SlotId slot) noexcept {
  SlotState& now = state(slot);
  erase_sequence(slot);
  now.first = now.made = length_of(now.tokens);
  now.pending.clear();
}

void LlamaMtp::lose(SlotId slot) noexcept {
  SlotState& now = state(slot);
  now.tokens.clear();
  begin_anew(slot);
  now.in_step = false;
}

void LlamaMtp::advance(SlotId slot, TokenSpan kept, TokenPos first_row) noexcept {
  if (!valid(slot) || kept.empty() || !state(slot).in_step) return;
  try {
    if (take_over(slot, kept, first_row)) return;
  } catch (...) {  // no memory
  }
  lose(slot);
}

// Only where the primary's hidden rows are those of the tokens that follow its own.
bool LlamaMtp::take_over(SlotId slot, TokenSpan kept, TokenPos first_row) {
  SlotState& now = state(slot);
  const TokenPos count = length_of(kept);
  const bool follows = primary_.hidden_begin(slot) + first_row == length_of(now.tokens);
  if (!follows || primary_.hidden(slot, first_row + count - 1).empty()) return false;
  const TokenPos pending = length_of(now.tokens) - now.made;
  const bool chunk = count > pending_in_draft_;
  if ((chunk || pending + count > pending_max_) && !make_pending(slot)) begin_anew(slot);
  now.tokens.insert(now.tokens.end(), kept.begin(), kept.end());
  if (chunk) {
    if (!make_chunk(slot, count, first_row)) begin_anew(slot);
  } else {
    const auto append = [&](const float* row) {
      now.pending.insert(now.pending.end(), row, row + width_);
    };
    append(now.carried.data());
    for (TokenPos i = 0; i + 1 < count; ++i) append(primary_.hidden(slot, first_row + i).data());
  }
  std::ranges::copy(primary_.hidden(slot, first_row + count - 1), now.carried.begin());
  return true;
}

// Rows for the last `count` tokens, right from the primary's hidden rows.
bool LlamaMtp::make_chunk(SlotId slot, TokenPos count, TokenPos first_row) {
  SlotState& now = state(slot);
  if (static_cast<std::size_t>(count) > batch_tokens_.size()) return false;
  for (TokenPos i = 0; i < count; ++i) {
    const float* hidden =
        i == 0 ? now.carried.data() : primary_.hidden(slot, first_row + i - 1).data();
    const TokenPos position = now.made + i;
    append_row(slot, now.tokens[static_cast<std::size_t>(position)], position, hidden, false);
  }
  if (!run_batch(Outputs::kNone)) return false;
  now.made += count;
  return true;
}

void LlamaMtp::append_pending(SlotId slot) {
  const SlotState& now = state(slot);
  const float* hidden = now.pending.data();
  for (TokenPos at = now.made; at < length_of(now.tokens); ++at, hidden += width_) {
    append_row(slot, now.tokens[static_cast<std::size_t>(at)], at, hidden, false);
  }
}

bool LlamaMtp::make_pending(SlotId slot) {
  SlotState& now = state(slot);
  if (now.pending.empty()) return true;
  append_pending(slot);
  if (!run_batch(Outputs::kNone)) return false;
  now.made = length_of(now.tokens);
  now.pending.clear();
  return true;
}

// --- following -------------------------------------------------------------

engine::Followed LlamaMtp::follow(SlotId slot, const engine::CompanionPoint& point) noexcept {
  if (!valid(slot)) return {};
  try {
    return follow_rows(slot, point);
  } catch (...) {  // no memory
    lose(slot);
    return {.held = 0, .from_memory = 0, .missing = "there was no memory left"};
  }
}

engine::Followed LlamaMtp::follow_rows(SlotId slot, const engine::CompanionPoint& point) {
  SlotState& now = state(slot);
  const TokenPos length = length_of(point.tokens);
  if (length > primary_.context_tokens()) {
    lose(slot);
    return {.held = 0, .from_memory = 0, .missing = "it is longer than the context"};
  }
  const bool agrees = now.in_step && common_prefix(now.tokens, point.tokens) == length;
  const float* own = agrees ? own_carried(now, length) : nullptr;
  if (own != nullptr) std::memmove(now.carried.data(), own, width_ * sizeof(float));
  const bool live = agrees && length >= now.first && keep_live_rows(slot, length);
  now.tokens.assign(point.tokens.begin(), point.tokens.end());
  now.in_step = true;

  engine::Followed followed{.held = length, .from_memory = 0, .missing = nullptr};
  if (!live || now.first > 0) {
    followed.missing = restore_rows(slot, point);
    if (followed.missing == nullptr) {
      followed.from_memory = length;
    } else {
      followed.held = 0;
      if (!live) begin_anew(slot);
    }
  }

  if (now.unknown_at >= length) now.unknown_at = -1;
  if (own == nullptr) carry(now, point.place);
  return followed;
}

// The hidden row of the last token, from memory or unknown. The first token of all has
// zeros before it.
void LlamaMtp::carry(SlotState& now, const CheckedView& place) const {
  const TokenPos length = length_of(now.tokens);
  const bool fits = place.bytes.size() == width_ * sizeof(float);
  if (length > 0 && fits && place.intact()) {
    std::memcpy(now.carried.data(), place.bytes.data(), place.bytes.size());
    return;
  }
  std::ranges::fill(now.carried, 0.0F);
  if (length > 0) now.unknown_at = length;
}

// The hidden row that `position` is read with, where this slot still has it.
const float* LlamaMtp::own_carried(const SlotState& now, TokenPos position) const {
  const TokenPos length = length_of(now.tokens);
  if (position < now.made || position > length || position == now.unknown_at) return nullptr;
  if (position == length) return now.carried.data();
  return now.pending.data() + static_cast<std::size_t>(position - now.made) * width_;
}

// Cuts what lies beyond `length`, of which at least all before `first` is missing.
bool LlamaMtp::keep_live_rows(SlotId slot, TokenPos length) {
  SlotState& now = state(slot);
  if (length >= now.made) {
    now.pending.resize(static_cast<std::size_t>(length - now.made) * width_);
    return true;
  }
  if (!trim(slot, length)) return false;
  now.made = length;
  now.pending.clear();
  return true;
}

// Why the point's rows do not cover its tokens; null: they do.
const char* LlamaMtp::rows_defect(const engine::CompanionPoint& point) const {
  const TokenPos length = length_of(point.tokens);
  const std::size_t row_bytes = row_maps_.front()->row_bytes();
  TokenPos covered = 0;
  for (const engine::RowsView& rows : point.rows) {
    if (covered >= length) break;
    if (rows.begin != covered || rows.end <= rows.begin || rows.block_begin < 0 ||
        rows.begin < rows.block_begin || rows.end > rows.block_end) {
      return "a block of its rows is not kept";
    }
    const auto count = static_cast<std::size_t>(rows.block_end - rows.block_begin);
    if (rows.bytes.size() != row_bytes * count) return "a block of its rows is not of this model";
    covered = rows.end;
  }
  return covered < length ? "its rows are not kept to the end" : nullptr;
}

// Null: the slot holds the rows of all tokens. Otherwise why not, and it holds what
// it held or nothing.
const char* LlamaMtp::restore_rows(SlotId slot, const engine::CompanionPoint& point) {
  SlotState& now = state(slot);
  const TokenPos length = length_of(point.tokens);
  if (length == 0) {
    begin_anew(slot);
    return nullptr;
  }
  if (const char* defect = rows_defect(point)) return defect;
  begin_anew(slot);
  if (fails(MtpOperation::kRestore)) return "its rows could not be brought back";
  try {
    llama_synchronize(context_.get());
    row_maps_[index(slot)]->restore(context_.get(), slot, {point.tokens, point.rows, {}}, copies_);
  } catch (...) {
    erase_sequence(slot);
    return "its rows could not be brought back";
  }
  const auto memory = llama_get_memory(context_.get());
  if (llama_memory_seq_pos_min(memory, slot.value) != 0 ||
      llama_memory_seq_pos_max(memory, slot.value) != length - 1) {
    erase_sequence(slot);
    return "its rows were brought back in part";
  }
  now.first = 0;
  now.made = length;
  return nullptr;
}

// --- saving ----------------------------------------------------------------

engine::CompanionSaved LlamaMtp::save(SlotId slot, std::span<const TokenRange> blocks,
                                      TokenPos length) noexcept {
  engine::CompanionSaved saved;
  try {
    saved.rows.resize(blocks.size());
    if (!valid(slot) || fails(MtpOperation::kSave)) return saved;
    SlotState& now = state(slot);
    if (!now.in_step) return saved;
    TokenPos end = 0;
    for (const TokenRange& block : blocks) end = std::max(end, block.end);
    if (end > now.made && !make_pending(slot)) begin_anew(slot);

    // Cell i holds the row of position first + i.
    std::vector<engine::ExtentRows> found;
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const TokenRange& block = blocks[i];
      if (block.empty() || block.begin < now.first || block.end > now.made) continue;
      engine::ExtentRows& rows = found.emplace_back();
      rows.begin = block.begin - now.first;
      rows.end = block.end - now.first;
      rows.bytes.resize(shape().bytes_per_token * static_cast<std::size_t>(block.length()));
      which.push_back(i);
    }
    llama_synchronize(context_.get());
    row_maps_[index(slot)]->copy_out(found, copies_);
    for (std::size_t i = 0; i < found.size(); ++i) {
      saved.rows[which[i]] = {std::move(found[i].bytes), found[i].checksum};
    }
    const bool stands_there = length > 0 && length == length_of(now.tokens);
    if (stands_there && now.unknown_at != length) {
      const auto bytes = std::as_bytes(std::span(now.carried));
      saved.place = CheckedBytes::of({bytes.begin(), bytes.end()});
    }
  } catch (...) {  // no memory: what was copied is whole
  }
  return saved;
}

// --- drafting --------------------------------------------------------------

void LlamaMtp::draft(std::span<engine::DraftWish> wishes) noexcept {
  try {
    begin_drafting(wishes);
    if (!drafting_.empty()) append_first_step();
    bool first = true;
    while (!drafting_.empty()) {
      if (!run_batch(Outputs::kWanted)) {
        give_up_drafting();
        break;
      }
      if (std::exchange(first, false)) {
        for (const Drafting& one : drafting_) {
          SlotState& now = state(one.wish->slot);
          now.made = length_of(now.tokens);
          now.pending.clear();
        }
      }
      take_drafted_tokens();
    }
    end_drafting();
  } catch (...) {  // no memory
    batch_size_ = 0;
    drafting_.clear();
    for (const SlotId slot : drafted_) begin_anew(slot);
  }
}

// Takes the wishes that can be answered, ascending by slot.
void LlamaMtp::begin_drafting(std::span<engine::DraftWish> wishes) {
  batch_size_ = 0;
  drafting_.clear();
  drafted_.clear();
  for (engine::DraftWish& wish : wishes) {
    wish.draft.clear();
    if (!valid(wish.slot) || !state(wish.slot).in_step) continue;
    const TokenPos length = length_of(state(wish.slot).tokens);
    const TokenPos room = primary_.context_tokens() - length - 1;
    const bool known = wish.next >= 0 && static_cast<std::size_t>(wish.next) < vocabulary_;
    const bool again = std::ranges::find(drafted_, wish.slot) != drafted_.end();
    if (!known || again || primary_.length(wish.slot) > length) continue;
    if (std::min(wish.most, room) < 1) continue;
    wish.draft.reserve(static_cast<std::size_t>(std::min(wish.most, room)));
    drafting_.push_back({.wish = &wish, .most = std::min(wish.most, room), .row = 0});
    drafted_.push_back(wish.slot);
  }
  std::ranges::sort(drafting_, {}, [](const Drafting& one) { return one.wish->slot; });
}

// D2: rows beyond the wished token are zeros that nobody reads and that are taken out.
bool LlamaMtp::fits_filled_up(TokenPos rows) const {
  return std::ranges::all_of(drafting_, [&](const Drafting& one) {
    return slots_[index(one.wish->slot)].made + rows <= primary_.context_tokens();
  });
}

void LlamaMtp::append_first_step() {
  for (const Drafting& one : drafting_) {
    const SlotState& now = state(one.wish->slot);
    const bool many = length_of(now.tokens) - now.made > pending_in_draft_;
    if (many && !make_pending(one.wish->slot)) begin_anew(one.wish->slot);
  }
  const auto rows_of = [&](const Drafting& one) {
    const SlotState& now = state(one.wish->slot);
    return length_of(now.tokens) - now.made + 1;
  };
  TokenPos rows = 1;
  for (const Drafting& one : drafting_) rows = std::max(rows, rows_of(one));
  if (!fits_filled_up(rows)) {
    for (const Drafting& one : drafting_) {
      if (!make_pending(one.wish->slot)) begin_anew(one.wish->slot);
    }
    rows = 1;
  }
  for (Drafting& one : drafting_) {
    const SlotState& now = state(one.wish->slot);
    const TokenPos own_rows = rows_of(one);
    TokenPos position = length_of(now.tokens);
    append_pending(one.wish->slot);
    one.row = batch_size_;
    append_row(one.wish->slot, one.wish->next, position, now.carried.data(), true);
    one.filled = own_rows < rows;
    for (TokenPos i = own_rows; i < rows; ++i) {
      append_row(one.wish->slot, one.wish->next, ++position, nullptr, false);
    }
  }
}

// Reads what the batch answered and appends the next one, of those who want more.
void LlamaMtp::take_drafted_tokens() {
  std::size_t going_on = 0;
  for (Drafting& one : drafting_) {
    if (take_drafted_token(one)) drafting_[going_on++] = one;
  }
  drafting_.resize(going_on);
}

bool LlamaMtp::take_drafted_token(Drafting& one) {
  const auto row = static_cast<std::int32_t>(one.row);
  const float* logits = llama_get_logits_ith(context_.get(), row);
  const float* hidden = llama_get_embeddings_nextn_ith(context_.get(), row);
  if (logits == nullptr || hidden == nullptr) return false;
  engine::DraftWish& wish = *one.wish;
  const engine::Likeliest best = likeliest_.find({logits, vocabulary_}, wish.least_probability);
  if (best.probability == 0.0F || best.probability < wish.least_probability) return false;
  wish.draft.push_back(best.token);
  if (length_of(wish.draft) >= one.most) return false;

  const TokenPos position = length_of(state(wish.slot).tokens) + length_of(wish.draft);
  if (std::exchange(one.filled, false) && !trim(wish.slot, position)) {
    begin_anew(wish.slot);
    return false;
  }
  one.row = batch_size_;
  append_row(wish.slot, best.token, position, hidden, true);
  return true;
}

// Only rows of tokens that the primary holds stay.
void LlamaMtp::end_drafting() {
  for (const SlotId slot : drafted_) {
    if (!trim(slot, length_of(state(slot).tokens))) begin_anew(slot);
  }
}

// The batch failed: nothing is known of those that were in it.
void LlamaMtp::give_up_drafting() noexcept {
  for (const Drafting& one : drafting_) begin_anew(one.wish->slot);
  drafting_.clear();
}

// --- checking --------------------------------------------------------------

std::vector<std::string> LlamaMtp::check() const {
  std::vector<std::string> violations;
  const auto memory = llama_get_memory(context_.get());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const SlotState& now = slots_[i];
    const SlotId slot{static_cast<int>(i)};
    const TokenPos length = length_of(now.tokens);
    const auto expect = [&](bool holds, const char* which) {
      if (!holds) violations.push_back(which + (": slot " + std::to_string(i)));
    };
    expect(!now.in_step || length >= primary_.length(slot), "M1");
    const TokenPos pending = length - now.made;
    expect(0 <= now.first && now.first <= now.made && now.made <= length, "M2");
    expect(
        pending <= pending_max_ && now.pending.size() == static_cast<std::size_t>(pending) * width_,
        "M2");
    const bool none = now.first == now.made;
    expect(llama_memory_seq_pos_min(memory, slot.value) == (none ? -1 : now.first), "M3");
    expect(llama_memory_seq_pos_max(memory, slot.value) == (none ? -1 : now.made - 1), "M3");
    expect(now.in_step || (none && length == 0), "M4");
  }
  return violations;
}

}  // namespace holdfast::llama
