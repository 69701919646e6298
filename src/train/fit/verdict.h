#pragma once

#include <string>

namespace stoker {

// Where the time between the first and the last step of a training went.
struct TimeShares {
  double computing = 0;         // steps and validation
  double waiting_for_data = 0;  // for rows that were still on their way to the device
  double waiting_for_host =
      0;  // what was recorded, told and taken for checkpoints between two chunks of steps
};
TimeShares time_shares(double computing, double waiting_for_data);

// For people: "good: 98 % of the time was computing", with the larger cause where it is less than good. Good
// from 80 %, OK from 60 %, bad below. What helps against waiting for data depends on the device.
std::string verdict_on(const TimeShares& shares, bool is_on_gpu);
// Whether data was waited for so long that a person wants to know.
bool waited_for_data(const TimeShares& shares);

}  // namespace stoker
