#include "cache/disk_tier.h"

#include <gtest/gtest.h>

#include <future>
#include <utility>

#include "base/hash.h"
#include "tier/disk_store.h"
#include "tier/testing/blob_maker.h"
#include "tier/testing/simulated_files.h"

namespace holdfast::cache {
namespace {

constexpr SpaceKey kSpace{3, 4};

// States of one path, as memory holds them.
struct Held {
  Held(Tokens path, std::vector<TokenPos> positions) : keys(std::move(path)) {
    const tier::BlobMaker maker(kSpace, keys);
    rows = maker.rows({0, length_of(keys)}).rows;
    for (const TokenPos position : positions) places.push_back(maker.place(position));
  }
  [[nodiscard]] KeptPath path() const {
    KeptPath path;
    path.space = kSpace;
    path.keys = keys;
    for (const BlockUse& use : rows) path.rows.push_back({use.block, use.range});
    for (const tier::PlaceBlob& place : places) {
      path.places.push_back({.position = place.path.range.end,
                             .snapshot = place.snapshot,
                             .marks = place.marks,
                             .bytes = 40});
    }
    path.bytes_per_token = 3;
    return path;
  }

  Tokens keys;
  std::vector<BlockUse> rows;
  std::vector<tier::PlaceBlob> places;
};

class DiskTierTest : public ::testing::Test {
 protected:
  void open(DiskTierOptions options = {}) {
    tier_.reset();
    known_ = std::make_shared<tier::StoredDepths>();
    tier::DiskOptions disk;
    disk.budget = 1 << 20;
    disk.stored_depths = known_;
    store_.reset();
    auto opened = tier::DiskStore::open(files_, disk, 1000);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    store_ = std::move(*opened);
    options.blob_tokens = 64;
    options.rest = std::chrono::milliseconds(0);
    tier_.emplace(*store_, known_, clock_, options);
    tier_->on.news = [this] {
      const std::lock_guard lock(mutex_);
      ++news_;
      changed_.notify_all();
    };
  }
  bool flush() {
    return tier_->flush([](ByteCount) { return true; }).all();
  }
  // The thread starts inside of the flush, which tells of nothing that happened before it.
  Flushed flush_from_the_start() {
    bool started = false;
    return tier_->flush([&](ByteCount) {
      if (!std::exchange(started, true)) tier_->start();
      return true;
    });
  }
  template <typename T>
  T wait_for(const std::shared_ptr<Pending<T>>& answer) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return answer->ready(); });
    return std::move(answer->value());
  }

  tier::SimulatedFiles files_;
  env::SteadyClock clock_;
  std::shared_ptr<tier::StoredDepths> known_;
  std::unique_ptr<tier::DiskStore> store_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int news_ = 0;
  std::optional<DiskTier> tier_;
};

TEST_F(DiskTierTest, WhatWasKeptComesUpAsItWas) {
  open();
  tier_->start();
  const Held held(tier::counting(200), {150, 200});
  tier_->persist(held.path());
  ASSERT_TRUE(flush());
  tier::PathNamer names(kSpace);
  names.append(held.keys);
  EXPECT_EQ(tier_->deepest(names.anchors()), 200);

  tier::StoreMatch match = wait_for(tier_->look(kSpace, held.keys));
  EXPECT_EQ(match.covered, 200);
  ASSERT_EQ(match.places.size(), 2U);
  ColdChoice choice;
  choice.position = 150;
  choice.place = match.places[0];
  for (const tier::RowsHit& hit : match.rows) {
    const TokenRange wanted = intersection(hit.range, {70, 150});
    if (!wanted.empty()) choice.rows.push_back({hit.key, wanted, hit.bytes});
  }
  const Brought brought = wait_for(tier_->bring(std::move(match), std::move(choice)));
  EXPECT_TRUE(brought.all);
  EXPECT_EQ(hash_bytes(brought.snapshot->bytes()), hash_bytes(held.places[0].snapshot->bytes()));
  TokenPos reached = 70;
  for (const BlockUse& use : brought.rows) {
    EXPECT_EQ(use.range.begin, reached);
    reached = use.range.end;
  }
  EXPECT_EQ(reached, 150);
}

