#include "cache/disk_tier.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace holdfast::cache {

namespace {

constexpr ByteCount kEnoughToMeasure = 1 << 20;
// What blobs have beside their states, on the generous side.
constexpr ByteCount kHeaderPerToken = 10;
constexpr ByteCount kHeaderOfPlace = 1024;
// Paths rest, pauses end and flushes are watched in steps of this.
constexpr auto kGlance = std::chrono::milliseconds(50);

bool begins_with(const KeptPath& longer, const KeptPath& shorter) {
  return longer.space == shorter.space && longer.keys.size() >= shorter.keys.size() &&
         std::equal(shorter.keys.begin(), shorter.keys.end(), longer.keys.begin());
}

// The deepest place that has its rows.
TokenPos restorable(const tier::StoreMatch& there) {
  const auto beyond =
      std::ranges::upper_bound(there.places, there.covered, {}, &tier::PlaceHit::position);
  return beyond == there.places.begin() ? 0 : std::prev(beyond)->position;
}

}  // namespace

struct DiskTier::Keeping {
  explicit Keeping(KeptPath taken) : path(std::move(taken)), names(path.space) {
    names.append(path.keys);
  }

  KeptPath path;
  tier::PathNamer names;
  tier::Moment moment;
  KeepPlan plan;
  TokenPos rows_done = 0;   // chunks below were written or given up
  std::size_t rows_at = 0;  // the first of path.rows that may lie above
  std::size_t core_done = 0;
  std::size_t steps_done = 0;
  TokenPos restorable = 0;  // of the path, when this began
  struct StoredRows {
    tier::BlobKey key;
    TokenPos begin = 0;
  };
  std::vector<StoredRows> stored;  // rows that were not there before

  // Of the path's rows those that belong to the core.
  [[nodiscard]] TokenPos rows_end() const {
    return path.rows.empty() ? 0 : std::min(path.rows.back().range.end, plan.length);
  }
  [[nodiscard]] bool core_written() const {
    return core_done >= plan.core.size() && rows_done >= rows_end();
  }
  [[nodiscard]] bool all_written() const {
    return core_written() && steps_done >= plan.steps.size();
  }
  [[nodiscard]] ByteCount left() const {
    ByteCount bytes =
        static_cast<ByteCount>(rows_end() - std::min(rows_done, rows_end())) * path.bytes_per_token;
    for (std::size_t i = core_done; i < plan.core.size(); ++i) {
      bytes += path.places[plan.core[i].index].bytes;
    }
    for (std::size_t i = steps_done; i < plan.steps.size(); ++i) {
      bytes += path.places[plan.steps[i].index].bytes;
    }
    return bytes;
  }
};

DiskTier::DiskTier(tier::BlobStore& store, std::shared_ptr<const tier::StoredDepths> known,
                   const env::Clock& clock, DiskTierOptions options)
    : store_(store),
      known_(std::move(known)),
      clock_(clock),
      options_(options),
      bytes_per_ms_(options.bytes_per_ms) {
  publish();
}

DiskTier::~DiskTier() { stop(); }

void DiskTier::start() {
  CHECK(!thread_.joinable());
  thread_ = std::thread([this] { run(); });
}

void DiskTier::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  news_.notify_all();
  idle_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// --- its own thread ----------------------------------------------------------------

void DiskTier::run() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      const auto nothing = [&] { return urgent_.empty() && paths_.empty() && !working_; };
      news_.wait(lock, [&] { return stop_ || !nothing(); });
      if (stop_) return;
      if (urgent_.empty() && !may_write(lock)) continue;
    }
    work();
  }
}

// Waits a little where it is not the time to write.
bool DiskTier::may_write(std::unique_lock<std::mutex>& lock) {
  const bool paced = (busy_ || in_trouble_) && clock_.now() < write_again_;
  const bool ready =
      working_ || std::ranges::any_of(paths_, [&](const KeptPath& path) { return rested(path); });
  if (hurry_ || (ready && !paced)) return true;
  news_.wait_for(lock, kGlance);
  return false;
}

bool DiskTier::rested(const KeptPath& path) const {
  const auto now = clock_.now();
  return now - path.latest >= options_.rest || now - path.first >= 10 * options_.rest;
}

bool DiskTier::work() {
  std::function<void()> task;
  {
    const std::lock_guard lock(mutex_);
    if (!urgent_.empty()) {
      task = std::move(urgent_.front());
      urgent_.pop_front();
    }
  }
  if (!task) return keep_something();
  task();
  publish();
  if (on_news) on_news();
  return true;
}

