// Random operations on a DiskStore against a model: a map, and loops over it.
//
//   HOLDFAST_MODEL_SEED=n    only this run
//   HOLDFAST_MODEL_RUNS=n    more runs than usual
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>

#include "tier/disk_store.h"
#include "tier/testing/blob_maker.h"
#include "tier/testing/simulated_files.h"

namespace holdfast::tier {
namespace {

struct Known {
  BlobKind kind = BlobKind::kRows;
  SpaceKey space;
  Tokens tokens;  // from 0 to the blob's end
  TokenRange range;
  std::vector<std::byte> file;  // as made at time 0
  ByteCount bytes = 0;
  std::uint64_t saves = 0;
  std::int64_t used_ms = 0;
  bool companion = false, logits = false;
};

// What the header of disk_store.h says, in the plainest way.
class Model {
 public:
  explicit Model(ByteCount budget) : budget_(budget) {}

  [[nodiscard]] ByteCount bytes() const {
    ByteCount sum = 0;
    for (const auto& [key, known] : held) sum += known.bytes;
    return sum;
  }
  [[nodiscard]] double value(const Known& known, std::int64_t now_ms) const {
    const double age_s = static_cast<double>(now_ms - known.used_ms) / 1000;
    const double saves_per_byte =
        static_cast<double>(known.saves) / static_cast<double>(known.bytes);
    return rounded_worth(saves_per_byte) / (age_s + 600);
  }

  PutAnswer put(const BlobKey& key, Known known, std::int64_t now_ms) {
    known.used_ms = now_ms;
    if (const auto found = held.find(key); found != held.end()) {
      Known& old = found->second;
      old.used_ms = now_ms;
      const bool more = (known.companion && !old.companion) || (known.logits && !old.logits);
      const bool less = (old.companion && !known.companion) || (old.logits && !known.logits);
      if (!more || less) return PutAnswer::kPresent;
    }
    auto left = held;
    while (budget_ < bytes_of(left) + known.bytes) {
      const auto victim = cheapest(left, now_ms, value(known, now_ms), false);
      if (victim == left.end()) return PutAnswer::kDeclined;
      left.erase(victim);
    }
    held = std::move(left);
    held[key] = std::move(known);
    return PutAnswer::kStored;
  }

  void shrink_to(ByteCount limit, std::int64_t now_ms) {
    while (bytes() > limit) held.erase(cheapest(held, now_ms, 1e300, true));
  }

  // What is free, and what would make way: blob by blob.
  [[nodiscard]] ByteCount room_for(double saves_per_byte, std::int64_t now_ms) const {
    ByteCount room = budget_ - bytes();
    for (const auto& [key, known] : held) {
      const bool cheaper = value(known, now_ms) < rounded_worth(saves_per_byte) / 600;
      if (known.used_ms < now_ms && cheaper) room += known.bytes;
    }
    return room;
  }

  std::map<BlobKey, Known> held;

 private:
  using Map = std::map<BlobKey, Known>;
  [[nodiscard]] static ByteCount bytes_of(const Map& map) {
    ByteCount sum = 0;
    for (const auto& [key, known] : map) sum += known.bytes;
    return sum;
  }
  [[nodiscard]] Map::iterator cheapest(Map& map, std::int64_t now_ms, double below, bool any) {
    auto best = map.end();
    for (auto at = map.begin(); at != map.end(); ++at) {
      const double its = value(at->second, now_ms);
      if (!(its < below) || (!any && at->second.used_ms >= now_ms)) continue;
      if (best == map.end()) best = at;
      const double bests = value(best->second, now_ms);
      const TokenPos end = at->second.range.end, best_end = best->second.range.end;
      if (its < bests || (its == bests && end > best_end)) best = at;
    }
    return best;
  }
  ByteCount budget_;
};

// A few paths that share beginnings, in two spaces.
class World {
 public:
  explicit World(std::uint32_t seed) : random_(seed), files_(seed), model_(0) {
    budget_ = 1500 + below(20000);
    model_ = Model(budget_);
    for (int i = 0; i < 5; ++i) add_path();
    CHECK(open().empty());
  }