TEST_F(DiskTierTest, WhatMemoryDroppedIsNotWritten) {
  open();
  {
    const Held held(tier::counting(200), {200});
    tier_->persist(held.path());
  }
  while (tier_->work()) {
  }
  EXPECT_EQ(store_->stats().blobs(), 0U);
  EXPECT_GT(tier_->status().lost, 0U);
}

TEST_F(DiskTierTest, APathThatGoesOnTakesThePlaceOfItsBeginning) {
  open();
  const Held shorter(tier::counting(100), {100});
  const Held longer(tier::counting(200), {200});
  const Held other(tier::counting(100, 7), {100});
  tier_->persist(shorter.path());
  tier_->persist(other.path());
  tier_->persist(longer.path());
  EXPECT_EQ(tier_->status().paths_waiting, 2U);
  EXPECT_EQ(tier_->check(), std::vector<std::string>{});
  tier_->persist(shorter.path());  // it may hold a place that the longer one has not
  EXPECT_EQ(tier_->status().paths_waiting, 3U);
  EXPECT_EQ(tier_->check(), std::vector<std::string>{});
}

TEST_F(DiskTierTest, OnlySoManyPathsWait) {
  DiskTierOptions options;
  options.paths_max = 3;
  open(options);
  std::vector<Held> all;
  for (Token i = 0; i < 5; ++i)
    all.emplace_back(tier::counting(80, 100 * i), std::vector<TokenPos>{80});
  for (const Held& held : all) tier_->persist(held.path());
  EXPECT_EQ(tier_->status().paths_waiting, 3U);
  EXPECT_EQ(tier_->status().paths_lost, 2U);
  EXPECT_EQ(tier_->check(), std::vector<std::string>{});
}

// Cores first: the waypoints of several paths wait, and no more paths than may, each until one that
// goes on from it is begun.
TEST_F(DiskTierTest, PATHWRITER2WaypointsWaitForCores) {
  DiskTierOptions options;
  options.paths_max = 2;
  open(options);
  std::vector<Held> all;
  for (Token i = 0; i < 3; ++i) {
    all.emplace_back(tier::counting(200, 1000 * i), std::vector<TokenPos>{70, 140, 200});
  }
  all.emplace_back(tier::counting(300, 2000), std::vector<TokenPos>{210, 250, 300});
  for (const Held& held : all) {
    KeptPath path = held.path();
    for (KeptPlace& place : path.places) place.role = PlaceRole::kWaypoint;
    path.places.back().role = PlaceRole::kGoesOn;
    tier_->persist(std::move(path));
    for (int i = 0; i < 5; ++i) {  // four of rows and the place; of the last one a row is left
      ASSERT_TRUE(tier_->work());
      EXPECT_EQ(tier_->check(), std::vector<std::string>{});
    }
  }
  EXPECT_EQ(store_->stats().place_blobs, 3U);
  while (tier_->work()) EXPECT_EQ(tier_->check(), std::vector<std::string>{});
  // Of the first path no waypoints, because two others wait, and of the third those that are its
  // next turn's.
  EXPECT_EQ(store_->stats().place_blobs, 4U + 2 + 2);
}

TEST_F(DiskTierTest, NothingIsWrittenTwice) {
  open();
  const Held held(tier::counting(200), {200});
  for (int i = 0; i < 3; ++i) {
    tier_->persist(held.path());
    while (tier_->work()) EXPECT_EQ(tier_->check(), std::vector<std::string>{});
  }
  EXPECT_EQ(store_->stats().stored, 5U);  // four of rows, and the place
}

TEST_F(DiskTierTest, AFlushSaysWhatWasNotWritten) {
  open();
  const Held first(tier::counting(200), {200});
  const Held second(tier::counting(200, 1000), {200});
  tier_->persist(first.path());
  tier_->persist(second.path());
  files_.set_capacity(100);
  const Flushed failed = flush_from_the_start();
  EXPECT_FALSE(failed.all());
  EXPECT_EQ(failed.given_up.paths, 2U);
  EXPECT_GE(failed.given_up.bytes, 2 * (200 * 3 + 40U));
  EXPECT_NE(failed.given_up.why, "");
  EXPECT_EQ(failed.waiting_bytes, 0U);

  files_.set_capacity(1 << 20);
  tier_->persist(first.path());
  const Flushed written = tier_->flush([](ByteCount) { return true; });
  EXPECT_TRUE(written.all()) << "what an earlier one has told of is not told again";
  EXPECT_EQ(store_->stats().stored, 5U);
}

