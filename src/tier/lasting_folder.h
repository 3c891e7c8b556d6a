// LastingFolder: a CacheFolder that outlives its folder.
//
// Somebody may delete or move the folder of a running server. Its files are open, so nothing
// fails but what needs a name: the next blob that is put. Then, and only then, the folder is
// looked for, and where it has gone a new one is made in its place: what was in it is lost,
// what comes is kept.
//
// Invariants, verified by lasting_folder_test.cc (IsMadeAnewWhereItWasDeleted):
//   LASTING-1  counts since the opening are those of all the folders that there were
//   LASTING-2  nothing that the lost folder held is said to be known
//
// One owning thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "tier/cache_folder.h"

namespace holdfast::tier {

class LastingFolder final : public BlobStore {
 public:
  // Errors as those of CacheFolder::open().
  [[nodiscard]] static Result<std::unique_ptr<LastingFolder>> open(std::string folder,
                                                                   DiskOptions options,
                                                                   std::int64_t now_ms);

  // Told when there is a new folder, while the files of the old one are still open.
  std::function<void()> on_renewed;

  [[nodiscard]] FileSystem& files() const { return folder_.files(); }
  [[nodiscard]] DiskStore& store() const { return *folder_; }

  [[nodiscard]] StoreRole role() const override { return folder_->role(); }
  [[nodiscard]] ByteCount budget() const override { return folder_->budget(); }
  [[nodiscard]] const StoreStats& stats() const override;
  [[nodiscard]] Moment moment(std::int64_t now_ms) override { return folder_->moment(now_ms); }
  [[nodiscard]] Result<PutAnswer> put(const RowsBlob& blob, Moment moment) override;
  [[nodiscard]] Result<PutAnswer> put(const PlaceBlob& blob, Moment moment) override;
  [[nodiscard]] ByteCount room_for(double saves_per_byte, Moment moment) const override {
    return folder_->room_for(saves_per_byte, moment);
  }
  [[nodiscard]] bool holds(const BlobFacts& facts) const override { return folder_->holds(facts); }
  [[nodiscard]] StoreMatch lookup(SpaceKey space, TokenSpan tokens) override {
    return folder_->lookup(space, tokens);
  }
  [[nodiscard]] Result<RowsBlob> load(const StoreMatch& match, const RowsHit& hit) override {
    return folder_->load(match, hit);
  }
  [[nodiscard]] Result<PlaceBlob> load(const StoreMatch& match, const PlaceHit& hit) override {
    return folder_->load(match, hit);
  }
  void distrust(SpaceKey space, const std::string& why) override { folder_->distrust(space, why); }
  [[nodiscard]] bool drop_space(SpaceKey space) override { return folder_->drop_space(space); }
  void drop_end(const PathEnd& end) override { folder_->drop_end(end); }
  void touch(std::span<const BlobKey> keys, std::int64_t now_ms) override {
    folder_->touch(keys, now_ms);
  }
  void revalue(std::span<const BlobWorth> worths, Moment moment) override {
    folder_->revalue(worths, moment);
  }
  ByteCount shrink_to(ByteCount bytes, std::int64_t now_ms) override {
    return folder_->shrink_to(bytes, now_ms);
  }

 private:
  LastingFolder(std::string path, DiskOptions options, CacheFolder folder)
      : path_(std::move(path)), options_(std::move(options)), folder_(std::move(folder)) {}

  template <typename AnyBlob>
  [[nodiscard]] Result<PutAnswer> put_any(const AnyBlob& blob, Moment moment);
  [[nodiscard]] bool renew(std::int64_t now_ms);

  const std::string path_;
  const DiskOptions options_;
  CacheFolder folder_;
  StoreStats past_;  // of folders that have gone
  mutable StoreStats stats_;
};

}  // namespace holdfast::tier
