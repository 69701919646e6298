#include "kernels/weights.h"

#include <cmath>

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

void add_squares(const Squares& work) {
  for (int part = 0; part < square_parts; ++part) {
    float sum = 0;
    for (std::int64_t i = part; i < work.count; i += square_parts)
      sum += work.gradients[i] * work.gradients[i];
    work.parts[part] = sum;
  }
}

void add_squares(const Squares& work, const Place& place) {
  if (place.device.is_cuda()) {
    check_launch(add_squares_cuda(work, place.stream), "add_squares");
  } else {
    add_squares(work);
  }
}

void adam(const Adam& work) {
  if (*work.skipped != 0) return;
  float squares = 0;
  for (int i = 0; work.squares != nullptr && i < square_parts; ++i) squares += work.squares[i];
  if (work.norm != nullptr) *work.norm = std::sqrt(squares) + 1e-6F;
  const AdamStep step = adam_step(work, squares);
  for (std::int64_t i = 0; i < work.count; ++i) adam_one(work, i, step);
}

void adam(const Adam& work, const Place& place) {
  if (place.device.is_cuda()) {
    check_launch(adam_cuda(work, place.stream), "adam");
  } else {
    adam(work);
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
