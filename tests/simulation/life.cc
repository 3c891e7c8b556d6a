#include "life.h"

#include <string>
#include <utility>

#include "trouble.h"

namespace holdfast::simulation {

namespace {

constexpr ByteCount kAmple = 64 << 20;

engine::FakeOptions with_faults(engine::FakeOptions fake, EngineFaults& faults) {
  fake.faults = [&faults](engine::FakeOperation operation) { return faults.next(operation); };
  return fake;
}

// Drafts come from a model that agrees with the large one where nothing was left out before.
engine::FakeOptions small(engine::FakeOptions fake) {
  fake.faults = nullptr;
  return fake;
}

}  // namespace

Setting choose_setting(Choices& choices) {
  using engine::FakeKind;
  Setting setting;
  setting.fake.kind = choices.one_of(
      {FakeKind::kAttention, FakeKind::kWindowed, FakeKind::kRecurrent, FakeKind::kHybrid});
  setting.fake.slots = choices.one_of({1, 2, 3, 4});
  setting.fake.context_tokens = choices.one_of({200, 512, 1024});
  setting.fake.rollback_depth = choices.one_of({0, 3, 16});
  setting.fake.snapshot_bytes = choices.one_of<ByteCount>({8, 200});
  setting.fake.decode_tokens_max = choices.one_of<TokenPos>({4, 16});
  setting.exact = choices.one_of({Exactness::kOff, Exactness::kPrompt, Exactness::kAll});
  setting.fake.chunk_sensitive = prompts_are_exact(setting.exact);
  setting.drafts = choices.once_in(2);
  setting.memory = choices.one_of<ByteCount>({0, 3 << 10, 12 << 10, 40 << 10, kAmple, kAmple});
  setting.disk = choices.one_of<ByteCount>({0, 8 << 10, 64 << 10, kAmple, kAmple});
  setting.proofs = choices.one_of({0.0, 0.0, 0.5});
  setting.slot_snapshots = choices.one_of({0, 2, 8});
  setting.checkpoints = !choices.once_in(6);
  setting.queue_max = choices.one_of<std::size_t>({3, 256, 256});
  setting.prewarm = choices.once_in(2);
  return setting;
}

std::string describe(const Setting& setting) {
  const char* const kinds[] = {"attention", "windowed", "recurrent", "hybrid"};
  const engine::FakeOptions& fake = setting.fake;
  return std::string(kinds[static_cast<int>(fake.kind)]) + ", " + std::to_string(fake.slots) +
         " slots of " + std::to_string(fake.context_tokens) + ", rollback " +
         std::to_string(fake.rollback_depth) + ", exact " + exactness_name(setting.exact) +
         (setting.drafts ? ", drafts" : "") + ", memory " + std::to_string(setting.memory) +
         ", disk " + std::to_string(setting.disk);
}

Life::Life(const Setting& setting, tier::SimulatedFiles& files, SimulatedClock& clock,
           EngineFaults& faults, Counts& counts)
    : setting_(setting),
      clock_(clock),
      counts_(counts),
      engine_(with_faults(setting.fake, faults)),
      small_(small(setting.fake)) {
  counts_.add("lives");
  if (setting.drafts) companion_.emplace(small_);
  if (setting.disk > 0 && setting.memory > 0) open_folder(files);
  serve::SchedulerParts parts;
  parts.observer = this;
  parts.companion = companion_ ? &*companion_ : nullptr;
  parts.lower = lower_ ? &*lower_ : nullptr;
  scheduler_.emplace(engine_, text_, options(), clock_, parts);
}

// The sinks of requests that are at work hear of the end.
Life::~Life() {
  scheduler_->request_stop(serve::StopMode::kAbort);
  scheduler_->run_round();
}

void Life::open_folder(tier::SimulatedFiles& files) {
  known_ = std::make_shared<tier::StoredDepths>();
  tier::DiskOptions options;
  options.budget = setting_.disk;
  options.stored_depths = known_;
  auto opened = tier::DiskStore::open(files, options, clock_.unix_ms());
  if (!opened) return counts_.add("folders that could not be opened");
  store_ = std::move(*opened);
  const bool writes = store_->role() == tier::StoreRole::kWriter;
  lower_.emplace(*store_, writes ? known_ : nullptr, clock_,
                 cache::DiskTierOptions{.blob_tokens = 64, .bytes_per_ms = 20.0});
}

serve::SchedulerOptions Life::options() const {
  serve::SchedulerOptions options;
  options.grid_step = kGridStep;
  options.queue_max = setting_.queue_max;
  options.exact = setting_.exact;
  options.deterministic_draft = setting_.fake.decode_tokens_max - 1;  // as the program does
  if (setting_.prewarm) options.may_prewarm = [] { return true; };
  options.proofs = {.share = setting_.proofs, .exact = true};
  options.cache.memory.budget = setting_.memory;
  options.cache.memory.ghost_tokens_max = 3'000;
  options.cache.slot_snapshots = setting_.slot_snapshots;
  options.cache.checkpoints = setting_.checkpoints;
  return options;
}

void Life::on_proved(const serve::Proof& proof) {
  counts_.add("proofs");
  if (!proof.equal) disproved_ = "a restored state differs: " + proof.words();
}

void Life::step(bool below) {
  if (!scheduler_->run_round()) clock_.pass(std::chrono::milliseconds(5));
  if (below && lower_) lower_->work();
}

void Life::rest() {
  read_ahead(1000);
  clock_.pass(std::chrono::milliseconds(500));
  scheduler_->idle_work().run([] { return false; });
}

void Life::read_ahead(std::size_t pieces) {
  const std::uint64_t before = scheduler_->status().prewarm.tokens;
  scheduler_->idle_work().read_ahead([&] { return pieces-- == 0; });
  counts_.add("tokens read ahead", scheduler_->status().prewarm.tokens - before);
}

void Life::settle() {
  rest();
  for (int i = 0; lower_ && i < 20; ++i) {
    clock_.pass(std::chrono::seconds(30));
    while (lower_->work()) {
    }
  }
}

void Life::check(bool sound) {
  demand(disproved_.empty(), disproved_);
  demand_none(scheduler_->check());
  demand_none(engine_.check());
  if (companion_) demand_none(companion_->check());
  const cache::CacheStatus status = scheduler_->cache_commands().status();
  demand(status.peak <= setting_.memory, "memory went beyond its budget");
  demand(status.slot_snapshots <= status.slot_snapshots_max,
         "snapshots of slots went beyond their limit");
  if (!lower_) return;
  demand_none(lower_->check());
  demand(store_->stats().bytes() <= setting_.disk, "the folder went beyond its budget");
  if (sound) demand_none(store_->check());
}

void Life::check_quiet() {
  const serve::SchedulerStatus status = scheduler_->status();
  demand(status.queued == 0, "a request waits, and nobody asks");
  for (const serve::SlotStatus& slot : status.slots) demand(!slot.busy, "a slot works for nobody");
  demand(scheduler_->cache_commands().status().pinned == 0, "states are pinned for nobody");
  demand(!scheduler_->run_round(), "there is work, and nobody asks");
}

}  // namespace holdfast::simulation
