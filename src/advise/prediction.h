#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "advise/measurements.h"

namespace stoker::advise {

// What a whole run of the document takes in one of the ways in which it can be run here.
struct Prediction {
  std::string device;
  std::string engine;
  std::string placement;
  double seconds = 0;              // from the start of the process to its end
  double training_seconds = 0;     // of them, from the first step to the last, or to its time limit
  double all_steps_seconds = 0;    // what all steps would take; more where a time limit ends them before
  std::uint64_t peak_bytes = 0;    // of the process
  std::uint64_t device_bytes = 0;  // of a GPU's memory; 0: none, or not known
  bool was_run = false;  // for a short while; false: from its steps alone, and from another run on the device
  bool is_usual = false;     // the placement that `auto` takes there
  bool is_measured = false;  // to its end: there is nothing to predict

  bool is_limited() const { return training_seconds < all_steps_seconds; }
  // By which ways are compared: of those that a time limit ends, the faster one gets further.
  double seconds_without_limit() const { return seconds - training_seconds + all_steps_seconds; }
};

struct Impossible {
  std::string device;
  std::string engine;
  std::string placement;
  std::string why;
};

// Of another batch size or another precision, with all else as it is in the way that it is held against.
struct Change {
  std::int64_t batch_size = 0;
  std::string precision;
  double seconds = 0;
  double step_seconds = 0;
  std::int64_t steps_per_epoch = 0;
};

struct Predictions {
  std::vector<Prediction> ways;
  std::vector<Impossible> impossible;
};

Predictions predictions_of(const Measurements& found);

// Of documents with one training; others have none. By time, the fastest first.
std::vector<Change> other_batches(const Measurements& found, const Prediction& way);
std::vector<Change> other_precisions(const Measurements& found, const Prediction& way);

// How long the steps of a training take in all that was seen for a while, whatever its time limit. `work` is
// null and a step that was measured by itself 0 where they are not known; the latter counts where no more
// than the first chunk was seen.
double loop_seconds_of(const MeasuredTraining& training, const Work* work, double steady_step_seconds);

}  // namespace stoker::advise
