#include "store/job_store.h"

#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/error.h"
#include "store/both_stores.h"

namespace stoker::test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class JobsOnRecord : public BothStores {
 protected:
  JobRecord add(const std::string& id, const std::string& name = "a job", const std::string& owner = "anna") {
    JobRecord job;
    job.id = id;
    job.name = name;
    job.owner = owner;
    job.document = "version: 1\nname: " + name;
    job.request = {{"job_name", name}};
    job.created = "2026-11-17T01:00:00.000Z";
    jobs_.add(job);
    return job;
  }
  void bring_to(const std::string& id, JobState state) {
    records_.to_write().run("UPDATE stoker_jobs SET state = $2 WHERE id = $1",
                            {id, std::string(config::name_of(state))});
  }
  std::vector<std::string> ids(const JobFilter& filter) {
    std::vector<std::string> found;
    for (const JobRecord& job : jobs_.list(filter)) found.push_back(job.id);
    return found;
  }

  Records records_;
  JobStore jobs_{records_};
};

TEST_P(JobsOnRecord, AreFoundAsTheyWerePut) {
  JobRecord job;
  job.id = "29b7b2f4";
  job.name = "100 % of 'it'; DROP TABLE \\ ünïcode";
  job.asked = JobWish::cancel;
  job.kind = JobKind::card;
  job.priority = -7;
  job.device = "cuda";
  job.slot = "gpu-0";
  job.time_limit = 12.5;
  job.document = "version: 1\ncards: {}\n";
  job.request = {{"config", {{"epochs", 3}, {"learning_rate", 0.001}}}};
  job.notes = {"one", "two"};
  job.owner = "anna";
  job.attempts = 2;
  job.reason = "why";
  job.run = "run-1";
  job.continues = "before";
  job.summary = {{"seconds", 1.5}};
  job.created = "c";
  job.started = "s";
  job.ended = "e";
  jobs_.add(job);
  EXPECT_EQ(job.number, 1);
  const auto found = jobs_.find("29b7b2f4");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, job.name);
  EXPECT_EQ(found->asked, job.asked);
  EXPECT_EQ(found->kind, job.kind);
  EXPECT_EQ(found->priority, job.priority);
  EXPECT_EQ(found->device, job.device);
  EXPECT_EQ(found->slot, job.slot);
  EXPECT_EQ(found->time_limit, job.time_limit);
  EXPECT_EQ(found->document, job.document);
  EXPECT_EQ(found->request, job.request);
  EXPECT_EQ(found->notes, job.notes);
  EXPECT_EQ(found->owner, job.owner);
  EXPECT_EQ(found->attempts, job.attempts);
  EXPECT_EQ(found->reason, job.reason);
  EXPECT_EQ(found->run, job.run);
  EXPECT_EQ(found->continues, job.continues);
  EXPECT_EQ(found->summary, job.summary);
  EXPECT_EQ(found->created + found->started + found->ended, "cse");
  EXPECT_FALSE(jobs_.find("another"));
}

// The whole table, as docs/service.md draws it.
TEST_P(JobsOnRecord, ChangeFromAStateToThoseThatMayFollowItAlone) {
  using enum JobState;
  const std::vector<std::pair<JobState, std::vector<JobState>>> allowed{
      {pending, {queued, cancelled}},
      {queued, {running, paused, cancelled}},
      {running, {queued, completed, failed, cancelled, paused}},
      {completed, {}},
      {failed, {queued}},
      {cancelled, {queued}},
      {paused, {queued, cancelled}}};
  add("a");
  std::int64_t events = 1;
  for (const auto& [now, after] : allowed)
    for (std::size_t i = 0; i < config::names<JobState>.size(); ++i) {
      const auto next = static_cast<JobState>(i);
      if (next == now) continue;
      bring_to("a", now);
      const auto become = [&] {
        return jobs_.change("a", "state", [&](JobRecord& job) {
          job.state = next;
          return true;
        });
      };
      if (std::ranges::find(after, next) != after.end()) {
        EXPECT_EQ(become()->state, next);
        ++events;
      } else {
        EXPECT_THROW(become(), Error) << config::name_of(now) << " to " << config::name_of(next);
        EXPECT_EQ(jobs_.find("a")->state, now);
      }
      EXPECT_EQ(jobs_.last_event("a"), events);
    }
}

