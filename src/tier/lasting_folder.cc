#include "tier/lasting_folder.h"

namespace holdfast::tier {

namespace {

// What is counted since the opening, of both.
void add_counts(StoreStats& to, const StoreStats& more) {
  to.stored += more.stored;
  to.declined += more.declined;
  to.dropped += more.dropped;
  to.loaded += more.loaded;
  to.stored_bytes += more.stored_bytes;
  to.dropped_bytes += more.dropped_bytes;
  to.loaded_bytes += more.loaded_bytes;
  to.quarantined += more.quarantined;
  to.failed += more.failed;
  to.index_rebuilds += more.index_rebuilds;
  if (to.last_failure.empty()) to.last_failure = more.last_failure;
}

}  // namespace

Result<std::unique_ptr<LastingFolder>> LastingFolder::open(std::string folder, DiskOptions options,
                                                           std::int64_t now_ms) {
  auto opened = CacheFolder::open(folder, options, now_ms);
  if (!opened) return opened.error();
  return std::unique_ptr<LastingFolder>(
      new LastingFolder(std::move(folder), std::move(options), std::move(*opened)));
}

const StoreStats& LastingFolder::stats() const {
  stats_ = folder_->stats();
  add_counts(stats_, past_);
  return stats_;
}

template <typename AnyBlob>
Result<PutAnswer> LastingFolder::put_any(const AnyBlob& blob, Moment moment) {
  auto answer = folder_->put(blob, moment);
  return !answer && renew(moment.ms) ? folder_->put(blob, moment) : answer;
}

Result<PutAnswer> LastingFolder::put(const RowsBlob& blob, Moment moment) {
  return put_any(blob, moment);
}

Result<PutAnswer> LastingFolder::put(const PlaceBlob& blob, Moment moment) {
  return put_any(blob, moment);
}

bool LastingFolder::renew(std::int64_t now_ms) {
  if (folder_.still_there() || role() == StoreRole::kReader) return false;
  if (options_.stored_depths != nullptr) options_.stored_depths->clear();
  auto made = CacheFolder::open(path_, options_, now_ms);
  if (!made) return false;
  add_counts(past_, folder_->stats());
  const CacheFolder gone = std::exchange(folder_, std::move(*made));
  if (on_renewed) on_renewed();
  return true;
}

}  // namespace holdfast::tier
