// Which job is next, and that somebody else's long jobs do not hold a short one up.
#include "api/worker_pool.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <future>
#include <iostream>
#include <memory>
#include <random>
#include <semaphore>

#include "api/worker.h"

namespace holdfast::api {
namespace {

WorkerJob job_of(const std::string& client, bool heavy = false) {
  return {client, heavy, [](bool) {}};
}

std::string clients_of(FairJobs& jobs) {
  std::string taken;
  while (const auto job = jobs.take()) taken += job->client;
  return taken;
}

TEST(FairJobsTest, AClientLeavesOneWorkerToOthers) {
  FairJobs jobs(4);
  for (int i = 0; i < 10; ++i) jobs.push(job_of("a"));
  EXPECT_EQ(clients_of(jobs), "aaa");
  jobs.push(job_of("b"));
  EXPECT_EQ(clients_of(jobs), "b");
}

TEST(FairJobsTest, HeavyJobsOfAllClientsLeaveOneWorker) {
  FairJobs jobs(3);
  for (const char* client : {"a", "b", "c"}) jobs.push(job_of(client, true));
  EXPECT_EQ(clients_of(jobs), "ab");
  jobs.push(job_of("d"));
  EXPECT_EQ(clients_of(jobs), "d");
}

TEST(FairJobsTest, WhoHasLeastUnderWayIsNext) {
  FairJobs jobs(3);
  for (const char* client : {"a", "a", "a", "b"}) jobs.push(job_of(client));
  EXPECT_EQ(clients_of(jobs), "aba");
  jobs.push(job_of("c"));
  jobs.end(job_of("b"));
  EXPECT_EQ(clients_of(jobs), "c");
}

TEST(FairJobsTest, AClientsOwnShortRequestPassesItsLongOnes) {
  FairJobs jobs(4);
  for (int i = 0; i < 10; ++i) jobs.push(job_of("a", true));
  EXPECT_EQ(clients_of(jobs), "aa");
  jobs.push(job_of("a"));
  EXPECT_EQ(clients_of(jobs), "a");
  jobs.push(job_of("b"));
  EXPECT_EQ(clients_of(jobs), "b");
}

TEST(FairJobsTest, JOBS1to4_HoldWhateverComes) {
  constexpr std::uint32_t kSeed = 7;
  std::cout << "seed " << kSeed << "\n";
  std::mt19937 random(kSeed);
  const auto below = [&](std::size_t limit) { return random() % limit; };
  for (std::size_t workers = 2; workers < 6; ++workers) {
    FairJobs jobs(workers);
    std::vector<WorkerJob> under_way;
    for (int i = 0; i < 2000; ++i) {
      if (below(2) == 0) {
        jobs.push(job_of(std::string(1, static_cast<char>('a' + below(4))), below(2) == 0));
      } else if (auto job = jobs.take()) {
        under_way.push_back(std::move(*job));
      } else if (!under_way.empty()) {
        std::swap(under_way[below(under_way.size())], under_way.back());
        jobs.end(under_way.back());
        under_way.pop_back();
      }
      ASSERT_EQ(jobs.check(), std::vector<std::string>());
    }
    // Once jobs end, every one that waits has its turn.
    while (jobs.waiting() > 0 || !under_way.empty()) {
      while (auto job = jobs.take()) under_way.push_back(std::move(*job));
      ASSERT_FALSE(under_way.empty());
      jobs.end(under_way.back());
      under_way.pop_back();
    }
  }
}

// Long jobs that end when the test says so.
class LongJobs {
 public:
  explicit LongJobs(WorkerPool& pool) : pool_(pool) {}
  ~LongJobs() { gate_.set_value(); }

  void post(const std::string& client, int count) {
    for (int i = 0; i < count; ++i) {
      pool_.post({client, true, [began = began_, opened = opened_](bool wanted) {
                    if (!wanted) return;
                    began->release();
                    opened.wait();
                  }});
    }
    began_->acquire();
  }

 private:
  WorkerPool& pool_;
  const std::shared_ptr<std::counting_semaphore<>> began_ =
      std::make_shared<std::counting_semaphore<>>(0);
  std::promise<void> gate_;
  std::shared_future<void> opened_ = gate_.get_future().share();
};

TEST(WorkerPoolTest, AShortJobPassesSomebodysLongOnes) {
  WorkerPool pool(2);
  std::promise<void> done;
  {
    LongJobs books(pool);
    books.post("a", 20);
    pool.post({"b", false, [&](bool) { done.set_value(); }});
    done.get_future().wait();  // while the long ones still run
  }
}

TEST(WorkerPoolTest, WhatWaitsWhenItStopsIsToldSo) {
  std::promise<void> began;
  std::promise<void> go_on;
  std::atomic<int> unwanted = 0;
  WorkerPool pool(2);
  pool.post({"a", false, [&](bool) {
               began.set_value();
               go_on.get_future().wait();
             }});
  began.get_future().wait();
  for (int i = 0; i < 5; ++i) {
    pool.post({"a", false, [&](bool wanted) {
                 if (!wanted && ++unwanted == 5) go_on.set_value();
               }});
  }
  pool.stop();
  EXPECT_EQ(unwanted, 5);
}

template <typename Work>
void run_on(boost::asio::io_context& io, Worker worker, Work work) {
  boost::asio::co_spawn(
      io,
      [&, worker]() -> boost::asio::awaitable<void> {
        const int value = co_await on_worker(worker, work);
        EXPECT_EQ(value, 7);
      },
      [](const std::exception_ptr& failure) {
        if (failure) std::rethrow_exception(failure);
      });
  io.run();
}

TEST(OnWorkerTest, ComesBackToItsOwnThread) {
  boost::asio::io_context io;
  WorkerPool pool(2);
  std::thread::id worked;
  run_on(io, Worker{&pool, "a", false}, [&] {
    worked = std::this_thread::get_id();
    return 7;
  });
  EXPECT_NE(worked, std::this_thread::get_id());
}

TEST(OnWorkerTest, ThrowsWhatTheWorkThrows) {
  boost::asio::io_context io;
  WorkerPool pool(2);
  const auto fail = []() -> int { throw std::runtime_error("no"); };
  EXPECT_THROW(run_on(io, Worker{&pool, "a", false}, fail), std::runtime_error);
}

}  // namespace
}  // namespace holdfast::api
