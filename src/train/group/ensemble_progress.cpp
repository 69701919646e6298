#include "train/group/ensemble_progress.h"

#include <algorithm>

namespace stoker {

EnsembleProgress::EnsembleProgress(std::size_t members, TrainingListener& listener)
    : listener_(listener), members_(members, OfMember(*this)) {}

void EnsembleProgress::OfMember::advanced(std::int64_t step, std::int64_t total_steps,
                                          double steps_per_second) {
  const std::lock_guard lock(whole_.mutex_);
  step_ = step;
  rate_ = steps_per_second;
  whole_.steps_of_one_ = std::max(whole_.steps_of_one_, total_steps);
  whole_.tell(epoch_);
}

void EnsembleProgress::OfMember::note(Severity severity, const std::string& message) {
  const auto number = static_cast<std::size_t>(this - whole_.members_.data());
  const bool is_named = severity == Severity::warning && whole_.name_of_member;
  const std::lock_guard lock(whole_.mutex_);
  whole_.listener_.note(severity, is_named ? whole_.name_of_member(number) + ": " + message : message);
}

Notes EnsembleProgress::notes() {
  return [this](Severity severity, const std::string& message) {
    const std::lock_guard lock(mutex_);
    listener_.note(severity, message);
  };
}

void EnsembleProgress::member_ended(std::size_t member) {
  const std::lock_guard lock(mutex_);
  OfMember& ended = members_.at(member);
  ended.has_ended_ = true;
  tell(ended.epoch_);
}

// A member that has ended has done all its steps, however few it needed.
void EnsembleProgress::tell(std::int64_t epoch) {
  EnsembleStanding standing{0, members_.size(), epoch};
  std::int64_t steps = 0;
  double rate = 0;
  for (const OfMember& member : members_) {
    steps += member.has_ended_ ? steps_of_one_ : std::min(member.step_, steps_of_one_);
    if (member.has_ended_) ++standing.finished;
    if (!member.has_ended_) rate += member.rate_;
  }
  listener_.ensemble_advanced(standing);
  listener_.advanced(steps, steps_of_one_ * static_cast<std::int64_t>(members_.size()), rate);
}

}  // namespace stoker