Brought DiskTier::load(const tier::StoreMatch& match, const ColdChoice& choice,
                       const Pending<Brought>& reply) {
  Brought brought;
  std::vector<tier::BlobKey> used;
  const auto before = clock_.now();
  if (choice.place) {
    auto place = store_.load(match, *choice.place);
    if (!place) return brought;
    brought.snapshot = std::move(place->snapshot);
    brought.logits = std::move(place->logits);
    brought.marks = place->marks;
    brought.bytes += choice.place->bytes;
    used.push_back(choice.place->key);
  }
  TokenPos reached = 0;
  for (const tier::RowsHit& hit : choice.rows) {
    if (reply.unwanted()) return brought;
    auto blob = store_.load(match, hit);
    if (!blob) return brought;
    for (const BlockUse& use : blob->rows) {
      const TokenRange range =
          intersection(use.range, {std::max(hit.range.begin, reached), hit.range.end});
      if (range.empty()) continue;
      brought.rows.push_back({use.block, range});
      reached = range.end;
    }
    brought.bytes += hit.bytes;
    used.push_back(hit.key);
  }
  brought.all = true;
  const double ms = env::ms_between(before, clock_.now());
  if (brought.bytes >= kEnoughToMeasure && ms > 0.0) {
    const double measured = static_cast<double>(brought.bytes) / ms;
    bytes_per_ms_ = bytes_per_ms_ + (measured - bytes_per_ms_) / 4.0;
  }
  store_.touch(used, clock_.unix_ms());
  return brought;
}

// --- writing -------------------------------------------------------------------------

bool DiskTier::take_next_path() {
  std::optional<KeptPath> taken;
  {
    const std::lock_guard lock(mutex_);
    auto next = std::ranges::find_if(paths_, [&](const KeptPath& path) { return rested(path); });
    if (next == paths_.end() && (hurry_ || steps_left_.empty())) next = paths_.begin();
    if (next == paths_.end()) return false;
    taken = std::move(*next);
    paths_.erase(next);
    working_ = true;
  }
  begin_path(std::move(*taken));
  return true;
}

// Finds out what is there of the path already, and decides what else is written.
void DiskTier::begin_path(KeptPath path) {
  std::erase_if(steps_left_, [&](const auto& left) { return begins_with(path, left->path); });
  if (on_space) on_space(path.space);
  keeping_ = std::make_unique<Keeping>(std::move(path));
  Keeping& at = *keeping_;
  at.moment = store_.moment(clock_.unix_ms());
  const tier::StoreMatch there = store_.lookup(at.path.space, at.path.keys);
  PathOutline outline;
  outline.length = length_of(at.path.keys);
  outline.bytes_per_token = at.path.rows.empty() ? 0 : at.path.bytes_per_token + kHeaderPerToken;
  outline.blob_tokens = options_.blob_tokens;
  outline.needs_places = at.path.needs_places;
  for (const KeptPlace& place : at.path.places) {
    outline.places.push_back({place.position, place.bytes + kHeaderOfPlace, place.role});
  }
  outline.there = there.places;
  outline.rows_there = there.rows;
  // What is there of it does not make way for the rest.
  std::vector<tier::BlobKey> ours;
  for (const tier::RowsHit& rows : there.rows) ours.push_back(rows.key);
  for (const tier::PlaceHit& place : there.places) {
    if (std::ranges::binary_search(outline.places, place.position, {}, &PlaceOutline::position)) {
      ours.push_back(place.key);
    }
  }
  store_.touch(ours, at.moment.ms);
  at.plan = plan_keeping(
      outline, [&](double saves_per_byte) { return store_.room_for(saves_per_byte, at.moment); });
  at.restorable = restorable(there);
  if (at.core_written()) store_.revalue(at.plan.there, at.moment);
  note_left();
  if (at.plan.length > 0) return;
  const std::lock_guard lock(mutex_);
  ++published_.paths_declined;
}

// One blob. Of a path's core the next rows, or the next place whose rows are there: so wherever
// this ends, what has been written is a conversation's beginning.
bool DiskTier::keep_something() {
  if (!keeping_ && !take_next_path() && !go_on_with_steps()) return false;
  if (!keep_next(*keeping_)) {
    finish_path();
    return true;
  }
  note_left();
  publish();
  return true;
}

bool DiskTier::go_on_with_steps() {
  if (steps_left_.empty()) return false;
  keeping_ = std::move(steps_left_.front());
  steps_left_.pop_front();
  return true;
}

