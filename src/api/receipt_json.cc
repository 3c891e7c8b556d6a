#include "api/receipt_json.h"

#include "api/json_fields.h"
#include "api/json_values.h"
#include "cache/advice.h"
#include "state/parts.h"

namespace holdfast::api {
namespace {

const char* restored_from(plan::StartSource source) {
  switch (source) {
    case plan::StartSource::kNothing: return "nothing";
    case plan::StartSource::kLive: return "live slot";
    case plan::StartSource::kSnapshotInPlace: return "snapshot in place";
    case plan::StartSource::kMemory: return "memory";
  }
  return "nothing";
}

// It passed through memory, but it was not there.
bool from_disk(const cache::Receipt& receipt) {
  return receipt.source == plan::StartSource::kMemory && receipt.fetched > 0 &&
         receipt.restored <= receipt.fetched;
}

void append_tokens(std::string& out, const Tokens& tokens) {
  out += '[';
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0) out += ',';
    append_json_number(out, std::int64_t{tokens[i]});
  }
  out += ']';
}

struct Sides {
  std::string known;
  std::string sent;
};

Sides sides_of(const cache::Receipt& receipt, const engine::TextModel& text) {
  if (!receipt.difference) return {};
  return {text.detokenize(receipt.difference->known), text.detokenize(receipt.difference->sent)};
}

// In the client's words where these are known; else the role alone.
void append_section(ObjectWriter& object, const cache::Difference& difference) {
  const auto& section = difference.section;
  append_text_or_null(object, "in", section ? section->name : "");
  if (section && section->index >= 0) {
    object.integer("message", section->index);
  } else {
    object.raw("message", "null");
  }
  object.text("role", role_name(section ? section->role : difference.role));
}

void append_difference(std::string& out, const cache::Difference& difference, const Sides& sides) {
  ObjectWriter object(out);
  object.integer("position", difference.position);
  append_section(object, difference);
  object.text("known_text", sides.known);
  object.text("sent_text", sides.sent);
  append_tokens(object.key("known_tokens"), difference.known);
  append_tokens(object.key("sent_tokens"), difference.sent);
}

void append_missing(std::string& out, const cache::Receipt& receipt) {
  const tree::EvictionNote& evicted = receipt.missing.evicted;
  ObjectWriter object(out);
  object.text("why", cache::miss_reason_name(receipt.missing.why));
  object.integer("position", receipt.missing.position);
  const auto when = cache::evicted_at(receipt);
  append_text_or_null(object, "evicted_at", when ? cache::utc_text(*when) : "");
  append_text_or_null(object, "evicted_for",
                      evicted ? tree::evict_reason_name(evicted.reason) : "");
  const ByteCount kept_with = receipt.missing.kept_with;
  object.raw("kept_with_bytes", kept_with > 0 ? std::to_string(kept_with) : "null");
  append_text_or_null(object, "made_by", receipt.missing.made_by);
  object.text("sentence", cache::missing_sentence(receipt));
}

void append_counts(ObjectWriter& object, const cache::Receipt& receipt) {
  object.integer("prompt_tokens", receipt.prompt_tokens);
  object.integer("matched_tokens", receipt.matched);
  object.integer("restorable_tokens", receipt.restorable);
  object.integer("restored_tokens", receipt.restored);
  object.text("restored_from", from_disk(receipt) ? "disk" : restored_from(receipt.source));
  object.integer("recomputed_tokens", receipt.recomputed);
  append_share(object, "reuse", receipt.restored, receipt.prompt_tokens);
  append_count(object, "bytes_restored", receipt.bytes_in);
  append_count(object, "bytes_fetched", receipt.fetched_bytes);
  append_count(object, "bytes_kept", receipt.bytes_out);
  object.integer("checkpoints", receipt.checkpoints);
  object.integer("kept_tokens", receipt.kept);
  object.integer("prewarmed_tokens", receipt.prewarmed);
  object.integer("history_tokens", receipt.history_tokens);
  ObjectWriter ids(object.key("answer_ids"));
  ids.integer("used", receipt.answer_ids.used);
  ids.integer("ignored", receipt.answer_ids.ignored);
}

