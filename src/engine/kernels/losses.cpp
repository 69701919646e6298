#include "engine/kernels/losses.h"

#include <algorithm>
#include <cmath>

#include "engine/kernels/place.h"

namespace stoker::kernels {
namespace {

// Each returns the loss of one row and writes its gradient, already divided by the number of rows.
float mse_row(const float* outputs, const float* targets, std::int64_t width, float per_row,
              float* gradients) {
  const float per_output = 1.0F / static_cast<float>(width);
  float loss = 0;
  for (std::int64_t i = 0; i < width; ++i) {
    const float difference = outputs[i] - targets[i];
    loss += difference * difference;
    if (gradients != nullptr) gradients[i] = 2.0F * difference * per_output * per_row;
  }
  return loss * per_output;
}

float huber_row(const float* outputs, const float* targets, std::int64_t width, float delta, float per_row,
                float* gradients) {
  const float per_output = 1.0F / static_cast<float>(width);
  float loss = 0;
  for (std::int64_t i = 0; i < width; ++i) {
    const float difference = outputs[i] - targets[i];
    const float size = std::fabs(difference);
    const bool is_near = size <= delta;
    loss += is_near ? 0.5F * difference * difference : delta * (size - 0.5F * delta);
    if (gradients != nullptr)
      gradients[i] = (is_near ? difference : difference > 0 ? delta : -delta) * per_output * per_row;
  }
  return loss * per_output;
}

float binary_row(float logit, float target, float per_row, float* gradient) {
  const float small = std::exp(-std::fabs(logit));
  const float probability = (logit >= 0 ? 1.0F : small) / (1.0F + small);
  if (gradient != nullptr) *gradient = (probability - target) * per_row;
  return std::max(logit, 0.0F) - logit * target + std::log1p(small);
}

float class_row(const float* logits, std::int64_t target, std::int64_t width, float per_row,
                float* gradients) {
  float largest = logits[0];
  for (std::int64_t i = 1; i < width; ++i) largest = std::max(largest, logits[i]);
  float sum = 0;
  for (std::int64_t i = 0; i < width; ++i) sum += std::exp(logits[i] - largest);
  if (gradients != nullptr) {
    for (std::int64_t i = 0; i < width; ++i) {
      const float probability = std::exp(logits[i] - largest) / sum;
      gradients[i] = (probability - (i == target ? 1.0F : 0.0F)) * per_row;
    }
  }
  return std::log(sum) - (logits[target] - largest);
}

}  // namespace

void losses(const Losses& work) {
  const float per_row = 1.0F / static_cast<float>(work.rows);
  const bool counts = *work.stopped == 0;
  for (std::int64_t row = 0; row < work.rows; ++row) {
    const float* outputs = work.outputs + row * work.width;
    float* gradients = work.gradients == nullptr ? nullptr : work.gradients + row * work.width;
    float loss = 0;
    switch (work.loss) {
      case Loss::mse:
        loss = mse_row(outputs, work.float_targets + row * work.width, work.width, per_row, gradients);
        break;
      case Loss::binary_cross_entropy:
        loss = binary_row(*outputs, work.float_targets[row], per_row, gradients);
        break;
      case Loss::cross_entropy:
        loss = class_row(outputs, work.class_targets[row], work.width, per_row, gradients);
        break;
      case Loss::huber:
        loss = huber_row(outputs, work.float_targets + row * work.width, work.width, work.huber_delta,
                         per_row, gradients);
        break;
    }
    if (counts) work.row_sums[row] += loss;
  }
}

void losses(const Losses& work, const Place& place) {
  if (place.device.is_cuda()) {
    check_launch(losses_cuda(work, place.stream), "losses");
  } else {
    losses(work);
  }
}

}  // namespace stoker::kernels
