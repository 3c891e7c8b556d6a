// A core that cannot be finished (path_writer.h): the room that was counted on is gone, or the
// store refuses. What was there before can be brought back as before, what is of no use goes first,
// and a later turn writes it whole.
#include <gtest/gtest.h>

#include "cache/disk_tier.h"
#include "tier/disk_store.h"
#include "tier/testing/blob_maker.h"
#include "tier/testing/simulated_files.h"

namespace holdfast::cache {
namespace {

constexpr SpaceKey kSpace{3, 4};
constexpr TokenPos kBlobTokens = 64;
constexpr std::size_t kStateBytes = 4000;
constexpr ByteCount kAmple = 1 << 20;

class TurnedClock final : public env::Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return TimePoint{} + passed; }
  [[nodiscard]] std::int64_t unix_ms() const override { return passed.count(); }
  std::chrono::milliseconds passed{1'000'000};
};

enum class Refusal { kDeclines, kFails };

// A store that refuses one put, counted from 1.
class RefusingStore final : public tier::BlobStore {
 public:
  explicit RefusingStore(tier::DiskStore& store) : store_(store) {}
  void refuse(int put, Refusal how) {
    left_ = put;
    how_ = how;
  }
  [[nodiscard]] bool refused() const { return left_ == 0; }

  tier::StoreRole role() const override { return store_.role(); }
  ByteCount budget() const override { return store_.budget(); }
  const tier::StoreStats& stats() const override { return store_.stats(); }
  tier::Moment moment(std::int64_t now_ms) override { return store_.moment(now_ms); }
  Result<tier::PutAnswer> put(const tier::RowsBlob& b, tier::Moment m) override {
    return put_any(b, m);
  }
  Result<tier::PutAnswer> put(const tier::PlaceBlob& b, tier::Moment m) override {
    return put_any(b, m);
  }
  ByteCount room_for(double s, tier::Moment m) const override { return store_.room_for(s, m); }
  bool holds(const tier::BlobFacts& facts) const override { return store_.holds(facts); }
  tier::StoreMatch lookup(SpaceKey s, TokenSpan t) override { return store_.lookup(s, t); }
  Result<tier::RowsBlob> load(const tier::StoreMatch& m, const tier::RowsHit& h) override {
    return store_.load(m, h);
  }
  Result<tier::PlaceBlob> load(const tier::StoreMatch& m, const tier::PlaceHit& h) override {
    return store_.load(m, h);
  }
  void distrust(SpaceKey s, const std::string& why) override { store_.distrust(s, why); }
  bool drop_space(SpaceKey s) override { return store_.drop_space(s); }
  void drop_end(const PathEnd& end) override { store_.drop_end(end); }
  void touch(std::span<const tier::BlobKey> k, std::int64_t ms) override { store_.touch(k, ms); }
  void revalue(std::span<const tier::BlobWorth> w, tier::Moment m) override {
    store_.revalue(w, m);
  }
  ByteCount shrink_to(ByteCount b, std::int64_t ms) override { return store_.shrink_to(b, ms); }

 private:
  template <typename AnyBlob>
  Result<tier::PutAnswer> put_any(const AnyBlob& blob, tier::Moment moment) {
    if (left_ <= 0 || --left_ > 0) return store_.put(blob, moment);
    if (how_ == Refusal::kFails) return Error{ErrorCode::kIo, "refused", {}};
    return tier::PutAnswer::kDeclined;
  }

  tier::DiskStore& store_;
  int left_ = -1;
  Refusal how_ = Refusal::kDeclines;
};

// A conversation as memory holds it, with places at multiples of a hundred tokens.
class Talk {
 public:
  explicit Talk(Token first) : maker_(kSpace, tier::counting(600, first)) {}

  // A turn that ends at `length`, and of which memory has these other places.
  KeptPath turn(TokenPos length, const std::vector<PlaceOutline>& others = {}) {
    KeptPath path;
    path.space = kSpace;
    path.keys.assign(maker_.path().begin(), maker_.path().begin() + length);
    rows_ = maker_.rows({0, length}).rows;
    for (const BlockUse& use : rows_) path.rows.push_back({use.block, use.range});
    path.bytes_per_token = 3;
    for (const PlaceOutline& other : others) add(path, other.position, other.role);
    add(path, length, PlaceRole::kGoesOn);
    return path;
  }
  [[nodiscard]] const Tokens& tokens() const { return maker_.path(); }

