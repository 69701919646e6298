#pragma once

#include <cstdint>

#include "base/time/elapsed.h"

namespace stoker {

// When checkpoints are due: every so many seconds, and so rarely that taking them costs no more than a small
// share of the time, whatever was asked for.
class CheckpointTimes {
 public:
  explicit CheckpointTimes(double seconds_between) : seconds_between_(seconds_between) {}

  bool is_due() const {
    return seconds_since(taken_) >= seconds_between_ &&
           spent_ + last_cost_ <= largest_share * seconds_since(began_);
  }
  void taken(double cost) {
    taken_ = now();
    last_cost_ = cost;
    spent_ += cost;
  }

 private:
  static constexpr double largest_share = 0.02;

  double seconds_between_;
  double spent_ = 0;
  double last_cost_ = 0;  // what the next one will cost, too
  Moment began_ = now();
  Moment taken_ = began_;
};

}  // namespace stoker