  [[nodiscard]] std::string step() {
    now_ms_ += below(3) == 0 ? 0 : static_cast<std::int64_t>(below(100'000));
    switch (below(13)) {
      case 0:
      case 1:
      case 2:
      case 3: return put_rows();
      case 4:
      case 5:
      case 6: return put_place();
      case 7:
      case 8: return look();
      case 9: return touch();
      case 10: return shrink();
      case 11: return revalue();
      default: return reopen();
    }
  }

  // Everything, at the end of each step.
  [[nodiscard]] std::string verify() {
    for (const std::string& wrong : store_->check()) return wrong;
    std::vector<BlobKey> keys;
    for (const BlobSummary& blob : store_->inventory().blobs()) keys.push_back(blob.key);
    std::vector<BlobKey> wanted;
    for (const auto& [key, known] : model_.held) wanted.push_back(key);
    if (keys != wanted) return "holds other blobs than the model";
    if (store_->stats().bytes() != model_.bytes()) return "bytes";
    for (int i = 0; i < 4; ++i) {
      const double saves_per_byte = std::exp2(static_cast<double>(below(24)) / 2 - 8);
      const ByteCount wanted_room = model_.room_for(saves_per_byte, now_ms_);
      if (store_->room_for(saves_per_byte, store_->moment(now_ms_)) != wanted_room) return "room";
    }
    return {};
  }

 private:
  [[nodiscard]] std::size_t below(std::size_t end) { return random_() % end; }

  void add_path() {
    Tokens tokens;
    SpaceKey space{1, below(2)};
    if (!paths_.empty() && below(4) != 0) {  // goes on from a front of another
      const auto& [other_space, other] = paths_[below(paths_.size())];
      tokens.assign(other.begin(),
                    other.begin() + static_cast<std::ptrdiff_t>(below(other.size())));
      space = other_space;
    }
    const std::size_t length = tokens.size() + 1 + below(250);
    while (tokens.size() < length) tokens.push_back(static_cast<Token>(below(3)));
    paths_.emplace_back(space, tokens);
  }

  [[nodiscard]] std::string open() {
    store_.reset();
    auto opened = DiskStore::open(files_, {.budget = budget_, .stored_depths = ends_}, now_ms_);
    if (!opened) return opened.error().message;
    store_ = std::move(*opened);
    return {};
  }

  // The index, in memory, is lost: times of use and worths are then those of the making.
  [[nodiscard]] std::string reopen() {
    if (below(4) != 0) return {};
    for (auto& [key, known] : model_.held) {
      known.used_ms = created_.at(key).ms;
      known.saves = created_.at(key).saves;
    }
    return open();
  }

  template <typename AnyBlob>
  [[nodiscard]] std::string put(const AnyBlob& blob, Known known) {
    const BlobFacts facts = *outline(blob);
    known.file = file_of(blob);
    known.bytes = facts.bytes;
    known.saves = blob.saves;
    known.companion = facts.companion;
    known.logits = facts.logits;
    const PutAnswer wanted = model_.put(facts.key, std::move(known), now_ms_);
    const auto answer = store_->put(blob, now_ms_);
    if (!answer) return answer.error().message;
    if (*answer == PutAnswer::kStored) created_[facts.key] = {now_ms_, blob.saves};
    return *answer == wanted ? "" : "another answer to a put than the model's";
  }

  [[nodiscard]] std::string put_rows() {
    const auto& [space, path] = paths_[below(paths_.size())];
    auto a = static_cast<TokenPos>(below(path.size()));
    if (below(2) == 0) a = anchor_at(a);
    if (below(4) == 0) a = 0;
    const TokenPos b =
        std::min<TokenPos>(length_of(path), a + 1 + static_cast<TokenPos>(below(150)));
    const BlobMaker maker(space, path);
    const RowsBlob blob = maker.rows({a, b}, {.companion = below(4) == 0}, below(2) == 0);
    return put(
        blob, {.kind = BlobKind::kRows, .space = space, .tokens = front(path, b), .range = {a, b}});
  }

  [[nodiscard]] std::string put_place() {
    const auto& [space, path] = paths_[below(paths_.size())];
    const auto position = static_cast<TokenPos>(1 + below(path.size()));
    const MakerOptions options{.companion = below(4) == 0, .logits = below(3) == 0};
    PlaceBlob blob = BlobMaker(space, path).place(position, options, 1 + below(400));
    blob.saves = below(1000);
    return put(blob, {.kind = BlobKind::kPlace,
                      .space = space,
                      .tokens = front(path, position),
                      .range = {position, position}});
  }

  [[nodiscard]] static Tokens front(const Tokens& path, TokenPos end) {
    return {path.begin(), path.begin() + end};
  }

  [[nodiscard]] std::string look() {
    auto [space, prompt] = paths_[below(paths_.size())];
    if (below(2) == 0) prompt.resize(below(prompt.size() + 1));
    if (!prompt.empty() && below(3) == 0) prompt[below(prompt.size())] = 9;
    const StoreMatch match = store_->lookup(space, prompt);
    std::vector<std::pair<TokenPos, BlobKey>> places;
    std::map<BlobKey, TokenPos> ends;  // of rows that agree at all
    TokenPos covered = 0;
    for (const auto& [key, known] : model_.held) {
      if (known.space != space) continue;
      const TokenPos agreed = common_prefix(known.tokens, prompt);
      if (known.kind == BlobKind::kPlace && agreed == known.range.end)
        places.emplace_back(agreed, key);
      if (known.kind == BlobKind::kRows && agreed > known.range.begin) ends[key] = agreed;
    }
    for (bool grown = true; grown;) {
      grown = false;
      for (const auto& [key, end] : ends) {
        if (model_.held.at(key).range.begin > covered || end <= covered) continue;
        covered = end;
        grown = true;
      }
    }
    if (match.covered != covered) return "covered";
    std::ranges::sort(places);
    if (places.size() != match.places.size()) return "places";
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (match.places[i].key != places[i].second) return "a place";
      const auto blob = store_->load(match, match.places[i]);
      if (!blob) return blob.error().message;
      if (file_of(*blob) != model_.held.at(places[i].second).file) return "bytes of a place";
    }
    TokenPos reached = 0;
    for (const RowsHit& hit : match.rows) {
      if (hit.range.begin > reached || hit.range.end <= reached) return "rows leave a gap";
      if (!ends.contains(hit.key) || ends[hit.key] != hit.range.end) return "rows agree otherwise";
      reached = hit.range.end;
      const auto blob = store_->load(match, hit);
      if (!blob) return blob.error().message;
      if (file_of(*blob) != model_.held.at(hit.key).file) return "bytes of rows";
    }
    return reached == covered ? "" : "rows do not cover";
  }

  [[nodiscard]] std::string touch() {
    std::vector<BlobKey> keys = some_keys();
    for (const BlobKey& key : keys) model_.held.at(key).used_ms = now_ms_;
    keys.push_back({});  // nobody's
    store_->touch(keys, now_ms_);
    return {};
  }

  [[nodiscard]] std::string revalue() {
    std::vector<BlobWorth> worths;
    for (const BlobKey& key : some_keys()) {
      worths.push_back({key, below(1000)});
      model_.held.at(key).used_ms = now_ms_;
      model_.held.at(key).saves = worths.back().saves;
    }
    worths.push_back({{}, 5});  // nobody's
    store_->revalue(worths, {now_ms_});
    return {};
  }

  [[nodiscard]] std::string shrink() {
    if (below(3) == 0) {
      const std::vector<BlobKey> keys = some_keys();
      ByteCount wanted = 0;
      for (const BlobKey& key : keys) {
        wanted += model_.held.at(key).bytes;
        model_.held.erase(key);
      }
      return store_->remove(keys) == wanted ? "" : "freed";
    }
    const ByteCount limit = below(model_.bytes() + 1);
    if (below(3) != 0) return {};
    model_.shrink_to(limit, now_ms_);
    store_->shrink_to(limit, now_ms_);
    return {};
  }

  [[nodiscard]] std::vector<BlobKey> some_keys() {
    std::vector<BlobKey> keys;
    for (const auto& [key, known] : model_.held)
      if (below(4) == 0) keys.push_back(key);
    return keys;
  }

  std::mt19937 random_;
  SimulatedFiles files_;
  std::shared_ptr<StoredDepths> ends_ = std::make_shared<StoredDepths>();
  Model model_;
  ByteCount budget_ = 0;
  std::int64_t now_ms_ = 1'000'000;
  std::vector<std::pair<SpaceKey, Tokens>> paths_;
  struct Created {
    std::int64_t ms = 0;
    std::uint64_t saves = 0;
  };
  std::map<BlobKey, Created> created_;
  std::unique_ptr<DiskStore> store_;
};

std::uint32_t from_environment(const char* name, std::uint32_t otherwise) {
  const char* value = std::getenv(name);
  return value ? static_cast<std::uint32_t>(std::strtoul(value, nullptr, 10)) : otherwise;
}

std::string play(std::uint32_t seed) {
  World world(seed);
  for (int step = 0; step < 40; ++step) {
    std::string failure = world.step();
    if (failure.empty()) failure = world.verify();
    if (!failure.empty()) return "step " + std::to_string(step) + ": " + failure;
  }
  return {};
}

TEST(DiskStoreModel, AgreesWithTheModel) {
  const std::uint32_t first = from_environment("HOLDFAST_MODEL_SEED", 20260901);
  const bool one = std::getenv("HOLDFAST_MODEL_SEED") != nullptr;
  const std::uint32_t runs = one ? 1 : from_environment("HOLDFAST_MODEL_RUNS", 3000);
  for (std::uint32_t seed = first; seed < first + runs; ++seed) {
    const std::string failure = play(seed);
    ASSERT_EQ(failure, "") << "HOLDFAST_MODEL_SEED=" << seed;
  }
  std::printf("%u runs of 40 operations from seed %u\n", runs, first);
}

}  // namespace
}  // namespace holdfast::tier
