#include "api/response_keeper.h"

#include <gtest/gtest.h>

#include "tier/testing/simulated_files.h"

namespace holdfast::api {
namespace {

class HandClock final : public env::Clock {
 public:
  TimePoint now() const override { return now_; }
  void advance(std::chrono::seconds by) { now_ += by; }

 private:
  TimePoint now_{};
};

StoredResponse response(const std::string& id, std::size_t bytes = 100) {
  return {id, "tenant", std::string(bytes, 'x'), "{}", {{"item_" + id, "{}"}}};
}

// A store, and the keeper of its responses, joined as a server joins them.
struct Life {
  Life(tier::SimulatedFiles& files, ResponseStoreLimits limits = {})
      : store(limits), keeper(files, clock) {
    keeper.on_trouble = [this](const std::string& what) { troubles.push_back(what); };
    damaged = keeper.begin(store);
    store.listen({[this](StoredResponsePtr one) { keeper.keep(std::move(one)); },
                  [this](const std::string& id) { keeper.forget(id); }});
  }
  ~Life() {
    EXPECT_EQ(store.check(), std::vector<std::string>{});
    EXPECT_EQ(keeper.check(), std::vector<std::string>{});
  }
  [[nodiscard]] std::string ids() const {
    std::string all;
    for (const auto& one : store.all()) all += one->id;
    return all;
  }

  HandClock clock;
  ResponseStore store;
  ResponseKeeper keeper;
  std::size_t damaged = 0;
  std::vector<std::string> troubles;
};

std::size_t file_count(const tier::SimulatedFiles& files) { return files.file_paths().size(); }

TEST(ResponseKeeper, ResponsesComeBackAfterARestart) {
  tier::SimulatedFiles files;
  {
    Life life(files);
    for (const char* id : {"a", "b", "c"}) EXPECT_TRUE(life.store.put(response(id)));
    EXPECT_TRUE(life.store.remove("tenant", "b"));
  }
  Life next(files);
  EXPECT_EQ(next.ids(), "ac");
  EXPECT_EQ(*next.store.find("tenant", "a"), response("a"));
  EXPECT_EQ(next.store.find("other", "a"), nullptr) << "RSTORE-4";
  EXPECT_EQ(next.store.find_item("tenant", "item_c"), "{}");
  EXPECT_TRUE(next.store.put(response("d")));
  EXPECT_EQ(Life(files).ids(), "acd") << "in the order in which they came";
}

TEST(ResponseKeeper, TheFolderIsAsBoundedAsTheStore) {
  tier::SimulatedFiles files;
  Life life(files, {.responses_max = 3});
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(life.store.put(response("r" + std::to_string(i))));
    EXPECT_LE(file_count(files), 3U);
  }
  Life smaller(files, {.responses_max = 2});
  EXPECT_EQ(smaller.ids(), "r18r19");
  EXPECT_EQ(file_count(files), 2U);
}

TEST(ResponseKeeper, WhatIsDamagedIsReportedAndRemoved) {
  tier::SimulatedFiles files;
  {
    Life life(files);
    for (const char* id : {"a", "b"}) EXPECT_TRUE(life.store.put(response(id)));
  }
  const std::string first = files.file_paths().front();
  auto bytes = files.bytes(first);
  bytes.back() ^= std::byte{1};
  files.overwrite(first, bytes);
  ResponseStore reader;
  EXPECT_EQ(ResponseKeeper::read(files, reader), 1U);
  EXPECT_EQ(file_count(files), 2U) << "a reader changes nothing";
  Life life(files);
  EXPECT_EQ(life.damaged, 1U);
  EXPECT_EQ(life.ids(), "b");
  EXPECT_EQ(file_count(files), 1U);
}

TEST(ResponseKeeper, AFullDiskCostsDurabilityOnly) {
  tier::SimulatedFiles files;
  Life life(files);
  EXPECT_TRUE(life.store.put(response("a")));
  files.set_capacity(300);
  EXPECT_TRUE(life.store.put(response("b", 1000)));
  EXPECT_TRUE(life.store.put(response("c")));
  EXPECT_EQ(life.ids(), "abc");
  EXPECT_EQ(life.troubles.size(), 1U) << "said once";
  EXPECT_EQ(file_count(files), 1U);
  files.set_capacity(1 << 20);
  life.clock.advance(ResponseKeeper::kPauseAfterFailure);
  EXPECT_TRUE(life.store.put(response("d")));
  EXPECT_EQ(life.troubles, (std::vector<std::string>{life.troubles.front(), ""}));
  EXPECT_EQ(Life(files).ids(), "abcd") << "what was missed is there too";
}

TEST(ResponseKeeper, WhatWasMissedIsTriedAgainAtTheEnd) {
  tier::SimulatedFiles files;
  {
    Life life(files);
    files.set_capacity(10);
    EXPECT_TRUE(life.store.put(response("a")));
    files.set_capacity(1 << 20);
    life.keeper.finish();
  }
  EXPECT_EQ(Life(files).ids(), "a");
}

TEST(ResponseKeeper, ClearedNothingComesBack) {
  tier::SimulatedFiles files;
  Life life(files);
  EXPECT_TRUE(life.store.put(response("a")));
  life.store.clear(std::nullopt);
  EXPECT_TRUE(life.keeper.clear().ok());
  EXPECT_EQ(file_count(files), 0U);
  EXPECT_TRUE(life.store.put(response("b")));
  EXPECT_EQ(Life(files).ids(), "b");
}

TEST(ResponseKeeper, ARebuiltFolderGetsAll) {
  tier::SimulatedFiles files;
  tier::SimulatedFiles rebuilt;
  Life life(files);
  for (const char* id : {"a", "b"}) EXPECT_TRUE(life.store.put(response(id)));
  life.keeper.begin_in(rebuilt, life.store.all());
  life.keeper.keep(life.store.all().front());  // it was on its way
  EXPECT_EQ(file_count(rebuilt), 2U);
  EXPECT_TRUE(life.store.remove("tenant", "a"));
  EXPECT_EQ(Life(rebuilt).ids(), "b");
}

// Each call of the file system fails once, in one run after another. The store does not notice, and
// in the end the folder holds what the store holds.
TEST(ResponseKeeper, AnyCallMayFail) {
  for (std::uint64_t call = 1;; ++call) {
    SCOPED_TRACE("call " + std::to_string(call));
    tier::SimulatedFiles files;
    files.fail_at(call, EIO);
    std::string held;
    {
      Life life(files, {.responses_max = 2});
      for (const char* id : {"a", "b", "c"}) EXPECT_TRUE(life.store.put(response(id)));
      EXPECT_TRUE(life.store.remove("tenant", "b"));
      EXPECT_TRUE(life.store.put(response("d")));
      held = life.ids();
      EXPECT_EQ(held, "cd");
      life.keeper.finish();
      if (files.calls() < call) break;
    }
    files.fail_never();
    EXPECT_EQ(Life(files).ids(), held);
    EXPECT_EQ(file_count(files), 2U);
  }
}

}  // namespace
}  // namespace holdfast::api