 private:
  void add(KeptPath& path, TokenPos position, PlaceRole role) {
    places_.push_back(maker_.place(position, {}, kStateBytes));
    path.places.push_back({.position = position,
                           .snapshot = places_.back().snapshot,
                           .role = role,
                           .bytes = kStateBytes});
  }
  tier::BlobMaker maker_;
  std::vector<BlockUse> rows_;
  std::vector<tier::PlaceBlob> places_;
};

class DeclinedCore : public ::testing::Test {
 protected:
  void open(ByteCount budget) {
    tier_.reset();
    refusing_.reset();
    store_.reset();
    auto opened = tier::DiskStore::open(files_, {.budget = budget}, clock_.unix_ms());
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    store_ = std::move(*opened);
    refusing_.emplace(*store_);
    DiskTierOptions options;
    options.blob_tokens = kBlobTokens;
    tier_.emplace(*refusing_, nullptr, clock_, options);
  }
  void start_over(ByteCount budget) {
    if (store_) store_->shrink_to(0, clock_.unix_ms());
    open(budget);
  }
  void pass_a_minute() { clock_.passed += std::chrono::minutes(1); }
  void write(KeptPath path) {
    pass_a_minute();
    tier_->persist(std::move(path));
    finish();
  }
  void finish() {
    while (tier_->work()) {
      EXPECT_EQ(tier_->check(), std::vector<std::string>{});
    }
    EXPECT_EQ(store_->check(), std::vector<std::string>{});
  }

  // From how far on a prompt of this conversation would go on, everything read and verified.
  TokenPos restorable(const Talk& talk) {
    const tier::StoreMatch match = store_->lookup(kSpace, talk.tokens());
    TokenPos end = 0;
    for (const tier::PlaceHit& place : match.places) {
      if (place.position > match.covered) break;
      EXPECT_TRUE(store_->load(match, place).ok());
      end = place.position;
    }
    for (const tier::RowsHit& rows : match.rows) EXPECT_TRUE(store_->load(match, rows).ok());
    return end;
  }
  // Bytes along this conversation that are worth something and that no place stands on.
  ByteCount useless_bytes(const Talk& talk) {
    const tier::StoreMatch match = store_->lookup(kSpace, talk.tokens());
    const TokenPos end = restorable(talk);
    ByteCount bytes = 0;
    for (const tier::RowsHit& rows : match.rows) {
      if (rows.range.begin >= end && rows.saves > 0) bytes += rows.bytes;
    }
    for (const tier::PlaceHit& place : match.places) {
      if (place.position > end && place.saves > 0) bytes += place.bytes;
    }
    return bytes;
  }
  // Of the rows that are needed to go on from there, what the least saves.
  std::uint64_t least_worth_of_use(const Talk& talk) {
    std::uint64_t least = restorable(talk) > 0 ? UINT64_MAX : 0;
    for (const tier::RowsHit& rows : store_->lookup(kSpace, talk.tokens()).rows) {
      if (rows.range.begin < restorable(talk)) least = std::min(least, rows.saves);
    }
    return least;
  }
  // What a conversation takes that need not choose.
  ByteCount bytes_of(KeptPath path) {
    start_over(kAmple);
    write(std::move(path));
    return store_->stats().bytes();
  }

  tier::SimulatedFiles files_;
  TurnedClock clock_;
  std::unique_ptr<tier::DiskStore> store_;
  std::optional<RefusingStore> refusing_;
  std::optional<DiskTier> tier_;
};

const std::vector<PlaceOutline> kPlaces = {
    {100, 0, PlaceRole::kShared}, {300, 0, PlaceRole::kWaypoint}, {400, 0, PlaceRole::kWaypoint}};