bool DiskTier::keep_next(Keeping& at) {
  const auto& core = at.plan.core;
  const bool stands = at.core_done < core.size() &&
                      (at.rows_done >= at.rows_end() ||
                       at.path.places[core[at.core_done].index].position <= at.rows_done);
  if (stands) {
    keep_place(core[at.core_done]);
    ++at.core_done;
  } else if (at.rows_done < at.rows_end()) {
    const TokenPos end = std::min(at.rows_done + options_.blob_tokens, at.rows_end());
    keep_rows({at.rows_done, end});
    at.rows_done = end;
  } else if (at.steps_done < at.plan.steps.size()) {
    keep_place(at.plan.steps[at.steps_done++]);
    // Another path's core may have come meanwhile.
    if (!at.all_written()) steps_left_.push_front(std::move(keeping_));
    return keeping_ == nullptr;
  } else {
    return false;
  }
  if (!at.core_written()) return true;
  // From now on the turn before is worth what it is beside this one.
  store_.revalue(at.plan.there, at.moment);
  if (!at.plan.steps.empty()) {
    steps_left_.push_back(std::move(keeping_));
    if (steps_left_.size() > options_.paths_max) steps_left_.pop_front();
  }
  return true;
}

void DiskTier::keep_rows(TokenRange range) {
  Keeping& at = *keeping_;
  const auto& all = at.path.rows;
  tier::RowsBlob blob;
  TokenPos reached = range.begin;
  while (at.rows_at < all.size() && all[at.rows_at].range.end <= range.begin) ++at.rows_at;
  for (std::size_t i = at.rows_at; i < all.size() && all[i].range.begin < range.end; ++i) {
    const TokenRange used = intersection(all[i].range, range);
    auto block = all[i].block.lock();
    if (block == nullptr || used.begin != reached) break;
    blob.rows.push_back({std::move(block), used});
    reached = used.end;
  }
  if (reached < range.end) {
    const std::lock_guard lock(mutex_);
    ++published_.lost;
    return;
  }
  blob.path = tier::BlobPath::of_rows(at.path.space, at.names, at.path.keys, range);
  put(blob, std::nullopt);
}

void DiskTier::keep_place(const PlaceToKeep& kept) {
  Keeping& at = *keeping_;
  const KeptPlace& place = at.path.places[kept.index];
  tier::PlaceBlob blob;
  blob.snapshot = place.snapshot.lock();
  if (const auto logits = place.logits.lock()) blob.logits = *logits;
  const bool gone = place.needs_snapshot ? blob.snapshot == nullptr : blob.logits.empty();
  if (gone) {
    const std::lock_guard lock(mutex_);
    ++published_.lost;
    return;
  }
  blob.path = tier::BlobPath::of_place(at.path.space, at.names, at.path.keys, place.position);
  blob.marks = place.marks;
  put(blob, kept.saves);
}

// Rows are worth what they weigh.
template <typename AnyBlob>
void DiskTier::put(AnyBlob& blob, std::optional<std::uint64_t> saves) {
  Keeping& at = *keeping_;
  const auto facts = tier::outline(blob);
  if (!facts) return note_trouble(facts.error().message);
  blob.saves = saves ? *saves : at.plan.rows_save(facts->bytes);
  if (store_.holds(*facts)) return;
  const ByteCount place = saves ? facts->bytes : 0;  // rows count until they are written
  const auto answer = store_.put(blob, at.moment);
  if (!answer) return note_trouble(answer.error().message, place);
  if (*answer == tier::PutAnswer::kDeclined && store_.stats().full) {
    return note_trouble("the volume is full", place);
  }
  // There was room when this began.
  if (*answer == tier::PutAnswer::kDeclined && !at.core_written()) {
    give_up_path("there is no room any more", place);
  }
  const bool was_there =
      std::ranges::find(at.plan.there, facts->key, &tier::BlobWorth::key) != at.plan.there.end();
  if (*answer == tier::PutAnswer::kStored && facts->kind == tier::BlobKind::kRows && !was_there) {
    at.stored.push_back({facts->key, facts->path.range.begin});
  }
  if (in_trouble_ && on_trouble) on_trouble("");
  in_trouble_ = false;
  if (*answer != tier::PutAnswer::kStored || options_.busy_bytes_per_s == 0) return;
  const std::chrono::duration<double> pause(static_cast<double>(facts->bytes) / bytes_per_s_now());
  write_again_ = clock_.now() + std::chrono::duration_cast<env::Clock::TimePoint::duration>(pause);
}

