// ResponseKeeper: keeps what a ResponseStore holds in a cache folder (tier/response_files.h).
//
//   store     a b c d      what clients may name
//   folder    a b          c could not be written: the disk is full
//   later     a b c d      tried again with the next one, when there is room
//
// The folder is never larger than the store, but for files that cannot be removed just now. After a
// failure nothing is tried for a while; what a client sees does not depend on it.
//
// Invariants, verified by check():
//   RKEEP-1  a response has a file, or waits for one, and not both
//   RKEEP-2  no two responses have the same file
//
// One owning thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "api/responses_store.h"
#include "env/clock.h"
#include "tier/response_files.h"

namespace holdfast::api {

class ResponseKeeper {
 public:
  static constexpr std::chrono::seconds kPauseAfterFailure{10};

  // REQUIRES: both outlive it.
  ResponseKeeper(tier::FileSystem& files, const env::Clock& clock) : files_(files), clock_(clock) {}

  // Told of the first failure and, with nothing, of the first success after it; for the log.
  std::function<void(const std::string&)> on_trouble;

  // Gives the store what the folder holds, and removes files of what the store did not keep and
  // what is damaged. How many were damaged. To be called first.
  [[nodiscard]] std::size_t begin(ResponseStore& store);
  // The same without changing anything, for a process that does not write.
  [[nodiscard]] static std::size_t read(tier::FileSystem& files, ResponseStore& store);
  // The folder was rebuilt, and is empty: all of these are written again.
  void begin_in(tier::FileSystem& files, const std::vector<StoredResponsePtr>& all);

  // One that is there already stays as it is.
  void keep(StoredResponsePtr response);
  void forget(const std::string& id);
  // Removes all that is there.
  [[nodiscard]] Result<void> clear();
  // Nothing more will come: what was missed is tried once more.
  void finish();

  [[nodiscard]] std::vector<std::string> check() const;  // empty when RKEEP-1 and 2 hold

 private:
  void catch_up();
  [[nodiscard]] Result<void> try_all();
  void doom(std::uint64_t number) { doomed_.push_back(number); }

  tier::ResponseFiles files_;
  const env::Clock& clock_;
  std::map<std::string, std::uint64_t> numbers_;  // of responses' files
  std::uint64_t last_number_ = 0;
  std::deque<StoredResponsePtr> waiting_;  // to be written
  std::vector<std::uint64_t> doomed_;      // files to be removed
  bool in_trouble_ = false;
  env::Clock::TimePoint again_{};  // after a failure not before
};

}  // namespace holdfast::api
