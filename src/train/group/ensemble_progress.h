#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "base/notes.h"
#include "train/loop/progress.h"

namespace stoker {

// What the members of an ensemble tell, each on its own thread, told on as the progress of the whole.
class EnsembleProgress {
 public:
  EnsembleProgress(std::size_t members, TrainingListener& listener);
  // What the warnings of a member begin with, such as "member 3 of 8"; without it, they are passed on as they
  // are.
  std::function<std::string(std::size_t)> name_of_member;

  TrainingListener& of_member(std::size_t member) { return members_.at(member); }
  void member_ended(std::size_t member);
  // Notes about the whole. The listener hears them and its members one at a time.
  Notes notes();

 private:
  class OfMember : public TrainingListener {
   public:
    explicit OfMember(EnsembleProgress& whole) : whole_(whole) {}
    void epoch_finished(const EpochReport& report) override { epoch_ = epoch_number(report); }
    void advanced(std::int64_t step, std::int64_t total_steps, double steps_per_second) override;
    void note(Severity severity, const std::string& message) override;

   private:
    friend class EnsembleProgress;
    EnsembleProgress& whole_;
    std::int64_t epoch_ = 0;
    std::int64_t step_ = 0;
    double rate_ = 0;
    bool has_ended_ = false;
  };
  void tell(std::int64_t epoch);

  std::mutex mutex_;
  TrainingListener& listener_;
  std::vector<OfMember> members_;
  std::int64_t steps_of_one_ = 0;  // that a member takes unless it is stopped early
};

}  // namespace stoker