TEST_P(JobsOnRecord, StayAsTheyWereWhenAChangeIsRefusedOrNone) {
  add("a");
  EXPECT_THROW(jobs_.change("a", "state",
                            [](JobRecord& job) -> bool {
                              job.state = JobState::queued;
                              throw std::runtime_error("no");
                            }),
               std::runtime_error);
  const auto same = jobs_.change("a", "state", [](JobRecord& job) {
    job.reason = "nothing of this is written";
    return false;
  });
  EXPECT_TRUE(same);
  EXPECT_EQ(jobs_.find("a")->state, JobState::pending);
  EXPECT_EQ(jobs_.find("a")->reason, "");
  EXPECT_EQ(jobs_.last_event("a"), 1);
  EXPECT_FALSE(jobs_.change("b", "state", [](JobRecord&) { return true; }));
}

TEST_P(JobsOnRecord, TellOfEachChangeOnceItIsMade) {
  std::vector<std::string> told;
  jobs_.when_changed([&](const JobRecord& job) {
    told.emplace_back(config::name_of(job.state));
    EXPECT_EQ(jobs_.find(job.id)->state, job.state);
  });
  add("a");
  jobs_.change("a", "state", [](JobRecord& job) {
    job.state = JobState::queued;
    return true;
  });
  jobs_.change("a", "state", [](JobRecord&) { return false; });
  EXPECT_THAT(told, ElementsAre("pending", "queued"));
}

TEST_P(JobsOnRecord, HaveEventsFromOneOnWithoutAGap) {
  add("a");
  add("b");
  for (int i = 0; i < 5; ++i) jobs_.add_event("a", "found", {{"process", i}});
  jobs_.add_event("none", "found", {});
  std::vector<std::int64_t> numbers;
  for (const JobEvent& event : jobs_.events("a", 0, 100)) numbers.push_back(event.number);
  EXPECT_THAT(numbers, ElementsAre(1, 2, 3, 4, 5, 6));
  const auto rest = jobs_.events("a", 4, 1);
  ASSERT_EQ(rest.size(), 1);
  EXPECT_EQ(rest[0].number, 5);
  EXPECT_EQ(rest[0].kind, "found");
  EXPECT_EQ(rest[0].details, json({{"process", 3}}));
  EXPECT_EQ(jobs_.last_event("b"), 1);
  EXPECT_EQ(jobs_.last_event("none"), 0);
  jobs_.remove("a");
  EXPECT_THAT(jobs_.events("a", 0, 100), IsEmpty());
  EXPECT_FALSE(jobs_.find("a"));
  EXPECT_TRUE(jobs_.find("b"));
}

TEST_P(JobsOnRecord, AreListedByWhatIsAskedFor) {
  add("a", "Houses 100%", "anna");
  add("b", "houses 100x", "bert");
  add("c", "bikes", "anna");
  bring_to("b", JobState::queued);
  bring_to("c", JobState::failed);
  EXPECT_THAT(ids({}), ElementsAre("c", "b", "a"));
  EXPECT_THAT(ids({.states = {JobState::queued, JobState::failed}}), ElementsAre("c", "b"));
  EXPECT_THAT(ids({.name_contains = "HOUSES"}), ElementsAre("b", "a"));
  EXPECT_THAT(ids({.name_contains = "100%"}), ElementsAre("a"));
  EXPECT_THAT(ids({.name_contains = "100_"}), IsEmpty());
  EXPECT_THAT(ids({.owner = "anna"}), ElementsAre("c", "a"));
  EXPECT_THAT(ids({.owner = "' OR '1' = '1"}), IsEmpty());
  EXPECT_THAT(ids({.dataset = "name: bikes"}), ElementsAre("c"));
  EXPECT_THAT(ids({.states = {JobState::failed}, .owner = "anna"}), ElementsAre("c"));
  EXPECT_EQ(jobs_.count({.owner = "anna"}), 2);
  using Count = std::pair<JobState, std::int64_t>;
  EXPECT_THAT(jobs_.counts(),
              ::testing::UnorderedElementsAre(Count(JobState::pending, 1), Count(JobState::queued, 1),
                                              Count(JobState::failed, 1)));
}

