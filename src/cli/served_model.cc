#include "cli/served_model.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "cache/hash128.h"
#include "cli/build_name.h"
#include "cli/engine_settings.h"
#include "cli/server_settings.h"
#include "env/log.h"
#include "tier/space_note.h"

namespace holdfast::cli {
namespace {

CheckedModel without_model(CheckedModel checked) {
  checked.model = {};
  return checked;
}

// States of a model without a digest are nobody else's: not of another such model, not of the next
// run.
std::string name_for_unknown() {
  return "unknown " + tier::hex_of(cache::Hash128().bytes(tier::random_secret()).digest());
}

cache::Fingerprint fingerprint_with(const ServeOptions& options, const llama::LoadedModel& model,
                                    const CheckedModel& checked) {
  // Some models encode positions in another way in contexts longer than their first ones.
  const bool stretched = model.engine->context_tokens() > model.text->card().context_original;
  const bool mtp = model.companion != nullptr && model.companion->name() == "mtp";
  return fingerprint_of(
      options, {checked.digest.empty() ? name_for_unknown() : checked.digest,
                checked.standing.setting, grid_step(options, model.on_gpu), stretched, mtp});
}

}  // namespace

ServedModel::ServedModel(const ServeOptions& options, CheckedModel checked,
                         std::function<void()> on_fault)
    : options_(options),
      model_(std::move(checked.model)),
      engine_(options, without_model(std::move(checked)), std::move(on_fault)),
      fingerprint_(fingerprint_with(options, model_, engine_.checked())) {
  watchers_.log.on_engine_checked = [this](const engine::ConformanceReport& report) {
    engine_.note(report);
  };
}

void ServedModel::start(cache::CacheJournal* journal) {
  serve::SchedulerOptions scheduling = settings();
  open_disk(scheduling);
  sign_answers();
  engine_.remember();
  scheduler_.emplace(*model_.engine, *model_.text, scheduling, clock_,
                     serve::SchedulerParts{.observer = &watchers_.all,
                                           .history = history(),
                                           .companion = model_.companion.get(),
                                           .lower = disk_ ? &disk_->tier() : nullptr,
                                           .journal = journal});
  room_ = room_with(scheduling);
  if (disk_) disk_->tier().start();
  scheduler_->start();
}

serve::SchedulerOptions ServedModel::settings() {
  const CheckedModel& checked = engine_.checked();
  serve::SchedulerOptions scheduling =
      scheduler_options(options_, model_, checked.standing.setting);
  scheduling.cache.fingerprint = fingerprint_.hex();
  if (options_.compute.check_engine == CheckEngine::kOnce) {
    scheduling.check = checked.how;
    scheduling.check->known = checked.record.passed;
  }
  return scheduling;
}

void ServedModel::open_disk(serve::SchedulerOptions& settings) {
  if (engine_.checked().digest.empty()) {
    env::Log::warn("no states on disk: nothing tells this model from another, because " +
                   engine_.checked().digest_error);
    return;
  }
  disk_ = ServerDisk::open(options_, model_.on_gpu, clock_);
  if (!disk_) return;
  const engine::ModelCard& card = model_.text->card();
  disk_->describe(card.name, fingerprint_);
  settings.cache.names_foreign = disk_->holds_foreign();
  if (cache::TokenHistory* const remembered = history())
    disk_->remember_answers(*remembered, static_cast<Token>(card.vocabulary));
}

// Without a folder neither ids nor what they name outlive the server.
void ServedModel::sign_answers() {
  if (history() == nullptr) return;
  answer_ids_.emplace(disk_ ? disk_->answer_key() : tier::random_secret());
}

cache::RoomFor ServedModel::room_with(const serve::SchedulerOptions& settings) {
  cache::RoomInput input;
  input.shape = model_.engine->shape();
  if (model_.companion != nullptr) input.companion = model_.companion->shape();
  input.context = model_.engine->context_tokens();
  input.step = std::min(settings.grid_step, model_.engine->chunk_tokens_max());
  input.memory = settings.cache.memory.budget;
  if (disk_) input.disk = disk_->tier().status().budget;
  return cache::room_for(input);
}

cache::TokenHistory* ServedModel::history() {
  return options_.reuse.token_history ? &history_ : nullptr;
}

std::shared_ptr<const api::Backend> ServedModel::backend(
    std::shared_ptr<tier::FileSystem> slot_files) {
  auto backend = std::make_shared<api::Backend>();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::vector<std::string>& aliases = options_.model.aliases;
  backend->text = model_.text;
  backend->scheduler = &*scheduler_;
  backend->space_of = [facts = fingerprint_](const std::string& tenant) {
    return facts.space(tenant);
  };
  backend->slot_files = std::move(slot_files);
  if (disk_) backend->responses = disk_->responses();
  backend->history = history();
  backend->events = watchers_.events;
  if (model_.embedder != nullptr)
    backend->embeddings = std::make_shared<api::EmbeddingDesk>(
        model_.embedder,
        api::EmbeddingDesk::Options{options_.embedding.norm,
                                    static_cast<std::size_t>(options_.server.queue_max)});
  backend->answer_ids = answer_ids_ ? &*answer_ids_ : nullptr;
  backend->shape = model_.engine->shape();
  backend->room = room_;
  backend->slots = model_.engine->slot_count();
  backend->context_tokens = model_.engine->context_tokens();
  backend->batch_tokens = options_.context.batch_size;
  backend->aliases = aliases;
  backend->tags = options_.model.tags;
  backend->open.slots = options_.server.slots;
  backend->open.props = options_.server.props;
  backend->keep_alive_every = ping_every(options_.server);
  backend->model_name =
      aliases.empty() ? model_.text->card().name : *std::ranges::min_element(aliases);
  backend->build = build_name();
  backend->fingerprint = llama::llama_build_name() + " " + build_name();
  backend->engine = [this] { return engine_.standing(); };
  backend->loaded_at = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  backend->defaults = chat_defaults(options_, model_);
  backend->defaults.keep_attribution = options_.chat.keep_attribution;
  if (options_.chat.reasoning != OnOffAuto::kAuto) {
    backend->enable_thinking = options_.chat.reasoning == OnOffAuto::kOn;
  }
  return backend;
}

void ServedModel::announce(double load_seconds) const {
  const engine::ModelCard& card = model_.text->card();
  env::Log::info("model " + card.name,
                 {{"architecture", card.architecture},
                  {"parameters", std::to_string(card.parameters / 1000000) + "M"},
                  {"type", card.file_type},
                  {"size", human_bytes(static_cast<ByteCount>(card.size_bytes))},
                  {"seconds", static_cast<double>(static_cast<int>(load_seconds * 100)) / 100}});
  announce_engine();
  if (model_.embedder != nullptr) {
    env::Log::info("embeddings", {{"dimensions", model_.embedder->dimensions()},
                                  {"tokens_per_text", model_.embedder->text_tokens_max()}});
    return;
  }
  announce_states();
  announce_drafts();
}

void ServedModel::announce_engine() const {
  const engine::EngineStanding standing = engine_.standing();
  env::Log::info("engine " + standing.version, {{"cpu_variant", standing.setting.cpu_variant}});
  const std::string words = engine::standing_in_words(standing);
  standing.given_up.empty() ? env::Log::info(words) : env::Log::warn(words);
}

void ServedModel::announce_states() const {
  const StateShape& shape = model_.engine->shape();
  const int slots = model_.engine->slot_count();
  const TokenPos context = model_.engine->context_tokens();
  const ByteCount state =
      (shape.bytes_per_token() * static_cast<ByteCount>(context) + shape.bytes_per_snapshot()) *
      static_cast<ByteCount>(slots);
  env::Log::info("state: " + shape.describe());
  env::Log::info("slots", {{"count", slots},
                           {"context", context},
                           {"trained", model_.text->card().context_train},
                           {"memory", human_bytes(state)}});
  const Exactness exact = options_.context.exact;
  if (exact == Exactness::kPrompt) env::Log::info("exact: prompts have the bits of a fresh start");
  if (exact == Exactness::kAll)
    env::Log::info("exact: prompts and answers have the bits of a fresh start");
  const ByteCount budget = scheduler_->cache_commands().status().budget;
  env::Log::info(budget == 0 ? "cache: off, only slots are continued"
                             : "cache: up to " + human_bytes(budget) + " of memory for states");
  if (disk_) disk_->announce();
  if (const std::string room = cache::room_in_words(room_); !room.empty()) env::Log::info(room);
  for (const std::string& warning : cache::room_warnings(room_)) env::Log::warn(warning);
}

void ServedModel::announce_drafts() const {
  if (!model_.companion_note.empty()) env::Log::warn(model_.companion_note);
  if (!options_.drafts.synthetic.empty())
    env::Log::warn("--spec-synth-rates: answers are meaningless, this is for benchmarks only");
  if (model_.companion == nullptr) return;
  env::Log::info("drafts: " + std::string(model_.companion->name()),
                 {{"most", model_.engine->decode_tokens_max() - 1}});
}

void ServedModel::stop(const std::function<bool()>& interrupted) {
  scheduler_->stop(serve::StopMode::kFinish);
  if (disk_) disk_->finish(interrupted);
}

}  // namespace holdfast::cli
