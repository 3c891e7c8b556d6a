#include "cache/write_behind.h"

#include <utility>

namespace holdfast::cache {

WriteBehind::WriteBehind(tier::BlobStore& store, const env::Clock& clock,
                         const DiskTierOptions& options, const DiskTierEvents& events)
    : store_(store),
      clock_(clock),
      events_(events),
      writer_(store, clock, options),
      paths_(options) {
  writer_.on_trouble = [this](const std::string& what) {
    publish();  // whoever is told finds it counted
    if (events_.trouble) events_.trouble(what);
  };
  writer_.on_space = [this](SpaceKey space) {
    if (events_.space) events_.space(space);
  };
  publish();
}

// --- any thread ------------------------------------------------------------------------

void WriteBehind::persist(KeptPath path) {
  const MutexLock lock(mutex_);
  if (!published_.writes) return;
  if (paths_.add(std::move(path), clock_.now())) ++published_.paths_lost;
}

void WriteBehind::forget_waiting(const std::optional<SpaceKey>& only) {
  const MutexLock lock(mutex_);
  paths_.clear(only);
}

void WriteBehind::forget_waiting(const PathEnd& end) {
  const MutexLock lock(mutex_);
  paths_.forget(end);
}

void WriteBehind::hurry() {
  const MutexLock lock(mutex_);
  hurry_ = true;
}

bool WriteBehind::waits() const {
  const MutexLock lock(mutex_);
  return paths_.size() + published_.paths_waiting > 0;
}

DiskTierStatus WriteBehind::status() const {
  const MutexLock lock(mutex_);
  DiskTierStatus status = published_;
  status.paths_waiting += paths_.size();
  status.bytes_waiting += paths_.bytes();
  return status;
}

void WriteBehind::count_missed_answer() {
  const MutexLock lock(mutex_);
  ++published_.answers_missed;
}

// --- the tier's thread -----------------------------------------------------------------

bool WriteBehind::ready() const {
  const bool begun = writer_.has_path() || writer_.has_waypoints();
  const bool pauses = writer_.pauses(busy_);
  const MutexLock lock(mutex_);
  return hurry_ || ((begun || paths_.has_rested(clock_.now())) && !pauses);
}

// From here on it counts as one of the writer's.
std::optional<KeptPath> WriteBehind::next_path() {
  const MutexLock lock(mutex_);
  const bool any = hurry_ || !writer_.has_waypoints();
  auto taken = paths_.take(clock_.now(), any ? PathQueue::Take::kAny : PathQueue::Take::kRested);
  if (taken) published_.paths_waiting = 1;
  return taken;
}

bool WriteBehind::work() {
  if (!writer_.has_path()) {
    if (auto path = next_path()) writer_.begin(std::move(*path));
  }
  if (!writer_.write_next()) return false;
  publish();
  return true;
}

void WriteBehind::distrust(const std::set<SpaceKey>& spaces, const std::string& why) {
  writer_.drop();
  publish();
  for (const SpaceKey space : spaces) store_.distrust(space, why);
}

std::string WriteBehind::drop_stored(const std::optional<SpaceKey>& only) {
  if (only)
    return store_.drop_space(*only) ? "some states stay: " + store_.stats().last_failure : "";
  store_.shrink_to(0, clock_.unix_ms());
  return store_.stats().bytes() > 0 ? "some states stay: " + store_.stats().last_failure : "";
}

void WriteBehind::clear_store(const std::optional<SpaceKey>& only) {
  writer_.drop(only);
  publish();
  std::string left = "another server writes to the cache folder, and what is there stays";
  if (store_.role() == tier::StoreRole::kWriter) {
    left = drop_stored(only);
    const Result<void> rest = events_.cleared ? events_.cleared() : Result<void>{};
    if (!rest) left = rest.error().message;
  }
  const MutexLock lock(mutex_);
  published_.left_by_clear = std::move(left);
}

void WriteBehind::forget_stored(const PathEnd& end) {
  writer_.drop(end);
  store_.drop_end(end);
  publish();
}

void WriteBehind::publish() {
  const NotWritten& not_written = writer_.not_written();
  const MutexLock lock(mutex_);
  published_.store = store_.stats();
  published_.budget = store_.budget();
  published_.writes = store_.role() == tier::StoreRole::kWriter;
  published_.lost = not_written.lost;
  published_.paths_declined = not_written.paths_declined;
  published_.given_up = not_written.given_up;
  published_.paths_waiting = writer_.has_path() || writer_.has_waypoints() ? 1 : 0;
  published_.bytes_waiting = writer_.bytes_left();
}

std::vector<std::string> WriteBehind::check_queue() const {
  const MutexLock lock(mutex_);
  return paths_.check();
}

std::vector<std::string> WriteBehind::check() const {
  std::vector<std::string> violations = check_queue();
  for (const std::string& more : writer_.check()) violations.push_back(more);
  const MutexLock lock(mutex_);
  if (published_.bytes_waiting != writer_.bytes_left()) {
    violations.emplace_back("BEHIND-1: the bytes that are left");
  }
  if ((published_.paths_waiting > 0) != (writer_.has_path() || writer_.has_waypoints())) {
    violations.emplace_back("BEHIND-1: whether something is left");
  }
  return violations;
}

}  // namespace holdfast::cache
