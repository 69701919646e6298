// Several who ask at once, each with a connection of its own, as two services on one store would.
#include <atomic>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "store/both_stores.h"
#include "store/job_store.h"

namespace stoker::test {
namespace {

class JobsOfSeveral : public BothStores {
 protected:
  static constexpr int threads = 4;

  template <class Work>
  static void at_once(Work work) {
    std::vector<std::thread> all;
    for (int i = 0; i < threads; ++i)
      all.emplace_back([&work, i] {
        try {
          Records records;
          JobStore jobs(records);
          work(jobs, i);
        } catch (const std::exception& error) {
          ADD_FAILURE() << error.what();
        }
      });
    for (std::thread& each : all) each.join();
  }
};

TEST_P(JobsOfSeveral, HaveNumbersOfTheirOwn) {
  constexpr int each_adds = 10;
  at_once([](JobStore& jobs, int thread) {
    for (int i = 0; i < each_adds; ++i) {
      JobRecord job;
      job.id = fmt::format("{}-{}", thread, i);
      jobs.add(job);
    }
  });
  Records records;
  std::set<std::int64_t> numbers;
  for (const JobRecord& job : JobStore(records).list({})) numbers.insert(job.number);
  EXPECT_EQ(numbers.size(), threads * each_adds);
  EXPECT_EQ(*numbers.begin(), 1);
  EXPECT_EQ(*numbers.rbegin(), threads * each_adds);
}

TEST_P(JobsOfSeveral, AreStartedByOneAlone) {
  constexpr int jobs_in_line = 10;
  {
    Records records;
    JobStore jobs(records);
    for (int i = 0; i < jobs_in_line; ++i) {
      JobRecord job;
      job.id = fmt::format("{}", i);
      job.state = JobState::queued;
      jobs.add(job);
    }
  }
  std::atomic<int> started = 0;
  at_once([&](JobStore& jobs, int) {
    for (int i = 0; i < jobs_in_line; ++i) {
      bool is_mine = false;
      jobs.change(fmt::format("{}", i), "state", [&](JobRecord& job) {
        if (job.state != JobState::queued) return false;
        job.state = JobState::running;
        ++job.attempts;
        is_mine = true;
        return true;
      });
      if (is_mine) ++started;
    }
  });
  EXPECT_EQ(started, jobs_in_line);
  Records records;
  JobStore jobs(records);
  for (int i = 0; i < jobs_in_line; ++i) {
    EXPECT_EQ(jobs.find(fmt::format("{}", i))->attempts, 1);
    EXPECT_EQ(jobs.last_event(fmt::format("{}", i)), 2);
  }
}

TEST_P(JobsOfSeveral, HaveEventsWithoutAGap) {
  {
    Records records;
    JobRecord job;
    job.id = "a";
    JobStore(records).add(job);
  }
  constexpr int each_tells = 10;
  at_once([](JobStore& jobs, int thread) {
    for (int i = 0; i < each_tells; ++i) jobs.add_event("a", "found", {{"by", thread}});
  });
  Records records;
  std::int64_t expected = 1;
  for (const JobEvent& event : JobStore(records).events("a", 0, 1000)) EXPECT_EQ(event.number, expected++);
  EXPECT_EQ(expected, threads * each_tells + 2);
}

INSTANTIATE_TEST_SUITE_P(On, JobsOfSeveral, ::testing::Values(StoreKind::sqlite, StoreKind::postgres),
                         name_of_store);

}  // namespace
}  // namespace stoker::test
