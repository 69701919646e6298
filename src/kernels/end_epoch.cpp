#include "kernels/end_epoch.h"

#include <algorithm>

#include "kernels/epoch_decision.h"
#include "kernels/place.h"

namespace stoker::kernels {
namespace {

double take_sum(double* sums, std::int64_t count) {
  double total = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    total += sums[i];
    sums[i] = 0;
  }
  return total;
}

}  // namespace

void end_epoch(const EndEpoch& work) {
  if (*work.stopped != 0) return;
  const double train_sum = take_sum(work.row_sums, work.row_sum_count);
  const double validation_sum =
      work.validation_rows > 0 ? take_sum(work.validation_sums, work.validation_sum_count) : 0;
  EpochHits hits;
  if (work.train_hits != nullptr) hits.train = take_sum(work.train_hits, work.row_sum_count);
  if (work.validation_hits != nullptr)
    hits.validation = take_sum(work.validation_hits, work.validation_sum_count);
  if (decide_epoch(work, train_sum, validation_sum, hits)) {
    std::copy_n(work.parameters, work.parameter_count, work.best_parameters);
  }
}

void end_epoch(const EndEpoch& work, const Place& place) {
  if (place.device.is_cuda()) {
    check_launch(end_epoch_cuda(work, place.stream), "end_epoch");
  } else {
    end_epoch(work);
  }
}

}  // namespace stoker::kernels
