#include "api/response_keeper.h"

#include <algorithm>
#include <set>
#include <utility>

namespace holdfast::api {

std::size_t ResponseKeeper::read(tier::FileSystem& files, ResponseStore& store) {
  const auto survey = tier::ResponseFiles(files).read(
      [&](std::uint64_t, StoredResponse response) { (void)store.put(std::move(response)); });
  return survey.damaged.size();
}

std::size_t ResponseKeeper::begin(ResponseStore& store) {
  const auto survey = files_.read([&](std::uint64_t number, StoredResponse response) {
    const auto [known, fresh] = numbers_.try_emplace(response.id, number);
    if (!fresh) doom(std::exchange(known->second, number));
    (void)store.put(std::move(response));
  });
  last_number_ = survey.last_number;
  doomed_.insert(doomed_.end(), survey.damaged.begin(), survey.damaged.end());
  std::set<std::string> kept;
  for (const StoredResponsePtr& response : store.all()) kept.insert(response->id);
  std::erase_if(numbers_, [&](const auto& entry) {
    const bool gone = !kept.contains(entry.first);
    if (gone) doom(entry.second);
    return gone;
  });
  catch_up();
  return survey.damaged.size();
}

void ResponseKeeper::begin_in(tier::FileSystem& files, const std::vector<StoredResponsePtr>& all) {
  files_ = tier::ResponseFiles(files);
  numbers_.clear();
  doomed_.clear();
  waiting_.assign(all.begin(), all.end());
  again_ = {};
  catch_up();
}

void ResponseKeeper::keep(StoredResponsePtr response) {
  const auto same = [&](const StoredResponsePtr& one) { return one->id == response->id; };
  if (numbers_.contains(response->id) || std::ranges::any_of(waiting_, same)) return;
  waiting_.push_back(std::move(response));
  catch_up();
}

void ResponseKeeper::forget(const std::string& id) {
  std::erase_if(waiting_, [&](const StoredResponsePtr& one) { return one->id == id; });
  if (const auto found = numbers_.find(id); found != numbers_.end()) {
    doom(found->second);
    numbers_.erase(found);
  }
  catch_up();
}

Result<void> ResponseKeeper::clear() {
  numbers_.clear();
  waiting_.clear();
  doomed_.clear();
  const auto erased = files_.erase();
  if (!erased) return erased.error();
  return {};
}

void ResponseKeeper::finish() {
  again_ = {};
  catch_up();
}

void ResponseKeeper::catch_up() {
  if (clock_.now() < again_) return;
  const auto done = try_all();
  if (!done) again_ = clock_.now() + kPauseAfterFailure;
  if (std::exchange(in_trouble_, !done) == !done || !on_trouble) return;
  on_trouble(done ? "" : done.error().message);
}

// Removes first: a disk that is full has room again.
Result<void> ResponseKeeper::try_all() {
  while (!doomed_.empty()) {
    if (auto removed = files_.remove(doomed_.back()); !removed) return removed;
    doomed_.pop_back();
  }
  while (!waiting_.empty()) {
    const std::uint64_t number = last_number_ + 1;
    if (auto written = files_.write(number, *waiting_.front()); !written) {
      doom(number);  // what is left of it
      last_number_ = number;
      return written;
    }
    last_number_ = number;
    numbers_[waiting_.front()->id] = number;
    waiting_.pop_front();
  }
  return {};
}

std::vector<std::string> ResponseKeeper::check() const {
  std::vector<std::string> violations;
  for (const StoredResponsePtr& one : waiting_) {
    if (numbers_.contains(one->id)) violations.push_back("RKEEP-1: " + one->id);
  }
  std::set<std::uint64_t> used(doomed_.begin(), doomed_.end());
  for (const auto& [id, number] : numbers_) {
    if (!used.insert(number).second) violations.push_back("RKEEP-2: " + id);
  }
  return violations;
}

}  // namespace holdfast::api
