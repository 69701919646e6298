#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <mutex>
#include <vector>

#include "sweep/material.h"
#include "sweep/results.h"
#include "sweep/rungs.h"
#include "sweep/trials.h"
#include "train/many.h"

namespace stoker {

// Trains the candidates of a sweep, rung by rung.
class Search {
 public:
  Search(const SweepDocument& sweep, std::filesystem::path checkpoints, int threads, Results& results,
         Notes notes, const StopSignal& stop);

  const std::vector<Candidate>& candidates() const { return candidates_; }
  std::int64_t trainings() const;  // of all rungs
  // Called with every training that has ended, one at a time.
  std::function<void(const FoldResult&)> on_result = [](const FoldResult&) {};

  // Until all are trained or the time is up.
  void run();
  // How all candidates did, by number.
  std::vector<Trial> trials() const;
  bool budget_reached() const { return budget_reached_; }
  // Of the first candidate that failed.
  ExitCode first_failure() const { return first_failure_; }

 private:
  struct Job {
    std::size_t trial = 0;
    std::int64_t fold = 0;
  };

  void run_rung(std::int64_t rung, const std::vector<Job>& jobs);
  void run_on_threads(std::int64_t rung, const std::vector<Job>& jobs);
  void run_side_by_side(std::int64_t rung, const std::vector<Job>& jobs);
  void run_job(std::int64_t rung, const Job& job);
  void run_group(std::int64_t rung, const std::vector<Job>& jobs, const std::vector<Work>& works,
                 const std::vector<Member>& members);
  void keep_trained(std::int64_t rung, const Job& job, const Work& work, const Member& member,
                    const MemberResult& trained);
  std::optional<Work> work_for(std::int64_t rung, const Job& job);
  Member member_for(std::int64_t rung, const Job& job, const Work& work) const;
  std::vector<Job> jobs_of(std::int64_t rung) const;
  void prune(std::int64_t rung);
  void keep(FoldResult result);
  void keep_failure(std::int64_t rung, const Job& job, const Error& error);
  bool is_last(std::int64_t rung) const { return rung + 1 == static_cast<std::int64_t>(rungs_.size()); }
  std::int64_t folds() const { return std::max<std::int64_t>(1, sweep_.config.folds); }
  bool time_is_up();

  const SweepDocument& sweep_;
  std::filesystem::path checkpoints_;
  int threads_;
  Results& results_;
  StopSignal stop_;  // the caller's, and for all to stop when one cannot go on
  Material material_;
  std::vector<Candidate> candidates_;
  std::vector<Rung> rungs_;
  std::vector<std::size_t> alive_;         // candidates that have not been given up
  std::vector<std::int64_t> given_up_in_;  // rung, by candidate; -1: not given up
  std::mutex mutex_;                       // of results_ and first_failure_
  std::atomic<bool> budget_reached_ = false;
  ExitCode first_failure_ = ExitCode::done;
};

}  // namespace stoker