// Every put of a core in turn is refused, the last place's included.
TEST_F(DeclinedCore, WhateverIsRefusedLeavesNothingUselessAndTheNextTurnIsWhole) {
  for (const Refusal how : {Refusal::kDeclines, Refusal::kFails}) {
    int put = 1;
    for (;; ++put) {
      SCOPED_TRACE("put " + std::to_string(put) + (how == Refusal::kFails ? " fails" : ""));
      start_over(kAmple);
      Talk before(0), talk(1000);
      write(before.turn(300));
      refusing_->refuse(put, how);
      write(talk.turn(500, kPlaces));
      if (!refusing_->refused()) break;
      EXPECT_EQ(restorable(before), 300);
      EXPECT_EQ(useless_bytes(talk), 0U);
      EXPECT_EQ(least_worth_of_use(talk) > 0, restorable(talk) > 0);
      // Of a core that is not whole no waypoints are written.
      const std::size_t places = store_->lookup(kSpace, talk.tokens()).places.size();
      EXPECT_TRUE(restorable(talk) == 500 || places <= 1) << places << " places";
      write(talk.turn(550, kPlaces));
      EXPECT_EQ(restorable(talk), 550);
      EXPECT_EQ(store_->lookup(kSpace, talk.tokens()).covered, 550);
      EXPECT_EQ(restorable(before), 300);
    }
    EXPECT_GT(put, 8 + 2) << "eight blobs of rows and two places are the core";
  }
}

// Another conversation is wanted while this one is written: it does not make way any more.
TEST_F(DeclinedCore, RoomThatIsGoneHalfWayCostsOnlyThisConversation) {
  Talk wanted(0), talk(1000);
  const ByteCount other = bytes_of(wanted.turn(300));
  const ByteCount all = bytes_of(talk.turn(500));
  start_over(other + all / 2);
  write(wanted.turn(300));
  pass_a_minute();
  tier_->persist(talk.turn(500));
  ASSERT_TRUE(tier_->work());  // the first of its rows
  pass_a_minute();
  tier::StoreMatch match = store_->lookup(kSpace, wanted.tokens());
  ColdChoice choice;
  choice.position = 300;
  choice.place = match.places.back();
  choice.rows = match.rows;
  const auto brought = tier_->bring(std::move(match), std::move(choice));
  finish();
  ASSERT_TRUE(brought->ready() && brought->value().all);
  EXPECT_EQ(restorable(wanted), 300);
  EXPECT_EQ(restorable(talk), 0);
  EXPECT_EQ(useless_bytes(talk), 0U);
  clock_.passed += std::chrono::hours(10);
  write(talk.turn(500));
  EXPECT_EQ(restorable(talk), 500);
}

// The turn before is not a mere waypoint until this one is there: whoever needs room next takes
// that of what was left half-way.
TEST_F(DeclinedCore, TheTurnBeforeKeepsItsWorthUntilThisOneIsThere) {
  for (const Refusal how : {Refusal::kDeclines, Refusal::kFails}) {
    Talk talk(0), next(1000), last(2000);
    const ByteCount first = bytes_of(talk.turn(300));
    const ByteCount other = bytes_of(next.turn(100));
    start_over(first + other + 1800);
    write(talk.turn(300));
    refusing_->refuse(3, how);
    write(talk.turn(500));
    ASSERT_TRUE(refusing_->refused());
    EXPECT_EQ(restorable(talk), 300);
    ASSERT_GT(store_->stats().bytes(), first) << "something was left";
    write(next.turn(100));
    EXPECT_EQ(restorable(next), 100);
    EXPECT_EQ(restorable(talk), 300);
    write(last.turn(100));
    EXPECT_EQ(restorable(talk), 300) << "a short one is worth less";
  }
}

// A place of this path that memory has no more was counted as room, so it makes way.
TEST_F(DeclinedCore, APlaceThatMemoryDroppedMakesWayForItsNextTurn) {
  Talk talk(0);
  const ByteCount all = bytes_of(talk.turn(500));
  start_over(all + 1500);
  write(talk.turn(300));
  write(talk.turn(500));
  EXPECT_EQ(restorable(talk), 500);
}

}  // namespace
}  // namespace holdfast::cache
