#include "record/receipt_record.h"

#include <sstream>

namespace holdfast::record {

namespace {

void put_tokens(RecordWriter& out, const Tokens& tokens) {
  out.number(tokens.size());
  for (const Token token : tokens) out.signed_number(token);
}

Tokens get_tokens(RecordReader& in) {
  Tokens tokens(in.count());
  for (Token& token : tokens) token = static_cast<Token>(in.signed_number());
  return tokens;
}

template <typename Enum>
Enum get_enum(RecordReader& in, Enum last) {
  const std::uint8_t value = in.byte();
  if (value > static_cast<std::uint8_t>(last)) in.fail();
  return in.failed() ? Enum{} : static_cast<Enum>(value);
}

void put_difference(RecordWriter& out, const std::optional<cache::Difference>& difference) {
  out.truth(difference.has_value());
  if (!difference) return;
  out.position(difference->position);
  put_tokens(out, difference->known);
  put_tokens(out, difference->sent);
  out.signed_number(difference->span);
  out.byte(static_cast<std::uint8_t>(difference->role));
  out.position(difference->message_begin);
}

std::optional<cache::Difference> get_difference(RecordReader& in) {
  if (!in.truth()) return std::nullopt;
  cache::Difference difference;
  difference.position = in.position();
  difference.known = get_tokens(in);
  difference.sent = get_tokens(in);
  difference.span = static_cast<int>(in.signed_number());
  difference.role = get_enum(in, Role::kTool);
  difference.message_begin = in.position();
  return difference;
}

void put_companion(RecordWriter& out, const std::optional<cache::CompanionReceipt>& companion) {
  out.truth(companion.has_value());
  if (!companion) return;
  out.text(companion->name);
  out.position(companion->held);
  out.position(companion->from_memory);
  out.text(companion->missing);
  const DraftCounts& drafts = companion->drafts;
  out.number(drafts.drafted);
  out.number(drafts.accepted);
  for (const DraftCounts::Rank& rank : drafts.ranks) {
    out.number(rank.tried);
    out.number(rank.accepted);
  }
}

std::optional<cache::CompanionReceipt> get_companion(RecordReader& in) {
  if (!in.truth()) return std::nullopt;
  cache::CompanionReceipt companion;
  companion.name = in.text();
  companion.held = in.position();
  companion.from_memory = in.position();
  companion.missing = in.text();
  DraftCounts& drafts = companion.drafts;
  drafts.drafted = in.number();
  drafts.accepted = in.number();
  for (DraftCounts::Rank& rank : drafts.ranks) {
    rank.tried = in.number();
    rank.accepted = in.number();
  }
  return companion;
}

void put_missing(RecordWriter& out, const cache::Missing& missing) {
  out.byte(static_cast<std::uint8_t>(missing.why));
  out.position(missing.position);
  out.byte(static_cast<std::uint8_t>(missing.evicted.reason));
  out.number(missing.evicted.when);
  out.real(missing.evicted_ago_ms);
  if (missing.why != cache::MissReason::kForeign) return;
  out.text(missing.made_by);
  out.text(missing.flags);
}

cache::Missing get_missing(RecordReader& in) {
  cache::Missing missing;
  missing.why = get_enum(in, cache::kMissReasonLast);
  missing.position = in.position();
  missing.evicted.reason = get_enum(in, tree::EvictReason::kDisproved);
  missing.evicted.when = in.number();
  missing.evicted_ago_ms = in.real();
  if (missing.why != cache::MissReason::kForeign) return missing;
  missing.made_by = in.text();
  missing.flags = in.text();
  return missing;
}

}  // namespace

void encode_receipt(RecordWriter& out, const cache::Receipt& receipt) {
  out.text(receipt.id);
  out.text(receipt.response);
  out.text(receipt.tenant);
  out.signed_number(receipt.unix_ms);
  out.signed_number(receipt.slot);
  out.position(receipt.prompt_tokens);
  out.position(receipt.matched);
  out.position(receipt.restorable);
  out.position(receipt.restored);
  out.byte(static_cast<std::uint8_t>(receipt.source));
  out.position(receipt.recomputed);
  out.number(receipt.bytes_in);
  out.number(receipt.bytes_out);
  out.signed_number(receipt.checkpoints);
  out.position(receipt.history_tokens);
  put_companion(out, receipt.companion);
  put_difference(out, receipt.difference);
  put_missing(out, receipt.missing);
  out.real(receipt.queued_ms);
  out.text(receipt.waited_for);
  out.real(receipt.restore_ms);
  out.position(receipt.fetched);
  out.number(receipt.fetched_bytes);
  out.real(receipt.fetch_ms);
  out.real(receipt.prompt_ms);
  out.real(receipt.saved_ms);
  out.truth(receipt.complete);
}

void decode_receipt(RecordReader& in, cache::Receipt& receipt) {
  receipt.id = in.text();
  receipt.response = in.text();
  receipt.tenant = in.text();
  receipt.unix_ms = in.unix_ms();
  receipt.slot = static_cast<int>(in.signed_number());
  receipt.prompt_tokens = in.position();
  receipt.matched = in.position();
  receipt.restorable = in.position();
  receipt.restored = in.position();
  receipt.source = get_enum(in, plan::StartSource::kMemory);
  receipt.recomputed = in.position();
  receipt.bytes_in = in.number();
  receipt.bytes_out = in.number();
  receipt.checkpoints = static_cast<int>(in.signed_number());
  receipt.history_tokens = in.position();
  receipt.companion = get_companion(in);
  receipt.difference = get_difference(in);
  receipt.missing = get_missing(in);
  receipt.queued_ms = in.real();
  receipt.waited_for = in.text();
  receipt.restore_ms = in.real();
  receipt.fetched = in.position();
  receipt.fetched_bytes = in.number();
  receipt.fetch_ms = in.real();
  receipt.prompt_ms = in.real();
  receipt.saved_ms = in.real();
  receipt.complete = in.truth();
}

// --- comparing -----------------------------------------------------------------------

namespace {

std::string shown(const std::string& value) { return '"' + value + '"'; }
std::string shown(bool value) { return value ? "yes" : "no"; }
std::string shown(double value) {
  std::ostringstream text;
  text.precision(17);
  text << value;
  return text.str();
}
template <typename Number>
std::string shown(const Number& value) {
  return std::to_string(value);
}
std::string shown(const Tokens& tokens) {
  std::string text;
  for (const Token token : tokens) text += (text.empty() ? "" : " ") + std::to_string(token);
  return '[' + text + ']';
}

class Comparison {
 public:
  template <typename Value>
  void same(const char* field, const Value& recorded, const Value& replayed) {
    if (recorded == replayed) return;
    differences_.push_back({field, shown(recorded), shown(replayed)});
  }
  [[nodiscard]] std::vector<FieldDifference> take() { return std::move(differences_); }

