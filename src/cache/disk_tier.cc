#include "cache/disk_tier.h"

#include <utility>

namespace holdfast::cache {

DiskTier::DiskTier(tier::BlobStore& store, std::shared_ptr<const tier::StoredDepths> known,
                   const env::Clock& clock, const DiskTierOptions& options)
    : reader_(store, std::move(known), clock, options.bytes_per_ms),
      behind_(store, clock, options, on),
      thread_(behind_) {}

// --- the engine's thread ---------------------------------------------------------------

void DiskTier::ask(std::function<void()> task) {
  thread_.ask([this, task = std::move(task)] {
    task();
    behind_.publish();
    if (on.news) on.news();
  });
}

std::shared_ptr<Pending<tier::StoreMatch>> DiskTier::look(SpaceKey space, TokenSpan keys) {
  used_.insert(space);
  auto reply = std::make_shared<Pending<tier::StoreMatch>>();
  ask([this, reply, space, tokens = Tokens(keys.begin(), keys.end())] {
    reply->set(reply->unwanted() ? tier::StoreMatch{} : reader_.look(space, tokens));
  });
  return reply;
}

std::shared_ptr<Pending<Brought>> DiskTier::bring(tier::StoreMatch match, ColdChoice choice) {
  auto reply = std::make_shared<Pending<Brought>>();
  ask([this, reply, match = std::move(match), choice = std::move(choice)] {
    reply->set(reply->unwanted() ? Brought{} : reader_.load(match, choice, *reply));
  });
  return reply;
}

void DiskTier::persist(KeptPath path) {
  if (path.rows.empty() && path.places.empty()) return;
  used_.insert(path.space);
  behind_.persist(std::move(path));
  thread_.wake();
}

void DiskTier::clear(const std::optional<SpaceKey>& only) {
  behind_.forget_waiting(only);
  ask([this, only] { behind_.clear_store(only); });
}

void DiskTier::forget_end(PathEnd end) {
  behind_.forget_waiting(end);
  ask([this, end = std::move(end)] { behind_.forget_stored(end); });
}

void DiskTier::distrust(SpaceKey space, const std::string& why) {
  behind_.forget_waiting();  // of other spaces too: what is here now was made by the same engine
  used_.insert(space);
  ask([this, spaces = used_, why] { behind_.distrust(spaces, why); });
}

// --- any thread ------------------------------------------------------------------------

DiskTierStatus DiskTier::status() const {
  DiskTierStatus status = behind_.status();
  status.bytes_per_ms = bytes_per_ms();
  return status;
}

Flushed DiskTier::flush(const std::function<bool(ByteCount)>& go_on) {
  const DiskTierStatus before = behind_.status();
  behind_.hurry();
  thread_.wake();
  Flushed flushed;
  flushed.interrupted =
      !thread_.wait_until_idle([&] { return go_on(behind_.status().bytes_waiting); });
  const DiskTierStatus after = behind_.status();
  if (flushed.interrupted) flushed.waiting_bytes = after.bytes_waiting;
  flushed.given_up = after.given_up;
  flushed.given_up.paths -= before.given_up.paths;
  flushed.given_up.bytes -= before.given_up.bytes;
  if (flushed.given_up.paths == 0) flushed.given_up.why.clear();
  flushed.lost = after.lost - before.lost;
  return flushed;
}

std::vector<std::string> DiskTier::check() const {
  return thread_.runs() ? behind_.check_queue() : behind_.check();
}

}  // namespace holdfast::cache