// Rows that no place stands on bring nothing back: they go first when room is needed. What was
// there before stays worth what it was. The next turn finds what is left.
void DiskTier::give_up_core() {
  Keeping& at = *keeping_;
  const TokenPos now = restorable(store_.lookup(at.path.space, at.path.keys));
  const TokenPos used_below = now > at.restorable ? now : 0;
  std::vector<tier::BlobWorth> useless;
  for (const Keeping::StoredRows& rows : at.stored) {
    if (at.path.needs_places && rows.begin >= used_below) useless.push_back({rows.key, 0});
  }
  store_.revalue(useless, at.moment);
  at.plan = {};
}

// While requests are at work.
double DiskTier::bytes_per_s_now() const {
  const auto usual = static_cast<double>(options_.busy_bytes_per_s);
  if (keeping_->core_written()) return usual;
  const std::chrono::duration<double> takes(options_.core_takes);
  return std::max(usual, static_cast<double>(keeping_->plan.missing) / takes.count());
}

// The rest of the path is given up: the next one that goes this way brings it along.
void DiskTier::note_trouble(const std::string& what, ByteCount place) {
  publish();  // whoever is told finds it counted
  if (!in_trouble_ && on_trouble) on_trouble(what);
  in_trouble_ = true;
  give_up_path(what, place);
  const std::chrono::duration<double, std::milli> pause(options_.pause_after_failure_ms);
  write_again_ = clock_.now() + std::chrono::duration_cast<env::Clock::TimePoint::duration>(pause);
}

// What has been written stays. `place`: bytes of the place that it failed at.
void DiskTier::give_up_path(const std::string& why, ByteCount place) {
  const ByteCount left = keeping_->left() + place;
  give_up_core();
  const std::lock_guard lock(mutex_);
  ++published_.given_up.paths;
  published_.given_up.bytes += left;
  published_.given_up.why = why;
}

void DiskTier::finish_path() {
  keeping_.reset();
  note_left();
  publish();
  idle_.notify_all();
}

ByteCount DiskTier::bytes_left() const {
  ByteCount left = keeping_ ? keeping_->left() : 0;
  for (const auto& path : steps_left_) left += path->left();
  return left;
}

void DiskTier::note_left() {
  const ByteCount left = bytes_left();
  const std::lock_guard lock(mutex_);
  left_ = left;
  working_ = keeping_ != nullptr || !steps_left_.empty();
}

void DiskTier::publish() {
  const std::lock_guard lock(mutex_);
  published_.store = store_.stats();
  published_.budget = store_.budget();
  published_.writes = store_.role() == tier::StoreRole::kWriter;
}

// --- the engine's thread ---------------------------------------------------------------

TokenPos DiskTier::deepest(std::span<const tier::PathName> names) const {
  return known_ ? known_->deepest(names) : std::numeric_limits<TokenPos>::max();
}

// What another server writes meanwhile is not known, so nothing is said of it.
ForeignMatch DiskTier::foreign(const ForeignQuestion& question) const {
  return known_ ? foreign_.find(*known_, question) : ForeignMatch{};
}

void DiskTier::ask(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    urgent_.push_back(std::move(task));
  }
  news_.notify_all();
}

std::shared_ptr<Pending<tier::StoreMatch>> DiskTier::look(SpaceKey space, TokenSpan keys) {
  used_.insert(space);
  auto reply = std::make_shared<Pending<tier::StoreMatch>>();
  ask([this, reply, space, tokens = Tokens(keys.begin(), keys.end())] {
    reply->set(reply->unwanted() ? tier::StoreMatch{} : store_.lookup(space, tokens));
  });
  return reply;
}

std::shared_ptr<Pending<Brought>> DiskTier::bring(tier::StoreMatch match, ColdChoice choice) {
  auto reply = std::make_shared<Pending<Brought>>();
  ask([this, reply, match = std::move(match), choice = std::move(choice)] {
    reply->set(reply->unwanted() ? Brought{} : load(match, choice, *reply));
  });
  return reply;
}

// A path that only goes on takes the place of the one that it goes on from.
void DiskTier::keep(KeptPath path) {
  if (path.rows.empty() && path.places.empty()) return;
  used_.insert(path.space);
  {
    const std::lock_guard lock(mutex_);
    if (!published_.writes) return;
    path.first = path.latest = clock_.now();
    std::erase_if(paths_, [&](const KeptPath& waiting) {
      if (!begins_with(path, waiting)) return false;
      path.first = std::min(path.first, waiting.first);
      return true;
    });
    if (paths_.size() == options_.paths_max) {
      paths_.pop_front();
      ++published_.paths_lost;
    }
    paths_.push_back(std::move(path));
  }
  news_.notify_all();
}

