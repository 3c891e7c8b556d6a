// A server on the fake engine with all that can happen to one, recorded: for tests of recordings.
//
// Conversations that go on, branch and come back on few slots, with little memory; several
// tenants; requests that are cancelled, late, refused reuse or sent to one slot; tool calls; the
// cache cleared; slots saved, restored and erased; an engine that refuses and fails; a companion
// with a state of its own; a tier below memory, with states of another engine in it. A seed decides
// everything.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "record/recorder.h"
#include "serve/testing/scheduler_fixture.h"
#include "tier/disk_store.h"
#include "tier/testing/simulated_files.h"

namespace holdfast::serve {

struct TrafficOptions {
  engine::FakeKind kind = engine::FakeKind::kHybrid;
  Exactness exact = Exactness::kOff;
  bool companion = false;
  bool faults = false;
  bool lower = false;
  bool private_form = false;
  int wrong_after =
      0;  // states saved later than this many are wrong, and all restores are proved; 0: none
  int requests = 300;
  ByteCount budget = 12 << 10;
  unsigned seed = 1;
  std::uint64_t tokens_max = record::kRecordedTokensMax;
};

// Each look takes a little time, as much as the seed says.
class TickingClock final : public env::Clock {
 public:
  explicit TickingClock(unsigned seed) : random_(seed) {}
  [[nodiscard]] TimePoint now() const override {
    now_ += std::chrono::nanoseconds(random_() % 3'000'000);
    return now_;
  }
  [[nodiscard]] std::int64_t unix_ms() const override {
    const auto passed = now_.time_since_epoch();
    return 1'700'000'000'000 +
           std::chrono::duration_cast<std::chrono::milliseconds>(passed).count();
  }
  void advance(std::chrono::milliseconds by) { now_ += by; }

 private:
  mutable std::minstd_rand random_;
  mutable TimePoint now_{};
};

// Keeps rows and something at each place, forgets now and then, and drafts badly.
class ForgetfulCompanion final : public engine::Companion {
 public:
  explicit ForgetfulCompanion(unsigned seed) : random_(seed) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "forgetful"; }
  [[nodiscard]] engine::CompanionShape shape() const noexcept override { return {8, 24}; }
  [[nodiscard]] engine::Followed follow(SlotId,
                                        const engine::CompanionPoint& point) noexcept override {
    const TokenPos length = length_of(point.tokens);
    if (length == 0 || random_() % 3 != 0) return {length, length / 2, nullptr};
    return {length / 2, 0, "It forgot the rest."};
  }
  void advance(SlotId, TokenSpan, TokenPos) noexcept override {}
  void draft(std::span<engine::DraftWish> wishes) noexcept override {
    for (engine::DraftWish& wish : wishes) {
      if (random_() % 2 == 0) wish.draft = {wish.next, wish.next};
    }
  }
  [[nodiscard]] engine::CompanionSaved save(SlotId, std::span<const TokenRange> blocks,
                                            TokenPos) noexcept override {
    engine::CompanionSaved saved;
    for (const TokenRange& block : blocks) {
      const auto tokens = static_cast<std::size_t>(random_() % 4 == 0 ? 0 : block.length());
      saved.rows.push_back(CheckedBytes::of(StateBytes(tokens * 8, std::byte{1})));
    }
    saved.place = CheckedBytes::of(StateBytes(random_() % 4 == 0 ? 0 : 24, std::byte{2}));
    return saved;
  }

 private:
  std::minstd_rand random_;
};

class MemorySink final : public record::RecordingSink {
 public:
  [[nodiscard]] Result<void> write(std::string more) override {
    bytes += more;
    return {};
  }
  std::string bytes;
};

class RecordedTraffic {
 public:
  explicit RecordedTraffic(const TrafficOptions& options)
      : options_(options), random_(options.seed), clock_(options.seed), companion_(options.seed) {
    record::RecorderOptions recording;
    recording.private_form = options.private_form;
    recording.build = "holdfast test";
    recording.tokens_max = options.tokens_max;
    recorder_.emplace(sink_, recording);
    recorder_->on_stopped = [this](const std::string& why) { stopped = why; };
    engine::FakeOptions fake;
    fake.kind = options.kind;
    fake.slots = 3;
    fake.context_tokens = 1536;
    fake.rollback_depth = 2;
    fake.faults = [this](engine::FakeOperation operation) {
      const bool reads = operation == engine::FakeOperation::kPrefill;
      if (options_.lower && reads) clock_.advance(std::chrono::milliseconds(20));
      const bool saves = operation == engine::FakeOperation::kSave && options_.wrong_after > 0;
      if (saves && ++saves_ > options_.wrong_after) return engine::FakeFault::kWrong;
      return options_.faults ? fault(operation) : engine::FakeFault::kNone;
    };
    engine_.emplace(fake);
    if (options.lower) open_lower();
    SchedulerOptions scheduling;
    scheduling.exact = options.exact;
    scheduling.deterministic_draft = options.companion ? 2 : 0;
    scheduling.grid_step = 64;
    scheduling.queue_max = 256;
    scheduling.may_prewarm = [] { return true; };
    if (options.wrong_after > 0) {
      scheduling.proofs = {.share = 1.0, .exact = prompts_are_exact(options.exact)};
    }
    // More than the budget holds, so that slots keep some of their own.
    scheduling.cache.slot_snapshots = 1000;
    scheduling.cache.memory.budget =
        options.kind == engine::FakeKind::kRecurrent ? options.budget / 24 : options.budget;
    scheduling.cache.memory.ghost_tokens_max = 20'000;
    scheduling.cache.fingerprint = "f00d";
    scheduling.cache.names_foreign = options.lower;
    SchedulerParts parts;
    parts.companion = options.companion ? &companion_ : nullptr;
    parts.lower = lower_ ? &*lower_ : nullptr;
    parts.journal = &*recorder_;
    scheduler_.emplace(*engine_, text_, scheduling, clock_, parts);
  }

