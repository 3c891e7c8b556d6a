// Power that goes at any call, faults at every call, bytes that change on the disk: no wrong
// byte is ever loaded, no start is refused, and what was answered with kStored is there.
//
//   HOLDFAST_CRASH_SEED=n    only this run
//   HOLDFAST_CRASH_RUNS=n    more runs than usual
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "tier/disk_store.h"
#include "tier/memory_index.h"
#include "tier/testing/blob_maker.h"
#include "tier/testing/simulated_files.h"

namespace holdfast::tier {
namespace {

constexpr SpaceKey kSpace{3, 4};

// The index as a file would hold it: what the store last wrote, or something older.
class KeptIndex final : public BlobIndex {
 public:
  explicit KeptIndex(std::shared_ptr<MemoryIndex> kept) : kept_(std::move(kept)) {}
  Result<void> put(std::span<const IndexEntry> e) override { return kept_->put(e); }
  Result<void> erase(std::span<const BlobKey> k) override { return kept_->erase(k); }
  Result<void> touch(std::span<const BlobKey> k, std::int64_t n) override {
    return kept_->touch(k, n);
  }
  Result<void> revalue(std::span<const BlobWorth> w, std::int64_t n) override {
    return kept_->revalue(w, n);
  }
  Result<std::vector<IndexEntry>> along(SpaceKey s, std::span<const PathName> a) override {
    return kept_->along(s, a);
  }
  Result<std::vector<BlobSummary>> list() override { return kept_->list(); }
  Result<std::vector<SpaceTotal>> totals() override { return kept_->totals(); }
  Result<void> clear() override { return kept_->clear(); }

 private:
  std::shared_ptr<MemoryIndex> kept_;
};

// All states that there can be, by what their files hold.
class Truth {
 public:
  explicit Truth(std::mt19937& random) {
    Tokens trunk = random_tokens(250, random);
    Tokens branch = trunk;
    for (std::size_t i = 100; i < branch.size(); ++i) branch[i] = 7;
    makers_.emplace_back(kSpace, trunk);
    makers_.emplace_back(kSpace, branch);
  }
  [[nodiscard]] const BlobMaker& maker(std::size_t i) const { return makers_[i % 2]; }

  template <typename AnyBlob>
  BlobKey know(const AnyBlob& blob) {
    const BlobKey key = outline(blob)->key;
    files_[key].insert(file_of(blob));
    return key;
  }
  [[nodiscard]] bool right(const BlobKey& key, const std::vector<std::byte>& file) const {
    const auto found = files_.find(key);
    return found != files_.end() && found->second.contains(file);
  }

 private:
  std::vector<BlobMaker> makers_;
  std::map<BlobKey, std::set<std::vector<std::byte>>> files_;
};

class CrashWorld {
 public:
  explicit CrashWorld(std::uint32_t seed)
      : random_(seed), files_(seed), truth_(random_), tight_(seed % 3 == 0) {
    index_ = std::make_shared<MemoryIndex>();
  }

  // One life: open, work until power goes, come back.
  [[nodiscard]] std::string live() {
    must_.clear();
    files_.lose_power_at(files_.calls() + 1 + below(below(3) == 0 ? 40 : 250));
    if (below(4) == 0) files_.move_little();
    static_cast<void>(open());  // an Error is fine while power may go
    for (int step = 0; step < 60 && store_ && !files_.powerless(); ++step) {
      if (std::string failure = work(); !failure.empty()) return failure;
      if (below(15) == 0) older_ = std::make_shared<MemoryIndex>(*index_);
    }
    store_.reset();
    files_.restart();
    if (below(2) == 0) index_ = std::make_shared<MemoryIndex>();
    if (older_ && below(2) == 0) index_ = std::make_shared<MemoryIndex>(*older_);
    return look_around();
  }

 private:
  [[nodiscard]] std::size_t below(std::size_t end) { return random_() % end; }

  [[nodiscard]] std::string open() {
    DiskOptions options;
    options.budget = tight_ ? 4000 : 1 << 20;
    options.stored_depths = std::make_shared<StoredDepths>();
    options.make_index = [this](StoreRole) -> Result<std::unique_ptr<BlobIndex>> {
      return std::unique_ptr<BlobIndex>(std::make_unique<KeptIndex>(index_));
    };
    auto opened = DiskStore::open(files_, options, now_ms_);
    store_.reset();
    if (!opened) return opened.error().message;
    store_ = std::move(*opened);
    return {};
  }

