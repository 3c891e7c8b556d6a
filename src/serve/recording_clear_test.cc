// A tenant's own states, dropped (DELETE /cache with its key), recorded and done again: the replay
// drops these and no others.
#include <gtest/gtest.h>

#include "record/recorder.h"
#include "record/replayer.h"
#include "serve/testing/recorded_traffic.h"
#include "serve/testing/scheduler_fixture.h"

namespace holdfast::serve {
namespace {

class RecordedClears {
 public:
  explicit RecordedClears(bool private_form)
      : recorder_(sink_, options_of(private_form)), bench_({}, with_memory(), parts()) {}

  // Two tenants ask, one drops its own, both ask again.
  const std::string& run() {
    ask("a");
    ask("b");
    clear("a");
    ask("a");
    ask("b");
    recorder_.finish();
    return sink_.bytes;
  }

 private:
  static record::RecorderOptions options_of(bool private_form) {
    record::RecorderOptions options;
    options.private_form = private_form;
    return options;
  }
  static SchedulerOptions with_memory() {
    SchedulerOptions options;
    options.cache.memory.budget = 1 << 20;
    return options;
  }
  SchedulerParts parts() {
    SchedulerParts made;
    made.journal = &recorder_;
    return made;
  }
  static SpaceKey space_of(const std::string& tenant) {
    return {7, static_cast<std::uint64_t>(tenant[0])};
  }

  void ask(const std::string& tenant) {
    const std::string text =
        "<s>system: a long opening that both tenants have in common</s>"
        "<s>user: and a question of some length, asked twice</s><s>";
    GenerateRequest request = bench_.request(text, 4);
    request.tenant = tenant;
    request.space = space_of(tenant);
    bench_.turn_until_ended(*bench_.submit(std::move(request)));
  }
  void clear(const std::string& tenant) {
    bool answered = false;
    bench_.scheduler.cache_commands().clear(CacheOwner{space_of(tenant), tenant},
                                            [&](const Result<ByteCount>& freed) {
                                              answered = true;
                                              EXPECT_TRUE(freed.ok());
                                            });
    bench_.run_round();
    EXPECT_TRUE(answered);
  }

  MemorySink sink_;
  record::CacheRecorder recorder_;
  Bench bench_;
};

class RecordingOfAClearedSpace : public ::testing::TestWithParam<bool> {};

TEST_P(RecordingOfAClearedSpace, ReplaysToTheSameReceipts) {
  RecordedClears traffic(GetParam());
  const auto outcome = record::replay_recording(traffic.run());
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  for (const std::string& note : outcome->notes) ADD_FAILURE() << note;
  EXPECT_TRUE(outcome->whole) << outcome->trouble;
  EXPECT_TRUE(outcome->identical());
  ASSERT_EQ(outcome->requests.size(), 4U);
  for (const std::size_t fresh : {0U, 1U, 2U}) {
    EXPECT_EQ(outcome->requests[fresh].receipt.restored, 0) << fresh;
    EXPECT_EQ(outcome->requests[fresh].replayed.restored, 0) << fresh;
  }
  EXPECT_GT(outcome->requests[3].receipt.restored, 0) << "the other tenant's are there";
  EXPECT_EQ(outcome->requests[3].replayed.restored, outcome->requests[3].receipt.restored);
}

INSTANTIATE_TEST_SUITE_P(Forms, RecordingOfAClearedSpace, ::testing::Bool(),
                         [](const auto& one) { return one.param ? "Private" : "Open"; });

}  // namespace
}  // namespace holdfast::serve
