// FairJobs: jobs that wait for a worker, and which of them is next.
//
// The job of the client with the fewest jobs under way goes first, and the older of two. No client
// may hold every worker, nor may heavy jobs of all clients together: one worker is always left for
// somebody else's short request, or comes free as soon as a short one ends. A client's heavy jobs
// leave one more, for its own short requests: where no keys are set, all programs of a machine are
// one client.
//
//   4 workers    A A . .    A has sent ten books. One worker is left for A's own hello, and one for
//                           others: B's hello begins at once.
//
// Invariants, verified by check():
//   JOBS-1  a client has at most workers - 1 jobs under way
//   JOBS-2  at most workers - 1 heavy jobs are under way
//   JOBS-3  at most as many jobs are under way as there are workers
//   JOBS-4  a client has at most workers - 2 heavy jobs under way, or one
//
// Pure: no threads, no clock.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::api {

struct WorkerJob {
  std::string client;  // whose it is
  bool heavy = false;  // it may take much longer than others
  // With false: it will not be done, and the one who waits for it is told so.
  std::function<void(bool wanted)> run;
};

class FairJobs {
 public:
  // REQUIRES: workers >= 2.
  explicit FairJobs(std::size_t workers);

  void push(WorkerJob job) { waiting_.push_back(std::move(job)); }
  // The next job, which is under way from now on. None: nothing waits, or nothing may begin.
  [[nodiscard]] std::optional<WorkerJob> take();
  // A job that was taken is over.
  void end(const WorkerJob& job);
  // All that wait, which then wait no more.
  [[nodiscard]] std::list<WorkerJob> take_all();

  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  [[nodiscard]] std::vector<std::string> check() const;  // empty when JOBS-1..JOBS-4 hold

 private:
  // Jobs under way.
  struct Count {
    std::size_t all = 0;
    std::size_t heavy = 0;
  };
  [[nodiscard]] Count under_way_of(const std::string& client) const;
  [[nodiscard]] std::size_t heavy_most_of_client() const;
  [[nodiscard]] bool may_begin(const WorkerJob& job) const;

  const std::size_t workers_;
  std::list<WorkerJob> waiting_;
  std::map<std::string, Count> by_client_;  // those that have any
  Count under_way_;
};

}  // namespace holdfast::api