TEST_P(JobsOnRecord, AreListedWithoutWhatMayBeLong) {
  add("a");
  bring_to("a", JobState::queued);
  for (const auto& lines :
       {jobs_.list({}), jobs_.in_state(JobState::queued), jobs_.queued_for({"auto"}, 1)}) {
    ASSERT_EQ(lines.size(), 1);
    EXPECT_EQ(lines[0].document, "");
    EXPECT_TRUE(lines[0].request.is_null());
    EXPECT_EQ(lines[0].owner, "anna");
  }
}

TEST_P(JobsOnRecord, WaitInTheOrderOfPriorityAndArrival) {
  const std::vector<std::pair<std::string, std::int64_t>> priorities{
      {"a", 0}, {"b", 5}, {"c", 0}, {"d", -1}, {"e", 5}};
  for (const auto& [id, priority] : priorities) {
    add(id);
    records_.to_write().run("UPDATE stoker_jobs SET state = 'queued', priority = $2 WHERE id = $1",
                            {id, std::to_string(priority)});
  }
  records_.to_write().run("UPDATE stoker_jobs SET device = 'cuda' WHERE id = 'b'");
  const auto waiting = [&](const std::vector<std::string>& devices, std::int64_t limit) {
    std::string order;
    for (const JobRecord& job : jobs_.queued_for(devices, limit)) order += job.id;
    return order;
  };
  EXPECT_EQ(waiting({"auto", "cuda"}, 10), "beacd");
  EXPECT_EQ(waiting({"auto", "cpu"}, 3), "eac");
  EXPECT_EQ(waiting({"cpu"}, 3), "");
  EXPECT_EQ(jobs_.queued_before(*jobs_.find("c")), 3);
  EXPECT_EQ(jobs_.queued_before(*jobs_.find("b")), 0);
}

TEST_P(JobsOnRecord, ArePagedThroughToTheLastOfTenThousand) {
  add("first");
  constexpr int count = 10'000;
  const std::string document(2'000, 'x');
  std::vector<database::WrittenRow> rows;
  for (int i = 2; i <= count; ++i)
    rows.push_back({fmt::format("job-{}", i), std::to_string(i), fmt::format("job {}", i),
                    i % 3 == 0 ? "failed" : "completed", "training", "0", "cpu", "0", document, "{}", "[]",
                    i % 2 == 0 ? "anna" : "bert", "1", "run", "2026-11-17T01:00:00.000Z"});
  {
    database::Transaction all(records_.to_write());
    database::insert_rows(records_.to_write(), "stoker_jobs",
                          {"id", "number", "name", "state", "kind", "priority", "device", "time_limit",
                           "document", "request", "notes", "owner", "attempts", "run", "created"},
                          rows);
    all.commit();
  }
  EXPECT_EQ(jobs_.count({}), count);
  EXPECT_EQ(jobs_.count({.states = {JobState::failed}}), 3333);
  JobFilter filter;
  filter.limit = 500;
  std::int64_t expected = count;
  for (auto page = jobs_.list(filter); !page.empty(); page = jobs_.list(filter)) {
    for (const JobRecord& job : page) ASSERT_EQ(job.number, expected--);
    filter.before = page.back().number;
  }
  EXPECT_EQ(expected, 0);
  JobRecord next = add("next");
  EXPECT_EQ(next.number, count + 1);
}

INSTANTIATE_TEST_SUITE_P(On, JobsOnRecord, ::testing::Values(StoreKind::sqlite, StoreKind::postgres),
                         name_of_store);

}  // namespace
}  // namespace stoker::test
