#include "cache/path_writer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "cache/path_queue.h"

namespace holdfast::cache {

void PathWriter::begin(KeptPath path) {
  CHECK(!has_path());
  std::erase_if(waypoints_left_, [&](const auto& left) { return begins_with(path, left->path()); });
  if (on_space) on_space(path.space);
  at_hand_ = std::make_unique<PathProgress>(std::move(path), store_, clock_.unix_ms(),
                                            options_.blob_tokens);
  if (at_hand_->core_written()) store_.revalue(at_hand_->plan().there, at_hand_->moment());
  if (at_hand_->plan().length == 0) ++not_written_.paths_declined;
}

bool PathWriter::write_next() {
  if (!has_path()) {
    if (!has_waypoints()) return false;
    at_hand_ = std::move(waypoints_left_.front());
    waypoints_left_.pop_front();
  }
  const PathPart part = at_hand_->next();
  if (part.kind == PathPart::Kind::kNone) {
    at_hand_.reset();
    return true;
  }
  const bool waypoint = part.kind == PathPart::Kind::kWaypoint;
  if (waypoint) at_hand_->done(part);
  write(part);
  if (!waypoint) at_hand_->done(part);
  let_waypoints_wait(part);
  return true;
}

// Another path's core may have come meanwhile.
void PathWriter::let_waypoints_wait(const PathPart& part) {
  PathProgress& at = *at_hand_;
  if (part.kind == PathPart::Kind::kWaypoint) {
    if (at.all_written()) {
      at_hand_.reset();
    } else {
      waypoints_left_.push_front(std::move(at_hand_));
    }
    return;
  }
  if (!at.core_written()) return;
  // From now on the turn before is worth what it is beside this one.
  store_.revalue(at.plan().there, at.moment());
  if (at.plan().waypoints.empty()) return;
  waypoints_left_.push_back(std::move(at_hand_));
  if (waypoints_left_.size() > options_.paths_max) waypoints_left_.pop_front();
}

void PathWriter::write(const PathPart& part) {
  if (part.kind == PathPart::Kind::kRows) {
    auto rows = at_hand_->rows_blob(part.rows);
    if (rows) return put(*rows, std::nullopt);
  } else {
    auto place = at_hand_->place_blob(part.place);
    if (place) return put(*place, part.place.saves);
  }
  ++not_written_.lost;
}

template <typename AnyBlob>
void PathWriter::put(AnyBlob& blob, std::optional<std::uint64_t> saves) {
  PathProgress& at = *at_hand_;
  const auto facts = tier::outline(blob);
  if (!facts) return note_trouble(facts.error().message);
  blob.saves = saves ? *saves : at.plan().rows_save(facts->bytes);
  if (store_.holds(*facts)) return;
  const ByteCount place_bytes = saves ? facts->bytes : 0;  // rows count until they are written
  const auto answer = store_.put(blob, at.moment());
  if (!answer) return note_trouble(answer.error().message, place_bytes);
  if (*answer == tier::PutAnswer::kDeclined && store_.stats().full) {
    return note_trouble("the volume is full", place_bytes);
  }
  // There was room when this began.
  if (*answer == tier::PutAnswer::kDeclined && !at.core_written()) {
    give_up("there is no room any more", place_bytes);
  }
  if (pace_.end_trouble() && on_trouble) on_trouble("");
  if (*answer != tier::PutAnswer::kStored) return;
  at.note_stored(*facts);
  pace_.note_written(facts->bytes, at.core_written() ? 0 : at.plan().missing, clock_.now());
}

// The rest of the path is given up: the next one that goes this way brings it along.
void PathWriter::note_trouble(const std::string& what, ByteCount place_bytes) {
  if (pace_.begin_trouble() && on_trouble) on_trouble(what);
  give_up(what, place_bytes);
  pace_.pause_after_failure(clock_.now());
}

// What has been written stays. `place_bytes`: of the place that it failed at.
void PathWriter::give_up(const std::string& why, ByteCount place_bytes) {
  const ByteCount left = at_hand_->bytes_left() + place_bytes;
  at_hand_->give_up(store_);
  ++not_written_.given_up.paths;
  not_written_.given_up.bytes += left;
  not_written_.given_up.why = why;
}

template <typename Goes>
void PathWriter::drop_those(Goes goes) {
  std::erase_if(waypoints_left_, [&](const auto& one) { return goes(one->path()); });
  if (at_hand_ && goes(at_hand_->path())) at_hand_.reset();
}

void PathWriter::drop(const std::optional<SpaceKey>& only) {
  drop_those([&](const KeptPath& path) { return !only || path.space == *only; });
}

void PathWriter::drop(const PathEnd& end) {
  drop_those([&](const KeptPath& path) { return end.holds(path.space, path.keys); });
}

ByteCount PathWriter::bytes_left() const {
  ByteCount left = at_hand_ ? at_hand_->bytes_left() : 0;
  for (const auto& path : waypoints_left_) left += path->bytes_left();
  return left;
}

std::vector<std::string> PathWriter::check() const {
  std::vector<std::string> violations;
  if (waypoints_left_.size() > options_.paths_max) {
    violations.emplace_back("PATHWRITER-2: too many paths wait with their waypoints");
  }
  for (auto path = waypoints_left_.begin(); path != waypoints_left_.end(); ++path) {
    const PathProgress& left = **path;
    if (!left.core_written()) violations.emplace_back("PATHWRITER-2: waypoints without their core");
    if (left.all_written()) violations.emplace_back("PATHWRITER-2: a path without waypoints waits");
    const bool outgrown =
        (at_hand_ && begins_with(at_hand_->path(), left.path())) ||
        std::any_of(std::next(path), waypoints_left_.end(),
                    [&](const auto& later) { return begins_with(later->path(), left.path()); });
    if (outgrown) violations.emplace_back("PATHWRITER-3: waypoints that a later path begins with");
  }
  return violations;
}

}  // namespace holdfast::cache