  [[nodiscard]] std::string work() {
    now_ms_ += static_cast<std::int64_t>(below(50'000));
    switch (below(8)) {
      case 0: return remove_some();
      case 1: return look();
      case 2: static_cast<void>(store_->verify({})); return {};
      case 3:
      case 4:
      case 5: {
        const auto begin = static_cast<TokenPos>(below(240));
        const auto end = std::min<TokenPos>(250, begin + 1 + static_cast<TokenPos>(below(120)));
        return put(truth_.maker(random_()).rows({begin, end}, {}, below(2) == 0));
      }
      default: {
        const MakerOptions options{.companion = below(3) == 0, .logits = below(3) == 0};
        return put(truth_.maker(random_()).place(1 + static_cast<TokenPos>(below(250)), options));
      }
    }
  }

  template <typename AnyBlob>
  [[nodiscard]] std::string put(const AnyBlob& blob) {
    const BlobKey key = truth_.know(blob);
    const auto answer = store_->put(blob, now_ms_);
    if (answer && *answer == PutAnswer::kStored && !files_.powerless()) must_.insert(key);
    return {};
  }

  [[nodiscard]] std::string remove_some() {
    std::vector<BlobKey> keys;
    for (const BlobKey& key : must_)
      if (below(5) == 0) keys.push_back(key);
    for (const BlobKey& key : keys) must_.erase(key);
    store_->remove(keys);
    return {};
  }

  [[nodiscard]] std::string look() {
    for (std::size_t i = 0; i < 2; ++i) {
      const StoreMatch match = store_->lookup(kSpace, truth_.maker(i).path());
      for (const RowsHit& hit : match.rows) {
        const auto blob = store_->load(match, hit);
        if (blob && !truth_.right(hit.key, file_of(*blob))) return "wrong rows";
      }
      for (const PlaceHit& hit : match.places) {
        const auto blob = store_->load(match, hit);
        if (blob && !truth_.right(hit.key, file_of(*blob))) return "a wrong place";
      }
    }
    return {};
  }

  // Some bits of some files change. Returns the files, as far as they are blobs.
  void damage() {
    for (const std::string& path : files_.file_paths()) {
      if (!path.starts_with("blobs/") || below(5) != 0) continue;
      auto bytes = files_.bytes(path);
      if (bytes.empty()) continue;
      bytes[below(bytes.size())] ^= static_cast<std::byte>(1U << below(8));
      files_.overwrite(path, bytes);
      const std::size_t slash = path.rfind('/');
      if (const auto key = BlobKey::from_hex(path.substr(slash + 1, 64))) must_.erase(*key);
    }
  }

  [[nodiscard]] std::string look_around() {
    if (below(3) == 0) damage();
    if (std::string refused = open(); !refused.empty()) return "refused: " + refused;
    for (const std::string& wrong : store_->check()) return wrong;
    if (std::string failure = look(); !failure.empty()) return failure;
    std::set<BlobKey> there;
    for (const BlobSummary& blob : store_->inventory().blobs()) {
      there.insert(blob.key);
      const auto loaded = store_->load(blob.key);
      if (loaded && !truth_.right(blob.key, file_of(*loaded))) return "a wrong blob";
      if (!loaded) there.erase(blob.key);
    }
    for (const std::string& wrong : store_->check()) return wrong;
    if (tight_) return {};  // what has come back may have taken the room of others
    for (const BlobKey& key : must_) {
      if (!there.contains(key)) return "lost: " + key.hex();
    }
    store_.reset();
    return {};
  }

  std::mt19937 random_;
  SimulatedFiles files_;
  Truth truth_;
  const bool tight_;
  std::int64_t now_ms_ = 1000;
  std::shared_ptr<MemoryIndex> index_, older_;
  std::unique_ptr<DiskStore> store_;
  std::set<BlobKey> must_;
};

std::uint32_t from_environment(const char* name, std::uint32_t otherwise) {
  const char* value = std::getenv(name);
  return value ? static_cast<std::uint32_t>(std::strtoul(value, nullptr, 10)) : otherwise;
}

TEST(DiskStoreCrash, PowerGoesAtAnyCall) {
  const bool one = std::getenv("HOLDFAST_CRASH_SEED") != nullptr;
  const std::uint32_t first = from_environment("HOLDFAST_CRASH_SEED", 1);
  const std::uint32_t runs = one ? 1 : from_environment("HOLDFAST_CRASH_RUNS", 4000);
  for (std::uint32_t seed = first; seed < first + runs; ++seed) {
    CrashWorld world(seed);
    for (int life = 0; life < 3; ++life) {
      ASSERT_EQ(world.live(), "") << "life " << life << ", HOLDFAST_CRASH_SEED=" << seed;
    }
  }
  std::printf("%u runs of 3 crashes from seed %u\n", runs, first);
}

// --- every call fails once, or for good -----------------------------------------------------

// Does a little of everything. Returns what went wrong apart from misses and Errors; `calm` is
// whether everything was answered as without a fault.
struct Story {
  std::string failure;
  bool calm = true;
};

class StoryTeller {
 public:
  explicit StoryTeller(SimulatedFiles& files)
      : files_(files), random_(1), truth_(random_), first_(truth_.maker(0)) {}

  [[nodiscard]] Story tell() {
    open();
    put(first_.rows({0, 128}));
    put(first_.rows({128, 250}));
    put(first_.place(128));
    put(first_.place(128, {.logits = true}));  // takes the other's place
    look(2, 1);
    put(truth_.maker(1).place(250));
    damage(outline(first_.rows({128, 250}))->key);
    look(1, 1);
    if (store_) store_->verify({}, Rebuild::kYes);
    const BlobKey removed = outline(first_.place(128))->key;
    if (store_) story_.calm = story_.calm && store_->remove(std::span(&removed, 1)) > 0;
    open();
    look(1, 0);
    if (store_) store_->shrink_to(0, 100);
    return story_;
  }

  // After the faults: the folder opens, holds nothing wrong, and works.
  [[nodiscard]] std::string aftermath() {
    files_.fail_never();
    open();
    if (!store_) return "refused";
    for (const std::string& wrong : store_->check()) return wrong;
    look(0, 0);
    const auto answer = store_->put(first_.rows({0, 128}), 200);
    if (!answer || *answer == PutAnswer::kDeclined) return "cannot put";
    look(1, 0);
    for (const std::string& wrong : store_->check()) return wrong;
    return story_.failure;
  }

 private:
  void open() {
    store_.reset();
    auto opened = DiskStore::open(
        files_, {.budget = 100000, .stored_depths = std::make_shared<StoredDepths>()}, 100);
    story_.calm = story_.calm && opened.ok();
    if (opened) store_ = std::move(*opened);
  }
  template <typename AnyBlob>
  void put(const AnyBlob& blob) {
    truth_.know(blob);
    if (!store_) return;
    const auto answer = store_->put(blob, 100);
    story_.calm = story_.calm && answer && *answer == PutAnswer::kStored;
  }
  void damage(const BlobKey& key) {
    const std::string path = blob_path(key);
    for (const std::string& file : files_.file_paths()) {
      if (file != path) continue;
      auto bytes = files_.bytes(path);
      bytes[bytes.size() / 2] ^= std::byte{1};
      files_.overwrite(path, bytes);
    }
  }
  void look(std::size_t rows, std::size_t places) {
    if (!store_) return;
    const StoreMatch match = store_->lookup(kSpace, first_.path());
    std::size_t loaded_rows = 0, loaded_places = 0;
    for (const RowsHit& hit : match.rows) {
      const auto blob = store_->load(match, hit);
      if (blob && !truth_.right(hit.key, file_of(*blob))) story_.failure = "wrong rows";
      if (blob) ++loaded_rows;
    }
    for (const PlaceHit& hit : match.places) {
      const auto blob = store_->load(match, hit);
      if (blob && !truth_.right(hit.key, file_of(*blob))) story_.failure = "a wrong place";
      if (blob) ++loaded_places;
    }
    story_.calm = story_.calm && loaded_rows == rows && loaded_places == places;
  }

  SimulatedFiles& files_;
  std::mt19937 random_;
  Truth truth_;
  const BlobMaker& first_;
  std::unique_ptr<DiskStore> store_;
  Story story_;
};

TEST(DiskStoreFaults, WithoutAnyEverythingIsAnswered) {
  SimulatedFiles files;
  StoryTeller teller(files);
  const Story story = teller.tell();
  EXPECT_TRUE(story.calm);
  EXPECT_EQ(story.failure, "");
  EXPECT_EQ(teller.aftermath(), "");
}

class DiskStoreFaultsAt : public testing::TestWithParam<std::pair<int, bool>> {};

TEST_P(DiskStoreFaultsAt, EveryCall) {
  const auto [error, for_good] = GetParam();
  std::uint64_t call = 0;
  for (bool reached = true; reached;) {
    SimulatedFiles files(++call);
    files.fail_at(call, error, for_good);
    StoryTeller teller(files);
    const Story story = teller.tell();
    reached = files.calls() >= call;
    ASSERT_EQ(story.failure, "") << "call " << call;
    ASSERT_TRUE(story.calm || error != EINTR) << "call " << call;
    ASSERT_EQ(teller.aftermath(), "") << "call " << call;
  }
  std::printf("%llu calls\n", static_cast<unsigned long long>(call - 1));
  EXPECT_GT(call, 100U);
}

INSTANTIATE_TEST_SUITE_P(All, DiskStoreFaultsAt,
                         testing::Values(std::pair{EIO, false}, std::pair{EIO, true},
                                         std::pair{ENOSPC, false}, std::pair{ENOSPC, true},
                                         std::pair{EACCES, false}, std::pair{ENOENT, false},
                                         std::pair{ENOENT, true}, std::pair{EINTR, false}));

// Crashes at each call of the same story, one after another.
TEST(DiskStoreFaults, PowerGoesAtEveryCallOfAStory) {
  std::uint64_t call = 0;
  for (bool reached = true; reached;) {
    SimulatedFiles files(++call);
    files.lose_power_at(call);
    StoryTeller teller(files);
    ASSERT_EQ(teller.tell().failure, "") << "call " << call;
    reached = files.powerless();
    files.restart();
    ASSERT_EQ(teller.aftermath(), "") << "call " << call;
  }
  EXPECT_GT(call, 100U);
}

}  // namespace
}  // namespace holdfast::tier
