#include "cache/lower_tier.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace holdfast {

namespace {

constexpr ByteCount kEnoughToMeasure = 1 << 20;
// Paths rest, pauses end and flushes are watched in steps of this.
constexpr auto kGlance = std::chrono::milliseconds(50);

bool begins_with(const KeptPath& longer, const KeptPath& shorter) {
  return longer.space == shorter.space && longer.keys.size() >= shorter.keys.size() &&
         std::equal(shorter.keys.begin(), shorter.keys.end(), longer.keys.begin());
}

}  // namespace

struct LowerTier::Keeping {
  explicit Keeping(KeptPath taken) : path(std::move(taken)), names(path.space) {
    names.append(path.keys);
  }

  KeptPath path;
  PathNamer names;
  TokenPos rows_done = 0;   // chunks below were written or given up
  std::size_t rows_at = 0;  // the first of path.rows that may lie above
  std::size_t places_done = 0;
  std::vector<BlobKey> present;  // were there already
};

LowerTier::LowerTier(BlobStore& store, std::shared_ptr<const KnownEnds> known, const Clock& clock,
                     LowerOptions options)
    : store_(store),
      known_(std::move(known)),
      clock_(clock),
      options_(options),
      bytes_per_ms_(options.bytes_per_ms) {
  publish();
}

LowerTier::~LowerTier() { stop(); }

void LowerTier::start() {
  CHECK(!thread_.joinable());
  thread_ = std::thread([this] { run(); });
}

void LowerTier::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  news_.notify_all();
  idle_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// --- its own thread ----------------------------------------------------------------

