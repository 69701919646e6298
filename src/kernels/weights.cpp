#include "kernels/weights.h"

#include "kernels/each_weight.h"
#include "kernels/place.h"

namespace stoker::kernels {

void lion(const Lion& work) {
  if (*work.skipped != 0) return;
  const float rate = *work.learning_rate;
  for (std::int64_t i = 0; i < work.count; ++i) lion_one(work, i, rate);
}

void lion(const Lion& work, const Place& place) {
  if (place.device.is_cuda()) {
    check_launch(lion_cuda(work, place.stream), "lion");
  } else {
    lion(work);
  }
}

void average_weights(const WeightAverage& work) {
  if (*work.skipped != 0) return;
  const float share = share_of_update(work.decay, *work.update_number);
  for (std::int64_t i = 0; i < work.count; ++i) average_one(work, i, share);
}

void average_weights(const WeightAverage& work, const Place& place) {
  if (place.device.is_cuda()) {
    check_launch(average_weights_cuda(work, place.stream), "average_weights");
  } else {
    average_weights(work);
  }
}

}  // namespace stoker::kernels