void DiskTier::clear() {
  {
    const std::lock_guard lock(mutex_);
    paths_.clear();
  }
  ask([this] { drop_everything(); });
}

void DiskTier::drop_everything() {
  steps_left_.clear();
  finish_path();
  store_.shrink_to(0, clock_.unix_ms());
  std::string left;
  if (store_.role() != tier::StoreRole::kWriter) {
    left = "another server writes to the cache folder, and what is there stays";
  } else {
    if (store_.stats().bytes() > 0) left = "some states stay: " + store_.stats().last_failure;
    const Result<void> rest = on_cleared ? on_cleared() : Result<void>{};
    if (!rest) left = rest.error().message;
  }
  const std::lock_guard lock(mutex_);
  published_.left_by_clear = std::move(left);
}

void DiskTier::distrust(SpaceKey space, const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    paths_.clear();  // of other spaces too: what is here now was made by the same engine
  }
  used_.insert(space);
  ask([this, spaces = used_, why] {
    steps_left_.clear();
    finish_path();
    for (const SpaceKey one : spaces) store_.distrust(one, why);
  });
}

// --- any thread --------------------------------------------------------------------------

DiskTierStatus DiskTier::status() const {
  const std::lock_guard lock(mutex_);
  DiskTierStatus status = published_;
  status.paths_waiting = paths_.size() + (working_ ? 1 : 0);
  status.bytes_waiting = waiting_bytes();
  status.bytes_per_ms = bytes_per_ms_;
  return status;
}

void DiskTier::count_missed_answer() {
  const std::lock_guard lock(mutex_);
  ++published_.answers_missed;
}

ByteCount DiskTier::waiting_bytes() const {
  ByteCount bytes = left_;
  for (const KeptPath& path : paths_) bytes += path.bytes();
  return bytes;
}

Flushed DiskTier::flush(const std::function<bool(ByteCount)>& go_on) {
  Flushed flushed;
  std::unique_lock lock(mutex_);
  const GivenUp before = published_.given_up;
  const std::uint64_t lost_before = published_.lost;
  hurry_ = true;
  news_.notify_all();
  while (!paths_.empty() || working_ || !urgent_.empty()) {
    const ByteCount left = waiting_bytes();
    lock.unlock();
    const bool goes_on = go_on(left);
    lock.lock();
    flushed.cut = stop_ || !goes_on;
    if (flushed.cut) break;
    idle_.wait_for(lock, kGlance);
  }
  if (flushed.cut) flushed.waiting_bytes = waiting_bytes();
  flushed.given_up = published_.given_up;
  flushed.given_up.paths -= before.paths;
  flushed.given_up.bytes -= before.bytes;
  if (flushed.given_up.paths == 0) flushed.given_up.why.clear();
  flushed.lost = published_.lost - lost_before;
  return flushed;
}

std::vector<std::string> DiskTier::check() const {
  std::vector<std::string> violations;
  const std::lock_guard lock(mutex_);
  if (paths_.size() > options_.paths_max) violations.emplace_back("W2: too many paths wait");
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    for (std::size_t k = i + 1; k < paths_.size(); ++k) {
      if (begins_with(paths_[k], paths_[i])) {
        violations.emplace_back("W2: a path waits that a later one begins with");
      }
    }
  }
  if (!thread_.joinable()) check_steps(violations);
  return violations;
}

void DiskTier::check_steps(std::vector<std::string>& violations) const {
  if (steps_left_.size() > options_.paths_max) {
    violations.emplace_back("W3: too many paths wait with their steps");
  }
  for (auto path = steps_left_.begin(); path != steps_left_.end(); ++path) {
    const Keeping& left = **path;
    if (!left.core_written()) violations.emplace_back("W3: steps without their core");
    if (left.all_written()) violations.emplace_back("W3: a path without steps waits");
    const bool outgrown = (keeping_ && begins_with(keeping_->path, left.path)) ||
                          std::any_of(std::next(path), steps_left_.end(), [&](const auto& later) {
                            return begins_with(later->path, left.path);
                          });
    if (outgrown) violations.emplace_back("W3: steps that a later path begins with");
  }
  if (left_ != bytes_left()) violations.emplace_back("W3: the bytes that are left");
  if (working_ != (keeping_ != nullptr || !steps_left_.empty())) {
    violations.emplace_back("W3: whether something is left");
  }
}

}  // namespace holdfast::cache