void LowerTier::run() {
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
bool LowerTier::may_write(std::unique_lock<std::mutex>& lock) {
  const bool paced = (busy_ || in_trouble_) && clock_.now() < write_again_;
  const bool ready =
      working_ || std::ranges::any_of(paths_, [&](const KeptPath& path) { return rested(path); });
  if (hurry_ || (ready && !paced)) return true;
  news_.wait_for(lock, kGlance);
  return false;
}

bool LowerTier::rested(const KeptPath& path) const {
  const auto now = clock_.now();
  return now - path.latest >= options_.rest || now - path.first >= 10 * options_.rest;
}

bool LowerTier::work() {
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

Brought LowerTier::load(const StoreMatch& match, const LowerChoice& choice,
                        const Pending<Brought>& reply) {
  Brought brought;
  std::vector<BlobKey> used;
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
  for (const RowsHit& hit : choice.rows) {
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
  const double ms = ms_between(before, clock_.now());
  if (brought.bytes >= kEnoughToMeasure && ms > 0.0) {
    const double measured = static_cast<double>(brought.bytes) / ms;
    bytes_per_ms_ = bytes_per_ms_ + (measured - bytes_per_ms_) / 4.0;
  }
  store_.touch(used, clock_.unix_ms());
  return brought;
}

// --- writing -------------------------------------------------------------------------

bool LowerTier::take_next_path() {
  const std::lock_guard lock(mutex_);
  working_ = !paths_.empty();
  if (!working_) return false;
  auto next = std::ranges::find_if(paths_, [&](const KeptPath& path) { return rested(path); });
  if (next == paths_.end()) next = paths_.begin();
  keeping_ = std::make_unique<Keeping>(std::move(*next));
  paths_.erase(next);
  return true;
}

// One blob: the next rows of the path at hand, or the next place whose rows are there. So
// wherever this ends, what has been written is a conversation's beginning.
bool LowerTier::keep_something() {
  if (!keeping_) {
    if (!take_next_path()) return false;
    if (on_space) on_space(keeping_->path.space);
  }
  Keeping& at = *keeping_;
  const TokenPos length = at.path.rows.empty() ? 0 : at.path.rows.back().range.end;
  const auto& places = at.path.places;
  const bool stands = at.places_done < places.size() &&
                      (at.rows_done >= length || places[at.places_done].position <= at.rows_done);
  if (stands) {
    keep_place(places[at.places_done++]);
  } else if (at.rows_done < length) {
    const TokenPos end = std::min(at.rows_done + options_.blob_tokens, length);
    keep_rows({at.rows_done, end});
    at.rows_done = end;
  } else {
    finish_path();
    return true;
  }
  publish();
  return true;
}

void LowerTier::keep_rows(TokenRange range) {
  Keeping& at = *keeping_;
  const auto& all = at.path.rows;
  RowsBlob blob;
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
  blob.path = BlobPath::of_rows(at.path.space, at.names, at.path.keys, range);
  blob.saves = static_cast<std::uint64_t>(range.length());
  put(blob);
}

void LowerTier::keep_place(const KeptPlace& place) {
  Keeping& at = *keeping_;
  PlaceBlob blob;
  blob.snapshot = place.snapshot.lock();
  if (const auto logits = place.logits.lock()) blob.logits = *logits;
  const bool gone = place.needs_snapshot ? blob.snapshot == nullptr : blob.logits.empty();
  if (gone) {
    const std::lock_guard lock(mutex_);
    ++published_.lost;
    return;
  }
  blob.path = BlobPath::of_place(at.path.space, at.names, at.path.keys, place.position);
  blob.marks = place.marks;
  blob.saves = place.saves;
  put(blob);
}

template <typename AnyBlob>
void LowerTier::put(const AnyBlob& blob) {
  const auto facts = outline(blob);
  if (!facts) return note_trouble(facts.error().message);
  if (store_.holds(*facts)) return keeping_->present.push_back(facts->key);
  const auto answer = store_.put(blob, clock_.unix_ms());
  if (!answer) return note_trouble(answer.error().message);
  if (*answer == PutAnswer::kDeclined && store_.stats().full) {
    return note_trouble("the volume is full");
  }
  if (in_trouble_ && on_trouble) on_trouble("");
  in_trouble_ = false;
  if (*answer != PutAnswer::kStored || options_.busy_bytes_per_s == 0) return;
  const std::chrono::duration<double> pause(static_cast<double>(facts->bytes) /
                                            static_cast<double>(options_.busy_bytes_per_s));
  write_again_ = clock_.now() + std::chrono::duration_cast<Clock::TimePoint::duration>(pause);
}

// The rest of the path is given up: the next one that goes this way brings it along.
void LowerTier::note_trouble(const std::string& what) {
  publish();  // whoever is told finds it counted
  if (!in_trouble_ && on_trouble) on_trouble(what);
  in_trouble_ = true;
  keeping_->path.rows.clear();
  keeping_->path.places.clear();
  const std::chrono::duration<double, std::milli> pause(options_.pause_after_failure_ms);
  write_again_ = clock_.now() + std::chrono::duration_cast<Clock::TimePoint::duration>(pause);
}

// The whole path was used, so that no part of it outlives what stands on it for long.
void LowerTier::finish_path() {
  if (!keeping_->present.empty()) store_.touch(keeping_->present, clock_.unix_ms());
  keeping_.reset();
  {
    const std::lock_guard lock(mutex_);
    working_ = false;
  }
  publish();
  idle_.notify_all();
}

void LowerTier::publish() {
  const std::lock_guard lock(mutex_);
  published_.store = store_.stats();
  published_.budget = store_.budget();
  published_.writes = store_.role() == StoreRole::kWriter;
}

// --- the engine's thread ---------------------------------------------------------------

TokenPos LowerTier::deepest(std::span<const PathName> names) const {
  return known_ ? known_->deepest(names) : std::numeric_limits<TokenPos>::max();
}

// What another server writes meanwhile is not known, so nothing is said of it.
ForeignMatch LowerTier::foreign(const ForeignQuestion& question) const {
  return known_ ? foreign_.find(*known_, question) : ForeignMatch{};
}

void LowerTier::ask(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    urgent_.push_back(std::move(task));
  }
  news_.notify_all();
}

std::shared_ptr<Pending<StoreMatch>> LowerTier::look(SpaceKey space, TokenSpan keys) {
  used_.insert(space);
  auto reply = std::make_shared<Pending<StoreMatch>>();
  ask([this, reply, space, tokens = Tokens(keys.begin(), keys.end())] {
    reply->set(reply->unwanted() ? StoreMatch{} : store_.lookup(space, tokens));
  });
  return reply;
}

std::shared_ptr<Pending<Brought>> LowerTier::bring(StoreMatch match, LowerChoice choice) {
  auto reply = std::make_shared<Pending<Brought>>();
  ask([this, reply, match = std::move(match), choice = std::move(choice)] {
    reply->set(reply->unwanted() ? Brought{} : load(match, choice, *reply));
  });
  return reply;
}

// A path that only goes on takes the place of the one that it goes on from.
void LowerTier::keep(KeptPath path) {
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

void LowerTier::clear() {
  {
    const std::lock_guard lock(mutex_);
    paths_.clear();
  }
  ask([this] {
    if (keeping_) finish_path();
    store_.shrink_to(0, clock_.unix_ms());
  });
}

void LowerTier::distrust(SpaceKey space, const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    paths_.clear();  // of other spaces too: what is here now was made by the same engine
  }
  used_.insert(space);
  ask([this, spaces = used_, why] {
    if (keeping_) finish_path();
    for (const SpaceKey one : spaces) store_.distrust(one, why);
  });
}

// --- any thread --------------------------------------------------------------------------

LowerStatus LowerTier::status() const {
  const std::lock_guard lock(mutex_);
  LowerStatus status = published_;
  status.paths_waiting = paths_.size() + (working_ ? 1 : 0);
  for (const KeptPath& path : paths_) status.bytes_waiting += path.bytes;
  status.bytes_per_ms = bytes_per_ms_;
  return status;
}

bool LowerTier::flush(const std::function<bool(ByteCount)>& go_on) {
  std::unique_lock lock(mutex_);
  hurry_ = true;
  news_.notify_all();
  for (;;) {
    if (paths_.empty() && !working_ && urgent_.empty()) return true;
    if (stop_) return false;
    ByteCount left = 0;
    for (const KeptPath& path : paths_) left += path.bytes;
    lock.unlock();
    const bool goes_on = go_on(left);
    lock.lock();
    if (!goes_on) return false;
    idle_.wait_for(lock, kGlance);
  }
}

std::vector<std::string> LowerTier::check() const {
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
  return violations;
}

}  // namespace holdfast