TEST_F(DiskTierTest, AFlushThatIsCutSaysWhatWaits) {
  open();
  const Held held(tier::counting(200), {200});
  tier_->persist(held.path());
  const Flushed cut = tier_->flush([](ByteCount) { return false; });
  EXPECT_FALSE(cut.all());
  EXPECT_EQ(cut.waiting_bytes, held.path().bytes());
  EXPECT_EQ(cut.given_up, GivenUp{});
}

TEST_F(DiskTierTest, AFlushSaysWhatMemoryDroppedBeforeItWasWritten) {
  open();
  {
    const Held held(tier::counting(200), {200});
    tier_->persist(held.path());
  }
  const Flushed flushed = flush_from_the_start();
  EXPECT_FALSE(flushed.all());
  EXPECT_EQ(flushed.lost, 5U);  // four of rows, and the place
}

TEST_F(DiskTierTest, TroubleIsToldOnceAndEnds) {
  open();
  std::vector<std::string> told;
  tier_->on.trouble = [&](const std::string& what) { told.push_back(what); };
  const Held first(tier::counting(200), {200});
  const Held second(tier::counting(200, 1000), {200});
  files_.set_capacity(100);
  for (const Held* held : {&first, &second}) {
    tier_->persist(held->path());
    while (tier_->work()) {
    }
  }
  EXPECT_EQ(told.size(), 1U);
  files_.set_capacity(1 << 20);
  tier_->persist(first.path());
  while (tier_->work()) {
  }
  ASSERT_EQ(told.size(), 2U);
  EXPECT_NE(told[0], "");
  EXPECT_EQ(told[1], "");
  EXPECT_EQ(store_->stats().stored, 5U);
}

// Asked from one thread, stopped by another, with everything under way. For the sanitizers.
TEST_F(DiskTierTest, WhatIsDistrustedIsNeitherFoundNorWritten) {
  open();
  const Held held(tier::counting(200), {150, 200});
  tier_->start();
  tier_->persist(held.path());
  ASSERT_TRUE(flush());
  EXPECT_EQ(wait_for(tier_->look(kSpace, held.keys)).covered, 200);
  // Another space, used since the start, goes with it.
  tier_->distrust({1, 2}, "it came out otherwise");
  EXPECT_EQ(wait_for(tier_->look(kSpace, held.keys)).covered, 0);
  EXPECT_EQ(tier_->check(), std::vector<std::string>{});
}

TEST_F(DiskTierTest, AnythingAtAnyTime) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::minstd_rand random(seed);
    DiskTierOptions options;
    options.paths_max = 4;
    open(options);
    tier_->start();
    std::vector<Held> all;
    for (int i = 0; i < 6; ++i) {
      const auto length = static_cast<TokenPos>(65 + random() % 200);
      all.emplace_back(tier::counting(static_cast<std::size_t>(length), 50 * static_cast<Token>(i)),
                       std::vector<TokenPos>{length});
    }
    std::vector<std::shared_ptr<Pending<tier::StoreMatch>>> looks;
    for (int i = 0; i < 60; ++i) {
      const Held& held = all[random() % all.size()];
      switch (random() % 6) {
        case 0:
        case 1: tier_->persist(held.path()); break;
        case 2: looks.push_back(tier_->look(kSpace, held.keys)); break;
        case 3: tier_->set_busy(random() % 2 == 0); break;
        case 4:
          if (!looks.empty()) looks.back()->give_up();
          break;
        default:
          if (random() % 10 == 0) tier_->clear(std::nullopt);
          EXPECT_EQ(tier_->check(), std::vector<std::string>{});
      }
    }
    std::promise<void> stopped;
    std::thread stopper([&] {
      if (seed % 2 == 0) flush();
      tier_->stop();
      stopped.set_value();
    });
    stopped.get_future().wait();
    stopper.join();
  }
}

}  // namespace
}  // namespace holdfast::cache
