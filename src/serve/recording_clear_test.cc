// A tenant's own states, dropped (DELETE /cache with its key, or one conversation), recorded and
// done again: the replay drops these and no others.
#include <gtest/gtest.h>

#include "record/recorder.h"
#include "record/replayer.h"
#include "serve/testing/recorded_traffic.h"
#include "serve/testing/scheduler_fixture.h"

namespace holdfast::serve {
namespace {

struct Way {
  const char* name;
  bool private_form;
  bool by_conversation;
};

class RecordedClears {
 public:
  explicit RecordedClears(const Way& way)
      : by_conversation_(way.by_conversation),
        recorder_(sink_, options_of(way.private_form)),
        bench_({}, with_memory(), parts()) {}

  // Two tenants ask, one drops its own, both ask again.
  const std::string& run() {
    ask("a");
    ask("b");
    by_conversation_ ? drop_conversation("a") : clear("a");
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

  void drop_conversation(const std::string& tenant) {
    std::vector<tree::NodeId> tips;
    CacheCommands& commands = bench_.scheduler.cache_commands();
    commands.list_conversations(
        8,
        [&](const Result<cache::ConversationsStatus>& held) {
          for (const auto& one : held->latest) tips.push_back(one.tip);
        },
        space_of(tenant));
    bench_.run_round();
    ASSERT_EQ(tips.size(), 1U);
    int refused = 0;
    ByteCount freed = 0;
    for (const std::string& who : {std::string("b"), tenant, tenant}) {
      commands.drop(tips[0], space_of(who), [&](const Result<ByteCount>& dropped) {
        refused += dropped ? 0 : 1;
        freed += dropped ? *dropped : 0;
      });
      bench_.run_round();
    }
    EXPECT_EQ(refused, 2) << "it is not the other's, and then it is gone";
    EXPECT_GT(freed, 0U);
  }

  const bool by_conversation_;
  MemorySink sink_;
  record::CacheRecorder recorder_;
  Bench bench_;
};

class RecordingOfAClearedSpace : public ::testing::TestWithParam<Way> {};

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

INSTANTIATE_TEST_SUITE_P(Ways, RecordingOfAClearedSpace,
                         ::testing::Values(Way{"Open", false, false}, Way{"Private", true, false},
                                           Way{"OpenByConversation", false, true},
                                           Way{"PrivateByConversation", true, true}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace holdfast::serve
