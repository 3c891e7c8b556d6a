#include "record/recording_events.h"

#include <array>
#include <cmath>
#include <limits>

#include "record/receipt_record.h"
#include "record/recording_parts.h"

namespace holdfast::record {

namespace {

constexpr unsigned kHintBits = 11;

constexpr std::uint64_t kNodeNumberMax = std::numeric_limits<std::uint32_t>::max();

bool has_world(EventKind kind) {
  switch (kind) {
    case EventKind::kPrompt:
    case EventKind::kReceipt:
    case EventKind::kDropped:
    case EventKind::kForget:
    case EventKind::kDone:
    case EventKind::kOneOff:
    case EventKind::kAhead:
    case EventKind::kDecoded: return false;
    default: return true;
  }
}

}  // namespace

const char* event_kind_name(EventKind kind) {
  constexpr std::array<const char*, 31> kNames = {
      "opened",      "prompt",         "plan",      "wait",        "ask below", "go on",
      "begin",       "before chunk",   "prefilled", "decoded",     "emptied",   "end",
      "called tool", "speed",          "copy out",  "bring in",    "erase",     "keep idle",
      "clear",       "receipt",        "dropped",   "forget",      "done",      "distrust",
      "postponed",   "copy postponed", "one-off",   "clear space", "ahead",     "drop",
      "forget slot"};
  const auto index = static_cast<std::size_t>(kind) - 1;
  return index < kNames.size() ? kNames[index] : "?";
}

const char* answer_kind_name(AnswerKind kind) {
  constexpr std::array<const char*, 15> kNames = {
      "can truncate",     "truncate", "save",         "load",
      "save rows",        "restore",  "normalize",    "follow",
      "companion's save", "deepest",  "bytes per ms", "intact",
      "can sample kept",  "logits",   "foreign"};
  const auto index = static_cast<std::size_t>(kind);
  return index < kNames.size() ? kNames[index] : "?";
}

MemoryDigest MemoryDigest::of(const cache::CacheStatus& status) {
  return {status.resident,     status.snapshot_count, status.nodes,
          status.tokens,       status.declined,       status.evicted_snapshots,
          status.evicted_rows, status.evicted_bytes,  status.quarantined};
}

std::uint16_t bits_of(Hints hints) {
  unsigned bits = 0;
  for (unsigned i = 0; i < kHintBits; ++i) {
    if (hints.has(static_cast<Hint>(1U << i))) bits |= 1U << i;
  }
  return static_cast<std::uint16_t>(bits);
}

Hints hints_of(std::uint16_t bits) {
  Hints hints;
  for (unsigned i = 0; i < kHintBits; ++i) {
    if ((bits & (1U << i)) != 0) hints = hints | static_cast<Hint>(1U << i);
  }
  return hints;
}

// --- encoding ------------------------------------------------------------------------------

void EventEncoder::put_tokens(RecordWriter& out, SequenceWriter::Cursor& cursor, TokenSpan tokens) {
  const Passage passage = book_.add(cursor, tokens);
  out.position(passage.shared);
  if (passage.shared > 0) out.number(passage.from);
  out.number(passage.fresh);
  if (private_) return;
  for (const Token token : tokens.last(passage.fresh)) out.signed_number(token);
}

void EventEncoder::encode(RecordWriter& out, const CacheEvent& event) {
  out.byte(static_cast<std::uint8_t>(event.kind));
  switch (event.kind) {
    case EventKind::kPrompt: {
      out.number(event.request);
      out.number(event.space.high);
      out.number(event.space.low);
      auto& cursor = prompts_[event.request];
      cursor = {};
      put_tokens(out, cursor, event.tokens);
      put_cuts(out, event.cuts);
      out.number(event.spans.size());
      for (const MessageSpan& span : event.spans) {
        out.byte(static_cast<std::uint8_t>(span.role));
        out.position(span.begin);
        out.position(span.end);
      }
      out.truth(event.yes);
      out.number(event.header_end ? static_cast<std::uint64_t>(*event.header_end) + 1 : 0);
      break;
    }
    case EventKind::kPlan:
      out.number(event.request);
      out.number(event.slots.size());
      for (const int slot : event.slots) out.number(static_cast<std::uint64_t>(slot));
      out.number(static_cast<std::uint64_t>(event.slot));
      out.byte(static_cast<std::uint8_t>(event.source));
      out.position(event.position);
      break;
    case EventKind::kWait:
      out.truth(event.yes);
      if (!event.yes) break;
      out.number(static_cast<std::uint64_t>(event.slot));
      out.number(event.run);
      out.position(event.position);
      break;
    case EventKind::kGoOn:
      out.byte(static_cast<std::uint8_t>(event.found ? 1 : event.came ? 2 : 0));
      if (event.found) {
        put_found(out, *event.found);
      } else if (event.came) {
        put_came(out, *event.came);
      }
      break;
    case EventKind::kBegin:
      out.number(event.request);
      out.number(static_cast<std::uint64_t>(event.slot));
      slots_[event.slot] = prompts_[event.request];
      break;
    case EventKind::kPrefilled:
    case EventKind::kPostponed:
    case EventKind::kEnd:
      out.number(static_cast<std::uint64_t>(event.slot));
      out.position(event.position);
      if (event.kind != EventKind::kEnd) out.truth(event.yes);
      break;
    case EventKind::kCopyPostponed:
      out.number(static_cast<std::uint64_t>(event.slot));
      out.number(event.bytes);
      break;
    case EventKind::kDecoded:
      out.number(static_cast<std::uint64_t>(event.slot));
      put_tokens(out, slots_[event.slot], event.tokens);
      break;
    case EventKind::kBringIn:
      out.number(static_cast<std::uint64_t>(event.slot));
      out.number(event.space.high);
      out.number(event.space.low);
      slots_[event.slot] = {};
      put_tokens(out, slots_[event.slot], event.tokens);
      put_cuts(out, event.cuts);
      out.position(event.position);
      break;
    case EventKind::kCalledTool:
      out.number(static_cast<std::uint64_t>(event.slot));
      out.number(event.run);
      break;
    case EventKind::kEmptied: slots_[event.slot] = {}; [[fallthrough]];
    case EventKind::kBeforeChunk:
    case EventKind::kCopyOut:
    case EventKind::kForgetSlot:
    case EventKind::kErase: out.number(static_cast<std::uint64_t>(event.slot)); break;
    case EventKind::kSpeed:
      out.position(event.position);
      out.real(event.ms);
      break;
    case EventKind::kReceipt:
      out.number(event.request);
      prompts_.erase(event.request);
      out.byte(static_cast<std::uint8_t>(event.end));
      encode_receipt(out, event.receipt);
      out.position(event.position);
      out.real(event.ms);
      out.text(event.known_text);
      out.text(event.sent_text);
      put_digest(out, event.digest);
      break;
    case EventKind::kOneOff:
    case EventKind::kAhead: out.number(event.request); break;
    case EventKind::kDropped:
      out.number(event.request);
      prompts_.erase(event.request);
      out.byte(static_cast<std::uint8_t>(event.end));
      break;
    case EventKind::kForget:
      book_.clear();
      prompts_.clear();
      slots_.clear();
      break;
    case EventKind::kDone: out.byte(static_cast<std::uint8_t>(event.done)); break;
    case EventKind::kClearSpace:
      out.number(event.space.high);
      out.number(event.space.low);
      break;
    case EventKind::kDrop:
      out.number(event.node.index);
      out.number(event.node.generation);
      break;
    case EventKind::kOpened:
    case EventKind::kAskBelow:
    case EventKind::kKeepIdle:
    case EventKind::kDistrust:
    case EventKind::kClear: break;
  }
  if (has_world(event.kind)) put_world(out, event);
}

// --- decoding ------------------------------------------------------------------------------

int EventDecoder::read_slot(RecordReader& in) const {
  return static_cast<int>(in.number(static_cast<std::uint64_t>(header_.slots) - 1));
}

// An event has at least one token, and they fit the context.
bool EventDecoder::read_tokens(RecordReader& in, SequenceReader::Cursor& cursor,
                               CacheEvent& event) {
  Passage passage;
  passage.shared = in.position(header_.context_tokens);
  if (passage.shared > 0) passage.from = in.number();
  const auto left = static_cast<std::uint64_t>(header_.context_tokens - passage.shared);
  passage.fresh = static_cast<std::size_t>(in.number(left));
  Tokens ids;
  const bool named = !header_.private_form;
  if (named && passage.fresh > in.left()) in.fail();
  if (in.failed() || passage.fresh + static_cast<std::size_t>(passage.shared) == 0 ||
      cursor.length > header_.context_tokens ||
      book_.tokens() + passage.fresh > 2 * kRecordedTokensMax) {
    in.fail();
    return false;
  }
  if (named) ids.resize(passage.fresh);
  for (Token& id : ids) id = static_cast<Token>(in.signed_number());
  auto tokens = book_.read(cursor, passage, ids);
  if (!tokens) in.fail();
  if (tokens) event.tokens = std::move(*tokens);
  return !in.failed();
}

void EventDecoder::read_prompt(RecordReader& in, CacheEvent& event) {
  event.request = in.number();
  event.space.high = in.number();
  event.space.low = in.number();
  SequenceReader::Cursor cursor;
  if (!read_tokens(in, cursor, event)) return;
  prompts_[event.request] = cursor;
  const TokenPos length = length_of(event.tokens);
  if (length >= header_.context_tokens) in.fail();  // one is left for an answer
  event.cuts = get_cuts(in, header_.chunk_tokens_max, length);
  event.spans.resize(in.count());
  TokenPos last = 0;
  for (MessageSpan& span : event.spans) {
    span.role = get_enum(in, Role::kTool);
    span.begin = in.position(length);
    span.end = in.position(length);
    if (span.begin < last || span.end < span.begin) in.fail();
    last = span.end;
  }
  event.yes = in.truth();
  const std::uint64_t header_end = in.number(static_cast<std::uint64_t>(length));
  if (header_end > 0) event.header_end = static_cast<TokenPos>(header_end - 1);
}

void EventDecoder::read_fields(RecordReader& in, CacheEvent& event) {
  switch (event.kind) {
    case EventKind::kPrompt: read_prompt(in, event); break;
    case EventKind::kPlan:
      event.request = in.number();
      event.slots.resize(in.number(static_cast<std::uint64_t>(header_.slots)));
      for (int& slot : event.slots) slot = read_slot(in);
      event.slot = read_slot(in);
      event.source = get_enum(in, plan::StartSource::kMemory);
      event.position = in.position(header_.context_tokens);
      break;
    case EventKind::kWait:
      event.yes = in.truth();
      if (!event.yes) break;
      event.slot = read_slot(in);
      event.run = in.number();
      event.position = in.position(header_.context_tokens);
      break;
    case EventKind::kGoOn: {
      const std::uint8_t what = in.byte();
      if (what > 2) in.fail();
      if (what == 1) event.found = get_found(in);
      if (what == 2) event.came = get_came(in);
      break;
    }
    case EventKind::kBegin: {
      event.request = in.number();
      event.slot = read_slot(in);
      const auto prompt = prompts_.find(event.request);
      slots_[event.slot] = prompt == prompts_.end() ? SequenceReader::Cursor{} : prompt->second;
      break;
    }
    case EventKind::kPrefilled:
    case EventKind::kPostponed:
    case EventKind::kEnd:
      event.slot = read_slot(in);
      event.position = in.position(header_.context_tokens);
      if (event.kind != EventKind::kEnd) event.yes = in.truth();
      break;
    case EventKind::kCopyPostponed:
      event.slot = read_slot(in);
      event.bytes = in.number();
      break;
    case EventKind::kDecoded:
      event.slot = read_slot(in);
      read_tokens(in, slots_[event.slot], event);
      break;
    case EventKind::kBringIn:
      event.slot = read_slot(in);
      event.space.high = in.number();
      event.space.low = in.number();
      slots_[event.slot] = {};
      if (!read_tokens(in, slots_[event.slot], event)) break;
      event.cuts = get_cuts(in, header_.chunk_tokens_max, length_of(event.tokens));
      event.position = in.position(length_of(event.tokens));
      break;
    case EventKind::kCalledTool:
      event.slot = read_slot(in);
      event.run = in.number();
      break;
    case EventKind::kBeforeChunk:
    case EventKind::kCopyOut:
    case EventKind::kForgetSlot:
    case EventKind::kErase:
    case EventKind::kEmptied:
      event.slot = read_slot(in);
      if (event.kind == EventKind::kEmptied) slots_[event.slot] = {};
      break;
    case EventKind::kSpeed:
      event.position = in.position(header_.context_tokens);
      event.ms = in.real();
      if (!std::isfinite(event.ms) || std::abs(event.ms) > 1e12) in.fail();
      break;
    case EventKind::kReceipt:
      event.request = in.number();
      prompts_.erase(event.request);
      event.end = get_enum(in, cache::RequestEnd::kFailed);
      decode_receipt(in, event.receipt);
      event.position = in.position(header_.context_tokens);
      event.ms = in.real();
      event.known_text = in.text();
      event.sent_text = in.text();
      event.digest = get_digest(in);
      break;
    case EventKind::kOneOff:
    case EventKind::kAhead: event.request = in.number(); break;
    case EventKind::kDropped:
      event.request = in.number();
      prompts_.erase(event.request);
      event.end = get_enum(in, cache::RequestEnd::kFailed);
      break;
    case EventKind::kForget:
      book_.clear();
      prompts_.clear();
      slots_.clear();
      break;
    case EventKind::kDone: event.done = get_enum(in, DoneReason::kTooManyTokens); break;
    case EventKind::kClearSpace:
      event.space.high = in.number();
      event.space.low = in.number();
      break;
    case EventKind::kDrop:
      event.node.index = static_cast<std::uint32_t>(in.number(kNodeNumberMax));
      event.node.generation = static_cast<std::uint32_t>(in.number(kNodeNumberMax));
      break;
    case EventKind::kOpened:
    case EventKind::kAskBelow:
    case EventKind::kKeepIdle:
    case EventKind::kDistrust:
    case EventKind::kClear: break;
  }
}

std::optional<CacheEvent> EventDecoder::decode(RecordReader& in) {
  CacheEvent event;
  const std::uint8_t kind = in.byte();
  if (in.failed() || kind == 0 || kind > static_cast<std::uint8_t>(kEventKindLast)) {
    return std::nullopt;
  }
  event.kind = static_cast<EventKind>(kind);
  read_fields(in, event);
  if (!in.failed() && has_world(event.kind)) get_world(in, event, total_ns_);
  if (in.failed()) return std::nullopt;
  return event;
}

}  // namespace holdfast::record