  // The recording.
  const std::string& run() {
    for (int i = 0; i < options_.requests; ++i) {
      submit(next_prompt());
      for (auto rounds = pick(16); rounds > 0; --rounds) run_round();
      disturb();
    }
    for (int i = 0; i < 20'000 && !idle(); ++i) run_round();
    EXPECT_TRUE(idle());
    scheduler_->idle_work().keep_states();
    EXPECT_EQ(scheduler_->check(), std::vector<std::string>{});
    recorder_->finish();
    return sink_.bytes;
  }

  [[nodiscard]] const Scheduler& scheduler() const { return *scheduler_; }
  // All that anybody said: prompts and names, none of which a private recording may hold.
  std::vector<std::string> said;
  std::vector<Tokens> prompts;
  std::string stopped;

 private:
  struct Conversation {
    std::string text;
    int tenant = 0;
    std::shared_ptr<Recorder> latest;  // what its client saw
    std::string id;                    // of that request
  };

  void open_lower() {
    tier::DiskOptions disk;
    disk.budget = 8 << 20;
    disk.stored_depths = known_;
    auto opened = tier::DiskStore::open(files_, disk, clock_.unix_ms());
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    store_ = std::move(*opened);
    // So slow that fronts are read meanwhile.
    lower_.emplace(*store_, known_, clock_,
                   cache::DiskTierOptions{.blob_tokens = 64, .bytes_per_ms = 60.0});
    foreign_.add("engine", "another");
    lower_->set_foreign(cache::ForeignStates({{foreign_, "another engine", "--other", false}}));
  }

  // As if another engine had read some of the prompts.
  void read_elsewhere(const GenerateRequest& request) {
    if (!lower_ || count_ % 4 != 0) return;
    tier::PathNamer names(foreign_.space(request.tenant));
    names.append(request.prompt);
    known_->add(names.anchors().back(), length_of(request.prompt));
  }

  unsigned pick(unsigned count) { return static_cast<unsigned>(random_() % count); }
  bool chance(unsigned one_in) { return pick(one_in) == 0; }

  engine::FakeFault fault(engine::FakeOperation operation) {
    if (!chance(40)) return engine::FakeFault::kNone;
    switch (operation) {
      case engine::FakeOperation::kTruncate: return engine::FakeFault::kRefuse;
      case engine::FakeOperation::kSave:
        return chance(2) ? engine::FakeFault::kFail : engine::FakeFault::kCorrupt;
      default: return chance(4) ? engine::FakeFault::kFail : engine::FakeFault::kNone;
    }
  }

  std::string words(unsigned count) {
    std::string text;
    for (unsigned i = 0; i < count; ++i) text += "word" + std::to_string(pick(5000)) + " ";
    return text;
  }

  // A conversation goes on, goes back, or begins.
  Conversation& next_prompt() {
    if (talks_.size() < 3 || chance(9)) {
      Conversation talk;
      talk.tenant = static_cast<int>(pick(2));
      talk.text = "<s>system: you are machine number " + std::to_string(pick(2)) + "</s>";
      if (talks_.size() == 8) talks_.erase(talks_.begin());
      talks_.push_back(talk);
    }
    Conversation& talk = talks_[pick(static_cast<unsigned>(talks_.size()))];
    if (talk.latest != nullptr && talk.latest->finished_) talk.text += talk.latest->text_ + "</s>";
    if (talk.text.size() > 900) talk.text.resize(talk.text.rfind("<s>", 300));
    talk.text += "<s>user: " + words(2 + pick(12)) + "</s><s>";
    return talk;
  }

  void submit(Conversation& talk) {
    GenerateRequest request;
    request.id = "generation-" + std::to_string(++count_);
    request.response = "response-" + std::to_string(count_);
    request.tenant = "tenant-of-" + std::to_string(talk.tenant);
    request.client = request.tenant;
    request.session = "session-of-" + std::to_string(talk.tenant);
    request.agent_session = talk.tenant == 0;  // what begins beside its long ones is a one-off
    request.space = {7, static_cast<std::uint64_t>(talk.tenant) + 100};
    request.prompt = text_.tokenize(talk.text, true, true);
    request.spans = spans_of(request.prompt);
    if (chance(2)) request.header_end = length_of(request.prompt) - 1;
    request.sampler = std::move(text_.make_sampler({}, nullptr).value());
    request.max_tokens = static_cast<TokenPos>(pick(12));
    request.reuse = !chance(15);
    if (chance(10)) request.slot = SlotId{static_cast<int>(pick(3))};
    if (chance(20)) request.timeout = std::chrono::milliseconds(60);
    said.push_back(talk.text);
    said.push_back(request.tenant);
    said.push_back(request.session);
    said.push_back(request.id);
    said.push_back(request.response);
    prompts.push_back(request.prompt);
    read_elsewhere(request);
    auto client = std::make_shared<Recorder>();
    request.sink = client;
    const std::string id = request.id;
    if (!scheduler_->submit(std::move(request)).ok()) return;
    talk.latest = client;
    talk.id = id;
    clients_.emplace_back(id, client);
  }

  static std::vector<MessageSpan> spans_of(const Tokens& prompt) {
    std::vector<MessageSpan> spans;
    TokenPos begin = 0;
    for (TokenPos i = 0; i < length_of(prompt); ++i) {
      if (prompt[static_cast<std::size_t>(i)] != engine::kFakeTurnEnd) continue;
      spans.push_back({spans.empty() ? Role::kSystem : Role::kUser, begin, i + 1});
      begin = i + 1;
    }
    return spans;
  }

  // Its history will be what was said since, or something else.
  void read_ahead() {
    for (const Conversation& talk : talks_) {
      if (talk.latest == nullptr || !talk.latest->finished_ || !chance(2)) continue;
      PrewarmPrompt next;
      next.request = talk.id;
      next.space = {7, static_cast<std::uint64_t>(talk.tenant) + 100};
      next.prompt = text_.tokenize(talk.text + words(pick(8)) + "</s>", true, true);
      next.spans = spans_of(next.prompt);
      next.prepared = scheduler_->prepare(next.prompt, next.space, true);
      prompts.push_back(next.prompt);
      scheduler_->offer_prewarm({next.request, [this, next] { scheduler_->prewarm(next); }});
    }
    for (int times = 0; times < 2; ++times) {
      scheduler_->run_round();
      int pieces = 1 + static_cast<int>(pick(6));
      scheduler_->idle_work().read_ahead([&] { return pieces-- == 0; });
    }
  }

  void run_round() {
    scheduler_->run_round();
    if (lower_ && chance(2)) lower_->work();
    if (options_.wrong_after > 0) {
      scheduler_->idle_work().keep_states();
      scheduler_->idle_work().prove([] { return false; });
    }
  }

  void disturb() {
    const auto lately = std::min<std::size_t>(clients_.size(), 8);
    const auto& [id, client] = clients_[clients_.size() - 1 - pick(static_cast<unsigned>(lately))];
    if (chance(6)) scheduler_->cancel(id);
    if (chance(5)) scheduler_->note_tool_call(id);
    if (chance(60)) scheduler_->cache_commands().clear([](const Result<ByteCount>&) {});
    if (chance(8)) scheduler_->idle_work().keep_states();
    if (chance(3)) read_ahead();
    if (chance(7)) clock_.advance(std::chrono::seconds(pick(30)));
    const SlotAsk ask{SlotId{static_cast<int>(pick(3))}, {7, 100 + pick(2)}, nullptr};
    if (chance(12)) scheduler_->slot_commands().erase(ask, [](const Result<TokenPos>&) {});
    if (chance(12)) {
      scheduler_->slot_commands().save(ask, [this](Result<SlotCopy> copy) {
        if (copy) saved_ = std::make_shared<const cache::SlotState>(std::move(copy->state));
      });
    }
    if (saved_ != nullptr && chance(8)) {
      const SlotAsk theirs{ask.slot, saved_->space, nullptr};
      scheduler_->slot_commands().restore(theirs, saved_, [](const Result<SlotBrought>&) {});
    }
  }

  [[nodiscard]] bool idle() const {
    for (const auto& [id, client] : clients_) {
      if (!client->ended()) return false;
    }
    return true;
  }

  const TrafficOptions options_;
  int saves_ = 0;
  std::minstd_rand random_;
  TickingClock clock_;
  ForgetfulCompanion companion_;
  MemorySink sink_;
  std::optional<record::CacheRecorder> recorder_;
  engine::FakeText text_;
  std::optional<engine::FakeEngine> engine_;
  tier::SimulatedFiles files_;
  std::shared_ptr<tier::StoredDepths> known_ = std::make_shared<tier::StoredDepths>();
  std::unique_ptr<tier::DiskStore> store_;
  cache::Fingerprint foreign_;
  std::optional<cache::DiskTier> lower_;
  std::optional<Scheduler> scheduler_;
  std::vector<Conversation> talks_;
  std::vector<std::pair<std::string, std::shared_ptr<Recorder>>> clients_;
  std::shared_ptr<const cache::SlotState> saved_;
  int count_ = 0;
};

}  // namespace holdfast::serve
