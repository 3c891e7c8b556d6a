#include "engine/llama/mtp_slot.h"

#include <algorithm>
#include <utility>

#include "engine/llama/llama_engine.h"

namespace holdfast::llama {

namespace {

// The hidden rows of at most this many tokens wait for a draft. Before there are more, the rows of
// all of them are made.
TokenPos pending_max(const LlamaEngine& primary) {
  return std::min(TokenPos{256}, primary.chunk_tokens_max());
}

}  // namespace

MtpSlot::MtpSlot(SlotId slot, const LlamaEngine& primary, MtpContext& context, MtpRows rows)
    : slot_(slot),
      primary_(&primary),
      context_(&context),
      rows_(std::move(rows)),
      hidden_(context.hidden_width(), primary.decode_tokens_max()) {}

void MtpSlot::start_over() noexcept {
  rows_.restart_at(length());
  hidden_.restart_at(length());
}

void MtpSlot::lose() noexcept {
  tokens_.clear();
  start_over();
  in_step_ = false;
}

// --- the primary went on ----------------------------------------------------

// Only where the primary's hidden rows are those of the tokens that follow this slot's own.
void MtpSlot::advance(TokenSpan kept, TokenPos first_row) {
  const TokenPos count = length_of(kept);
  const bool follows = primary_->hidden_begin(slot_) + first_row == length();
  if (!follows || primary_->hidden(slot_, first_row + count - 1).empty()) return lose();
  const bool chunk = count > primary_->decode_tokens_max();
  if (chunk || pending() + count > pending_max(*primary_)) make_pending();
  tokens_.insert(tokens_.end(), kept.begin(), kept.end());
  if (!chunk) {
    for (TokenPos i = 0; i < count; ++i) hidden_.push(primary_->hidden(slot_, first_row + i));
    return;
  }
  if (!make_chunk(count, first_row)) rows_.restart_at(length());
  hidden_.restart_at(length());
  hidden_.set_carried(primary_->hidden(slot_, first_row + count - 1));
}

// Rows for the last `count` tokens, straight from the primary's hidden rows.
bool MtpSlot::make_chunk(TokenPos count, TokenPos first_row) {
  if (static_cast<std::size_t>(count) > context_->batch_rows_max()) return false;
  for (TokenPos i = 0; i < count; ++i) {
    const TokenPos position = rows_.end() + i;
    const float* hidden =
        i == 0 ? hidden_.at(position) : primary_->hidden(slot_, first_row + i - 1).data();
    context_->append(slot_, tokens_[static_cast<std::size_t>(position)], position, hidden, false);
  }
  if (!context_->run(MtpOutputs::kNone)) return false;
  rows_.note_made(length());
  return true;
}

void MtpSlot::append_pending() {
  for (TokenPos at = hidden_.begin(); at < length(); ++at) {
    context_->append(slot_, tokens_[static_cast<std::size_t>(at)], at, hidden_.at(at), false);
  }
}

void MtpSlot::make_pending() {
  if (pending() == 0) return;
  append_pending();
  if (!context_->run(MtpOutputs::kNone)) return start_over();
  note_pending_made();
}

std::size_t MtpSlot::append_with(Token next) {
  append_pending();
  return context_->append(slot_, next, length(), hidden_.at(length()), true);
}

void MtpSlot::note_pending_made() {
  rows_.note_made(length());
  hidden_.restart_at(length());
}

bool MtpSlot::drop_drafted(TokenPos position) {
  if (rows_.truncate(position)) return true;
  start_over();
  return false;
}

// --- the primary went elsewhere ---------------------------------------------

engine::Followed MtpSlot::follow(const engine::CompanionPoint& point) {
  const TokenPos length = length_of(point.tokens);
  if (length > primary_->context_tokens()) {
    lose();
    return {.held = 0, .from_memory = 0, .missing = "it is longer than the context"};
  }
  const bool agrees = in_step_ && common_prefix(tokens_, point.tokens) == length;
  const bool carried_known = agrees && hidden_.knows(length);
  const bool live = agrees && length >= rows_.begin() && keep_live_rows(length);
  tokens_.assign(point.tokens.begin(), point.tokens.end());
  in_step_ = true;

  engine::Followed followed{.held = length, .from_memory = 0, .missing = nullptr};
  if (!live || rows_.begin() > 0) {
    followed.missing = rows_.defect_of(point);
    if (followed.missing == nullptr || !live) start_over();
    if (followed.missing == nullptr) followed.missing = rows_.restore(point);
    if (followed.missing == nullptr) {
      followed.from_memory = length;
    } else {
      followed.held = 0;
    }
  }
  if (!carried_known) hidden_.restore_carried(point.place);
  return followed;
}

// Cuts what lies beyond `length`. False: the library refused, and nothing has changed.
bool MtpSlot::keep_live_rows(TokenPos length) {
  if (length >= hidden_.begin()) {
    hidden_.truncate(length);
    return true;
  }
  if (!rows_.truncate(length)) return false;
  hidden_.restart_at(length);
  return true;
}

void MtpSlot::save(std::span<const TokenRange> blocks, TokenPos length,
                   engine::CompanionSaved& saved) {
  if (!in_step_) return;
  TokenPos end = 0;
  for (const TokenRange& block : blocks) end = std::max(end, block.end);
  if (end > rows_.end()) make_pending();
  rows_.copy_out(blocks, saved.rows);
  const bool stands_there = length > 0 && length == this->length();
  if (stands_there && hidden_.knows(length)) saved.place = hidden_.copy_of_carried();
}

// --- checking ----------------------------------------------------------------

void MtpSlot::check(std::vector<std::string>& violations) const {
  const std::string name = "slot " + std::to_string(slot_.value);
  const auto expect = [&](bool holds, const std::string& which) {
    if (!holds) violations.push_back(which + ": " + name);
  };
  expect(!in_step_ || length() >= primary_->length(slot_), "MTPSLOT-1");
  expect(hidden_.begin() == rows_.end() && hidden_.end() == length(), "MTPSLOT-2");
  expect(pending() <= pending_max(*primary_), "MTPSLOT-2");
  expect(in_step_ || (rows_.begin() == rows_.end() && length() == 0), "MTPSLOT-3");
  rows_.check(violations);
  hidden_.check(violations, name);
}

}  // namespace holdfast::llama