void append_hashes(ObjectWriter& object, const std::optional<cache::PromptHashes>& hashes) {
  append_text_or_null(object, "tokens_hash", hashes ? cache::hash_text(hashes->tokens) : "");
  append_text_or_null(object, "prompt_hash", hashes ? cache::hash_text(hashes->logits) : "");
}

void append_times(ObjectWriter& object, const cache::Receipt& receipt) {
  object.real("queued_ms", receipt.queued_ms);
  append_text_or_null(object, "waited_for", receipt.waited_for);
  object.real("fetch_ms", receipt.fetch_ms);
  object.real("restore_ms", receipt.restore_ms);
  object.real("prompt_ms", receipt.prompt_ms);
  object.real("saved_ms", receipt.saved_ms);
}

void append_companion(std::string& out, const cache::CompanionReceipt& companion) {
  ObjectWriter object(out);
  object.text("name", companion.name);
  object.integer("held_tokens", companion.held);
  object.integer("memory_tokens", companion.from_memory);
  append_text_or_null(object, "missing", companion.missing);
  append_count(object, "drafted", companion.drafts.drafted);
  append_count(object, "accepted", companion.drafts.accepted);
  std::string& ranks = object.key("by_place");
  ranks += '[';
  for (const DraftCounts::Rank& rank : companion.drafts.ranks) {
    if (rank.tried == 0) break;
    if (ranks.back() != '[') ranks += ',';
    ObjectWriter one(ranks);
    append_count(one, "tried", rank.tried);
    append_count(one, "accepted", rank.accepted);
  }
  ranks += ']';
}

// What the server did to the request, beside what its client asked for.
void append_notes(ObjectWriter& object, const cache::Receipt& receipt) {
  object.integer("answer_limit", receipt.notes.answer_limit);
  object.integer("attribution_saved_tokens", cache::attribution_saved(receipt));
  std::string& notes = object.key("notes");
  append_array(notes, cache::note_sentences(receipt),
               [&](const std::string& sentence) { append_json_string(notes, sentence); });
}

cache::AdviceFacts facts_of(const engine::TextModel& text, ByteCount budget) {
  const auto& caps = text.card().chat_template_caps;
  const auto shows = caps.find("supports_preserve_reasoning");
  return {.budget = budget,
          .shows_reasoning = shows != caps.end() && shows->second,
          .reasoning_setting =
              text.card().chat_template.find("preserve_thinking") != std::string::npos};
}

void append_receipt(std::string& out, const cache::Receipt& receipt, const engine::TextModel& text,
                    ByteCount budget) {
  const Sides sides = sides_of(receipt, text);
  ObjectWriter object(out);
  object.text("id", receipt.id);
  object.text("response", receipt.response);
  append_text_or_null(object, "session", receipt.session);
  append_boolean(object, "one_off", receipt.one_off);
  object.text("time", cache::utc_text(receipt.unix_ms));
  object.text("exact", exactness_name(receipt.exact));
  object.integer("slot", receipt.slot);
  append_counts(object, receipt);
  if (receipt.difference) {
    append_difference(object.key("difference"), *receipt.difference, sides);
  } else {
    object.raw("difference", "null");
  }
  if (receipt.missing.why != cache::MissReason::kNone) {
    append_missing(object.key("missing"), receipt);
  } else {
    object.raw("missing", "null");
  }
  append_notes(object, receipt);
  append_times(object, receipt);
  if (receipt.companion) {
    append_companion(object.key("companion"), *receipt.companion);
  } else {
    object.raw("companion", "null");
  }
  append_text_or_null(object, "proof", receipt.proof);
  append_hashes(object, receipt.hashes);
  const bool advised = !receipt.advice.empty();
  append_text_or_null(
      object, "advice",
      advised ? receipt.advice
              : cache::advice_for(receipt, sides.known, sides.sent, facts_of(text, budget)));
  append_boolean(object, "complete", receipt.complete);
}

}  // namespace

std::string receipt_json(const cache::Receipt& receipt, const engine::TextModel& text,
                         ByteCount budget) {
  std::string out;
  append_receipt(out, receipt, text, budget);
  return out;
}

}  // namespace holdfast::api
