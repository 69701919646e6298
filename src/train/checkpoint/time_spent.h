#pragma once

#include <filesystem>
#include <mutex>

#include "base/time/elapsed.h"

namespace stoker {

// How long a training of several parts has taken, over all its sittings. A part's checkpoint knows its own
// time alone, and parts overlap. May be used by several threads.
class TimeSpent {
 public:
  // In the folder of the training's checkpoints; with an empty name nothing is kept.
  TimeSpent(const std::filesystem::path& checkpoints, bool goes_on);

  double of_earlier_sittings() const { return earlier_; }
  double seconds() const { return earlier_ + seconds_since(began_); }
  void keep();
  // On the way out with an error, which is the one to tell.
  void keep_if_possible() noexcept;

 private:
  std::filesystem::path file_;
  double earlier_ = 0;
  Moment began_ = now();
  std::mutex mutex_;
};

}  // namespace stoker
