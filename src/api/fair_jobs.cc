#include "api/fair_jobs.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace holdfast::api {

FairJobs::FairJobs(std::size_t workers) : workers_(workers) { CHECK(workers >= 2); }

FairJobs::Count FairJobs::under_way_of(const std::string& client) const {
  const auto found = by_client_.find(client);
  return found == by_client_.end() ? Count() : found->second;
}

std::size_t FairJobs::heavy_most_of_client() const {
  return std::max<std::size_t>(workers_ - 2, 1);
}

bool FairJobs::may_begin(const WorkerJob& job) const {
  const std::size_t most = workers_ - 1;
  const Count own = under_way_of(job.client);
  if (under_way_.all >= workers_ || own.all >= most) return false;
  return !job.heavy || (under_way_.heavy < most && own.heavy < heavy_most_of_client());
}

std::optional<WorkerJob> FairJobs::take() {
  auto next = waiting_.end();
  for (auto job = waiting_.begin(); job != waiting_.end(); ++job) {
    if (!may_begin(*job)) continue;
    const bool first = next == waiting_.end();
    if (first || under_way_of(job->client).all < under_way_of(next->client).all) next = job;
  }
  if (next == waiting_.end()) return std::nullopt;
  WorkerJob taken = std::move(*next);
  waiting_.erase(next);
  for (Count* count : {&by_client_[taken.client], &under_way_}) {
    ++count->all;
    count->heavy += taken.heavy ? 1 : 0;
  }
  return taken;
}

void FairJobs::end(const WorkerJob& job) {
  const auto client = by_client_.find(job.client);
  CHECK(client != by_client_.end());
  for (Count* count : {&client->second, &under_way_}) {
    --count->all;
    count->heavy -= job.heavy ? 1 : 0;
  }
  if (client->second.all == 0) by_client_.erase(client);
}

std::list<WorkerJob> FairJobs::take_all() { return std::exchange(waiting_, {}); }

std::vector<std::string> FairJobs::check() const {
  std::vector<std::string> violations;
  const auto expect = [&](bool holds, const char* what) {
    if (!holds) violations.emplace_back(what);
  };
  for (const auto& [client, count] : by_client_) {
    expect(count.all < workers_, "JOBS-1: a client holds all workers");
    expect(count.heavy <= heavy_most_of_client(), "JOBS-4: a client has too many heavy jobs");
  }
  expect(under_way_.heavy < workers_, "JOBS-2: heavy jobs hold all workers");
  expect(under_way_.all <= workers_, "JOBS-3: more jobs than workers");
  return violations;
}

}  // namespace holdfast::api