 private:
  std::vector<FieldDifference> differences_;
};

void compare(Comparison& all, const std::optional<cache::Difference>& a,
             const std::optional<cache::Difference>& b, bool private_form) {
  all.same("difference", a.has_value(), b.has_value());
  if (!a || !b) return;
  all.same("difference.position", a->position, b->position);
  all.same("difference.span", a->span, b->span);
  all.same<std::string>("difference.role", role_name(a->role), role_name(b->role));
  all.same("difference.message_begin", a->message_begin, b->message_begin);
  if (private_form) return;
  all.same("difference.known", a->known, b->known);
  all.same("difference.sent", a->sent, b->sent);
}

void compare(Comparison& all, const std::optional<cache::CompanionReceipt>& a,
             const std::optional<cache::CompanionReceipt>& b) {
  all.same("companion", a.has_value(), b.has_value());
  if (!a || !b) return;
  all.same("companion.name", a->name, b->name);
  all.same("companion.held", a->held, b->held);
  all.same("companion.from_memory", a->from_memory, b->from_memory);
  all.same("companion.missing", a->missing, b->missing);
}

void compare(Comparison& all, const cache::Missing& a, const cache::Missing& b) {
  all.same<std::string>("missing.why", cache::miss_reason_name(a.why),
                        cache::miss_reason_name(b.why));
  all.same("missing.position", a.position, b.position);
  all.same<std::string>("missing.evicted.reason", tree::evict_reason_name(a.evicted.reason),
                        tree::evict_reason_name(b.evicted.reason));
  all.same("missing.evicted.when", a.evicted.when, b.evicted.when);
  all.same("missing.evicted_ago_ms", a.evicted_ago_ms, b.evicted_ago_ms);
  all.same("missing.made_by", a.made_by, b.made_by);
  all.same("missing.flags", a.flags, b.flags);
}

}  // namespace

std::vector<FieldDifference> compare_receipts(const cache::Receipt& recorded,
                                              const cache::Receipt& replayed, bool private_form) {
  Comparison all;
  const cache::Receipt& a = recorded;
  const cache::Receipt& b = replayed;
  all.same("slot", a.slot, b.slot);
  all.same("prompt_tokens", a.prompt_tokens, b.prompt_tokens);
  all.same("matched", a.matched, b.matched);
  all.same("restorable", a.restorable, b.restorable);
  all.same("restored", a.restored, b.restored);
  all.same<std::string>("source", plan::start_source_name(a.source),
                        plan::start_source_name(b.source));
  all.same("recomputed", a.recomputed, b.recomputed);
  all.same("bytes_in", a.bytes_in, b.bytes_in);
  all.same("bytes_out", a.bytes_out, b.bytes_out);
  all.same("checkpoints", a.checkpoints, b.checkpoints);
  compare(all, a.companion, b.companion);
  compare(all, a.difference, b.difference, private_form);
  compare(all, a.missing, b.missing);
  all.same("restore_ms", a.restore_ms, b.restore_ms);
  all.same("fetched", a.fetched, b.fetched);
  all.same("fetched_bytes", a.fetched_bytes, b.fetched_bytes);
  all.same("fetch_ms", a.fetch_ms, b.fetch_ms);
  all.same("saved_ms", a.saved_ms, b.saved_ms);
  return all.take();
}

const std::vector<std::string>& given_fields() {
  static const std::vector<std::string> fields = {
      "id",        "response",   "tenant",    "unix_ms",  "history_tokens",
      "queued_ms", "waited_for", "prompt_ms", "complete", "companion.drafts"};
  return fields;
}

void take_given_fields(const cache::Receipt& from, cache::Receipt& to) {
  to.id = from.id;
  to.response = from.response;
  to.tenant = from.tenant;
  to.unix_ms = from.unix_ms;
  to.history_tokens = from.history_tokens;
  to.queued_ms = from.queued_ms;
  to.waited_for = from.waited_for;
  to.prompt_ms = from.prompt_ms;
  to.complete = from.complete;
  if (from.companion && to.companion) to.companion->drafts = from.companion->drafts;
}

}  // namespace holdfast::record
