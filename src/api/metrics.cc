#include "api/metrics.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string_view>
#include <utility>

#include "api/json_fields.h"

namespace holdfast::api {
namespace {

constexpr std::chrono::minutes kSessionActive{15};

double ratio(double a, double b) { return b > 0.0 ? a / b : 0.0; }

// Writes families of samples: HELP and TYPE once, then their samples.
class MetricsWriter {
 public:
  MetricsWriter& counter(std::string_view name, std::string_view help) {
    return family(name, help, "counter");
  }
  MetricsWriter& gauge(std::string_view name, std::string_view help) {
    return family(name, help, "gauge");
  }
  // Its samples have these endings.
  MetricsWriter& histogram(std::string_view name, std::string_view help) {
    return family(name, help, "histogram");
  }
  MetricsWriter& ending(std::string_view with) {
    name_ = family_ + std::string(with);
    return *this;
  }
  // `label` is a whole `name="value"`, or empty.
  MetricsWriter& sample(double value, std::string_view label = "") {
    text_ += name_;
    if (!label.empty()) ((text_ += '{') += label) += '}';
    text_ += ' ';
    append_json_number(text_, std::isfinite(value) ? value : 0.0);
    text_ += '\n';
    return *this;
  }
  MetricsWriter& sample(std::uint64_t value, std::string_view label = "") {
    return sample(static_cast<double>(value), label);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  MetricsWriter& family(std::string_view name, std::string_view help, std::string_view type) {
    name_ = family_ = name;
    (((text_ += "# HELP ") += name) += ' ') += help;
    (((text_ += "\n# TYPE ") += name) += ' ') += type;
    text_ += '\n';
    return *this;
  }

  std::string text_;
  std::string name_;    // of the next sample
  std::string family_;  // that it belongs to
};

template <typename Visit>
void each_rank(const DraftCounts& drafts, const Visit& visit) {
  for (std::size_t i = 0; i < drafts.ranks.size() && drafts.ranks[i].tried > 0; ++i) {
    visit(drafts.ranks[i], "place=\"" + std::to_string(i + 1) + "\"");
  }
}

void write_llama_names(MetricsWriter& out, const serve::SchedulerStatus& server) {
  const auto busy = static_cast<std::uint64_t>(
      std::count_if(server.slots.begin(), server.slots.end(),
                    [](const serve::SlotStatus& slot) { return slot.busy; }));
  out.counter("llamacpp:prompt_tokens_total", "Number of prompt tokens processed.")
      .sample(server.prompt_tokens);
  out.counter("llamacpp:prompt_tokens_cached_total", "Number of prompt tokens reused.")
      .sample(server.prompt_tokens_cached);
  out.counter("llamacpp:prompt_seconds_total", "Prompt process time.")
      .sample(server.prompt_seconds);
  out.counter("llamacpp:tokens_predicted_total", "Number of generation tokens processed.")
      .sample(server.predicted_tokens);
  out.counter("llamacpp:tokens_predicted_seconds_total", "Predict process time.")
      .sample(server.predicted_seconds);
  out.counter("llamacpp:n_decode_total", "Number of decode steps, each for one or more slots.")
      .sample(server.decode_steps);
  out.counter("llamacpp:n_tokens_max", "Most tokens that a prompt had together with its answer.")
      .sample(server.tokens_max);
  out.counter("llamacpp:spec_decode_num_drafts_total", "Number of drafts that were verified.")
      .sample(server.drafts.ranks.front().tried);
  out.counter("llamacpp:spec_decode_num_draft_tokens_total", "Number of drafted tokens.")
      .sample(server.drafts.drafted);
  out.counter("llamacpp:spec_decode_num_accepted_tokens_total",
              "Number of drafted tokens that the model chose.")
      .sample(server.drafts.accepted);
  out.gauge("llamacpp:n_busy_slots_per_decode", "Average number of slots in a decode step.")
      .sample(ratio(static_cast<double>(server.decoded_slots),
                    static_cast<double>(server.decode_steps)));
  out.gauge("llamacpp:prompt_tokens_seconds", "Average prompt throughput in tokens/s, since start.")
      .sample(ratio(static_cast<double>(server.prompt_tokens), server.prompt_seconds));
  out.gauge("llamacpp:predicted_tokens_seconds",
            "Average generation throughput in tokens/s, since start.")
      .sample(ratio(static_cast<double>(server.predicted_tokens), server.predicted_seconds));
  out.gauge("llamacpp:requests_processing", "Number of requests processing.").sample(busy);
  out.gauge("llamacpp:requests_deferred", "Number of requests deferred.")
      .sample(std::uint64_t{server.queued});
}

// No id of a session is a label: there would be a series for each.
void write_sessions(MetricsWriter& out, const serve::SessionTotals& sessions) {
  out.counter("holdfast_session_requests_total",
              "Requests that name a session, by whether one of its requests is remembered.")
      .sample(sessions.first, "turn=\"first\"")
      .sample(sessions.again, "turn=\"again\"");
  out.counter("holdfast_session_prompt_tokens_total",
              "Prompt tokens of the requests with turn=\"again\": reused, and read.")
      .sample(sessions.again_reused, "how=\"reused\"")
      .sample(sessions.again_read, "how=\"read\"");
}

void write_one_offs(MetricsWriter& out, const serve::SessionTotals& sessions) {
  out.counter("holdfast_session_one_offs_total",
              "Requests beside the conversation of their session; their states make way first.")
      .sample(sessions.one_offs);
}

void write_gaps(MetricsWriter& out, const serve::StepGaps& gaps, const std::string& label) {
  std::uint64_t so_far = 0;
  for (std::size_t i = 0; i < gaps.counts.size(); ++i) {
    so_far += gaps.counts[i];
    std::string bound = "+Inf";
    if (i < serve::StepGaps::kBounds.size())
      append_json_number(bound = "", serve::StepGaps::kBounds[i]);
    out.ending("_bucket").sample(so_far, label + ",le=\"" + bound + "\"");
  }
  out.ending("_sum").sample(gaps.sum, label);
  out.ending("_count").sample(so_far, label);
}

void write_gaps(MetricsWriter& out, const serve::SchedulerStatus& server) {
  constexpr const char* kWork = "between=\"work\"";
  constexpr const char* kNothing = "between=\"nothing\"";
  out.histogram("holdfast_step_gap_seconds",
                "From one decode step of a slot to its next; between them others were read or "
                "states were moved, or nothing was done.");
  write_gaps(out, server.gaps_of_work, kWork);
  write_gaps(out, server.gaps_undisturbed, kNothing);
  out.gauge("holdfast_step_gap_longest_seconds", "The longest of them since the start.")
      .sample(server.gaps_of_work.longest, kWork)
      .sample(server.gaps_undisturbed.longest, kNothing);
}

void write_drafts(MetricsWriter& out, const serve::SchedulerStatus& server) {
  if (server.companion.empty()) return;
  const std::string companion = "companion=\"" + server.companion + "\"";
  out.counter("holdfast_drafted_tokens_total", "Tokens that a companion proposed.")
      .sample(server.drafts.drafted, companion);
  out.counter("holdfast_draft_accepted_tokens_total", "Proposed tokens that the model chose.")
      .sample(server.drafts.accepted, companion);
  auto& tried = out.counter("holdfast_draft_place_tried_total",
                            "Drafted tokens whose turn came, by their place in the draft.");
  each_rank(server.drafts, [&](const DraftCounts::Rank& rank, const std::string& label) {
    tried.sample(rank.tried, label);
  });
  auto& accepted =
      out.counter("holdfast_draft_place_accepted_total", "Of those, how many the model chose.");
  each_rank(server.drafts, [&](const DraftCounts::Rank& rank, const std::string& label) {
    accepted.sample(rank.accepted, label);
  });
}

void write_memory(MetricsWriter& out, const cache::CacheStatus& cache) {
  out.gauge("holdfast_cache_enabled", "1 if states are kept in memory.")
      .sample(std::uint64_t{cache.enabled ? 1U : 0U});
  out.gauge("holdfast_cache_budget_bytes", "Most bytes that may be held.").sample(cache.budget);
  out.gauge("holdfast_cache_resident_bytes", "Bytes held, by kind of state.")
      .sample(cache.extents, "kind=\"extents\"")
      .sample(cache.snapshots, "kind=\"snapshots\"");
  out.gauge("holdfast_cache_pinned_bytes", "Bytes held that are in use right now.")
      .sample(cache.pinned);
  out.gauge("holdfast_cache_peak_bytes", "The most bytes that were ever held.").sample(cache.peak);
  out.gauge("holdfast_cache_snapshots", "Snapshots held.").sample(cache.snapshot_count);
  out.gauge("holdfast_slot_snapshots", "Snapshots that slots keep beside the budget.")
      .sample(cache.slot_snapshot_count);
  out.gauge("holdfast_slot_snapshot_bytes", "Their bytes; memory holds some of them too.")
      .sample(cache.slot_snapshots);
  out.gauge("holdfast_slot_snapshot_bytes_max", "The most that slots may keep beside the budget.")
      .sample(cache.slot_snapshots_max);
  out.gauge("holdfast_cache_nodes", "Nodes of the token tree.").sample(cache.nodes);
  out.gauge("holdfast_cache_tokens", "Tokens known, with their state or without.")
      .sample(cache.tokens);
  out.gauge("holdfast_cache_remembered_tokens", "Tokens known without their state.")
      .sample(cache.ghost_tokens);
}

void write_reuse(MetricsWriter& out, const cache::CacheStatus& cache) {
  out.counter("holdfast_cache_requests_total", "Requests that were planned.")
      .sample(cache.requests);
  out.counter("holdfast_cache_prompt_tokens_total", "Prompt tokens of those requests.")
      .sample(cache.prompt_tokens);
  out.counter("holdfast_cache_matched_tokens_total",
              "Prompt tokens that agree with something seen before.")
      .sample(cache.matched_tokens);
  out.counter("holdfast_cache_restored_tokens_total", "Prompt tokens not computed again.")
      .sample(cache.restored_live_tokens, "source=\"slot\"")
      .sample(cache.restored_memory_tokens, "source=\"memory\"");
  out.counter("holdfast_cache_restores_total", "States brought back from memory.")
      .sample(cache.restores);
  out.counter("holdfast_cache_restored_bytes_total", "Bytes brought back from memory.")
      .sample(cache.restored_bytes);
  out.counter("holdfast_cache_restore_seconds_total", "Time that bringing back took.")
      .sample(cache.restore_seconds);
  out.counter("holdfast_cache_saved_seconds_total",
              "Time that reading the restored tokens would have taken.")
      .sample(cache.saved_seconds);
  out.counter("holdfast_cache_waits_total", "Requests that waited for another's prefix.")
      .sample(cache.waits);
}

void write_keeping(MetricsWriter& out, const cache::CacheStatus& cache) {
  out.counter("holdfast_cache_checkpoints_total", "Checkpoints taken.").sample(cache.checkpoints);
  out.counter("holdfast_cache_declined_total", "States not stored for want of room.")
      .sample(cache.declined);
  out.counter("holdfast_cache_stored_bytes_total", "Bytes copied into memory.")
      .sample(cache.stored_bytes);
  out.counter("holdfast_cache_store_seconds_total", "Time that copying took.")
      .sample(cache.store_seconds);
  out.counter("holdfast_cache_evictions_total", "What was dropped, by kind.")
      .sample(cache.evicted_snapshots, "kind=\"snapshots\"")
      .sample(cache.evicted_rows, "kind=\"rows\"");
  out.counter("holdfast_cache_evicted_bytes_total", "Bytes dropped.").sample(cache.evicted_bytes);
  out.counter("holdfast_cache_quarantined_total", "States that failed their verification.")
      .sample(cache.quarantined);
}

void write_disk(MetricsWriter& out, const cache::CacheStatus& cache) {
  if (!cache.lower) return;
  const cache::DiskTierStatus& disk = *cache.lower;
  out.gauge("holdfast_disk_budget_bytes", "Most bytes that the cache folder may hold.")
      .sample(disk.budget);
  out.gauge("holdfast_disk_bytes", "Bytes that the cache folder holds, by kind.")
      .sample(disk.store.rows_bytes, "kind=\"rows\"")
      .sample(disk.store.place_bytes, "kind=\"places\"")
      .sample(disk.store.quarantine_bytes, "kind=\"quarantine\"");
  out.gauge("holdfast_disk_waiting_bytes", "Bytes that wait to be written, at most.")
      .sample(disk.bytes_waiting);
  out.counter("holdfast_disk_fetches_total", "Requests that states were read from disk for.")
      .sample(cache.fetches);
  out.counter("holdfast_disk_restored_tokens_total", "Prompt tokens that came from disk.")
      .sample(cache.restored_lower_tokens);
  out.counter("holdfast_disk_read_bytes_total", "Bytes read.").sample(disk.store.loaded_bytes);
  out.counter("holdfast_disk_written_bytes_total", "Bytes written.")
      .sample(disk.store.stored_bytes);
  out.counter("holdfast_disk_dropped_bytes_total", "Bytes dropped for want of room.")
      .sample(disk.store.dropped_bytes);
  out.counter("holdfast_disk_quarantined_total", "Blobs that failed a check.")
      .sample(disk.store.quarantined);
  out.counter("holdfast_disk_failures_total", "Calls that the system answered with an error.")
      .sample(disk.store.failed);
  out.counter("holdfast_disk_answers_missed_total",
              "Answers whose token ids could not be written when they were given.")
      .sample(disk.answers_missed);
}

void write_proofs(MetricsWriter& out, const serve::SchedulerStatus& server) {
  out.counter("holdfast_proofs_total", "Restored states computed again, by what came of it.")
      .sample(server.proofs.equal, "result=\"equal\"")
      .sample(server.proofs.different, "result=\"different\"")
      .sample(server.proofs.unmade, "result=\"unmade\"");
  out.counter("holdfast_proof_seconds_total", "Idle time spent on that.")
      .sample(server.proofs.seconds);
  out.gauge("holdfast_cache_disproved", "1 since a proof failed: nothing is restored any more.")
      .sample(std::uint64_t{server.disproved.empty() ? 0U : 1U});
}

void write_prewarm(MetricsWriter& out, const serve::PrewarmCounts& prewarm) {
  out.counter("holdfast_prewarm_answers_total",
              "Answers offered to be read ahead in idle time, by what came of it.")
      .sample(prewarm.read, "result=\"read\"")
      .sample(prewarm.interrupted, "result=\"interrupted\"")
      .sample(prewarm.needless, "result=\"needless\"");
  out.counter("holdfast_prewarm_tokens_total", "Tokens read ahead.").sample(prewarm.tokens);
  out.counter("holdfast_prewarm_seconds_total", "Idle time spent on that.").sample(prewarm.seconds);
  out.counter("holdfast_prewarm_used_tokens_total",
              "Tokens read ahead that later prompts began with.")
      .sample(prewarm.used_tokens);
}

void write_engine(MetricsWriter& out, const engine::EngineStanding& engine) {
  const engine::EngineSetting& setting = engine.setting;
  const std::string label = "variant=\"" + setting.cpu_variant + "\",buffers=\"" +
                            (setting.extra_buffers ? "extra" : "plain") + "\",slots=\"" +
                            (setting.together ? "together" : "one_by_one") + "\",drafts=\"" +
                            (setting.drafts ? "on" : "off") + "\",check=\"" + engine.check + "\"";
  out.gauge("holdfast_engine_info", "The engine in use, and how its check ended.")
      .sample(std::uint64_t{1}, label);
  out.gauge("holdfast_engine_gave_up", "1 if the engine failed its check as asked for.")
      .sample(std::uint64_t{engine.given_up.empty() ? 0U : 1U});
  out.gauge("holdfast_engine_check_kinds", "Kinds of batch that are formed, by what is known.")
      .sample(static_cast<std::uint64_t>(engine.kinds - engine.unchecked), "known=\"right\"")
      .sample(static_cast<std::uint64_t>(engine.unchecked), "known=\"nothing\"");
  out.gauge("holdfast_engine_check_seconds", "Time that the check took at this start.")
      .sample(engine.check_ms / 1000.0);
}

}  // namespace

std::string metrics_text(const serve::SchedulerStatus& server, const cache::CacheStatus& cache,
                         const engine::EngineStanding& engine) {
  MetricsWriter out;
  write_llama_names(out, server);
  write_gaps(out, server);
  write_drafts(out, server);
  out.counter("holdfast_requests_total", "Requests that were begun.").sample(server.requests);
  write_sessions(out, server.sessions);
  write_one_offs(out, server.sessions);
  write_memory(out, cache);
  write_reuse(out, cache);
  write_keeping(out, cache);
  write_disk(out, cache);
  write_prewarm(out, server.prewarm);
  write_proofs(out, server);
  write_engine(out, engine);
  return out.take();
}

std::string answer_id_metrics(const cache::AnswerIds& ids) {
  MetricsWriter out;
  out.counter("holdfast_answer_ids_total",
              "Ids of answers that came back in requests, by what came of them.");
  for (std::size_t i = 0; i < cache::kAnswerIdFates; ++i) {
    const auto fate = static_cast<cache::AnswerIdFate>(i);
    out.sample(ids.counted(fate),
               "outcome=\"" + std::string(cache::answer_id_fate_name(fate)) + "\"");
  }
  return out.take();
}

std::string active_session_metrics(std::size_t sessions) {
  MetricsWriter out;
  out.gauge("holdfast_sessions_active",
            "Sessions with a request in the last 15 minutes, of the requests that have receipts.")
      .sample(std::uint64_t{sessions});
  return out.take();
}

namespace {

// Texts that are embedded are read as prompts are.
serve::SchedulerStatus status_with_embeddings(const Backend& backend) {
  serve::SchedulerStatus status = backend.scheduler->status();
  if (backend.embeddings == nullptr) return status;
  const EmbeddingDesk::Counts counts = backend.embeddings->counts();
  status.queued += counts.requests;
  status.prompt_tokens += counts.tokens;
  status.prompt_seconds += counts.seconds;
  status.decode_steps += counts.steps;
  return status;
}

}  // namespace

HttpResponse show_metrics(const Backend& backend) {
  std::string text = metrics_text(status_with_embeddings(backend),
                                  backend.scheduler->cache_commands().status(), backend.engine());
  const auto lately = std::chrono::system_clock::now().time_since_epoch() - kSessionActive;
  text += active_session_metrics(backend.scheduler->receipts().sessions_since(
      std::chrono::duration_cast<std::chrono::milliseconds>(lately).count()));
  if (backend.answer_ids != nullptr) text += answer_id_metrics(*backend.answer_ids);
  return {.content_type = "text/plain; version=0.0.4",
          .headers = {{"Process-Start-Time-Unix", std::to_string(backend.loaded_at)}},
          .body = std::move(text)};
}

}  // namespace holdfast::api
