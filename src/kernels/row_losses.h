#pragma once

#include <cmath>

#include "base/random.h"
#include "kernels/losses_work.h"

// The losses of one row: one text for the CPU and the CUDA kernel.
namespace stoker::kernels {

// Each returns the loss of one row and writes its gradient times `scale`.
STOKER_HOST_DEVICE float mse_row(const float* outputs, const float* targets, std::int64_t width, float scale,
                                 float* gradients) {
  const float per_output = 1.0F / static_cast<float>(width);
  float loss = 0;
  for (std::int64_t i = 0; i < width; ++i) {
    const float difference = outputs[i] - targets[i];
    loss += difference * difference;
    if (gradients != nullptr) gradients[i] = 2.0F * difference * per_output * scale;
  }
  return loss * per_output;
}

STOKER_HOST_DEVICE float huber_row(const float* outputs, const float* targets, std::int64_t width,
                                   float delta, float scale, float* gradients) {
  const float per_output = 1.0F / static_cast<float>(width);
  float loss = 0;
  for (std::int64_t i = 0; i < width; ++i) {
    const float difference = outputs[i] - targets[i];
    const float size = fabsf(difference);
    const bool is_near = size <= delta;
    loss += is_near ? 0.5F * difference * difference : delta * (size - 0.5F * delta);
    if (gradients != nullptr)
      gradients[i] = (is_near ? difference : difference > 0 ? delta : -delta) * per_output * scale;
  }
  return loss * per_output;
}

// Koenker and Bassett (1978): smallest, in the mean, at the quantile. On the target itself its slope is 0.
STOKER_HOST_DEVICE float quantile_row(const float* outputs, const float* targets, std::int64_t width,
                                      float quantile, float scale, float* gradients) {
  const float per_output = 1.0F / static_cast<float>(width);
  float loss = 0;
  for (std::int64_t i = 0; i < width; ++i) {
    const float difference = outputs[i] - targets[i];
    const float slope = difference > 0 ? 1.0F - quantile : difference < 0 ? -quantile : 0.0F;
    loss += slope * difference;
    if (gradients != nullptr) gradients[i] = slope * per_output * scale;
  }
  return loss * per_output;
}

// The logarithm of a variance is taken as one of these where it lies beyond them, and has no slope there.
constexpr float most_log_variance = 10;

// Of `width` outputs the last is the logarithm of the variance. The negative logarithm of the likelihood but
// for a constant, in the mean over the targets, as torch.nn.GaussianNLLLoss has it.
STOKER_HOST_DEVICE float gaussian_row(const float* outputs, const float* targets, std::int64_t width,
                                      float scale, float* gradients) {
  const std::int64_t count = width - 1;
  const float told = outputs[count];
  const float log_variance = fminf(fmaxf(told, -most_log_variance), most_log_variance);
  const float precision = expf(-log_variance);
  const float per_output = 1.0F / static_cast<float>(count);
  float squares = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const float difference = outputs[i] - targets[i];
    squares += difference * difference;
    if (gradients != nullptr) gradients[i] = difference * precision * per_output * scale;
  }
  const float weighed = squares * per_output * precision;
  if (gradients != nullptr) gradients[count] = told == log_variance ? 0.5F * (1.0F - weighed) * scale : 0.0F;
  return 0.5F * (log_variance + weighed);
}

// Smoothed, a target of 0 or 1 stands half of that share nearer to the middle.
STOKER_HOST_DEVICE float binary_row(float logit, float certain, float smoothing, float scale,
                                    float* gradient) {
  const float target = certain + smoothing * (0.5F - certain);
  const float small = expf(-fabsf(logit));
  const float probability = (logit >= 0 ? 1.0F : small) / (1.0F + small);
  if (gradient != nullptr) *gradient = (probability - target) * scale;
  return fmaxf(logit, 0.0F) - logit * target + log1pf(small);
}

// Smoothed as torch.nn.CrossEntropyLoss does it (Szegedy et al. 2016): each class has smoothing / width of
// the target, the right one the rest besides.
STOKER_HOST_DEVICE float class_row(const float* logits, std::int64_t target, std::int64_t width,
                                   float smoothing, float scale, float* gradients) {
  const float even = smoothing / static_cast<float>(width);
  float largest = logits[0];
  for (std::int64_t i = 1; i < width; ++i) largest = fmaxf(largest, logits[i]);
  float sum = 0;
  for (std::int64_t i = 0; i < width; ++i) sum += expf(logits[i] - largest);
  if (gradients != nullptr) {
    for (std::int64_t i = 0; i < width; ++i) {
      const float probability = expf(logits[i] - largest) / sum;
      gradients[i] = (probability - (i == target ? 1.0F - smoothing : 0.0F) - even) * scale;
    }
  }
  const float of_target = logf(sum) - (logits[target] - largest);
  if (smoothing == 0) return of_target;
  float of_all = 0;
  for (std::int64_t i = 0; i < width; ++i) of_all += logf(sum) - (logits[i] - largest);
  return (1.0F - smoothing) * of_target + even * of_all;
}

// Row `row` of the work: its loss, times its weight, with its gradients.
STOKER_HOST_DEVICE float loss_of_row(const Losses& work, std::int64_t row) {
  const std::int64_t stride = work.stride > 0 ? work.stride : work.width;
  float* gradients = work.gradients == nullptr ? nullptr : work.gradients + row * stride;
  std::int64_t mean_rows = work.mean_rows > 0 ? work.mean_rows : work.rows;
  if (work.batch_rows != nullptr) {
    mean_rows = *work.batch_rows;
    if (work.first_row + row >= mean_rows) {
      for (std::int64_t i = 0; gradients != nullptr && i < work.width; ++i) gradients[i] = 0;
      return 0;
    }
  }
  const float weight = work.row_weights == nullptr ? 1.0F : work.row_weights[row];
  const float scale = work.factor * weight / static_cast<float>(mean_rows);
  const float* outputs = work.outputs + row * stride;
  float loss = 0;
  switch (work.loss) {
    case Loss::mse:
      loss = mse_row(outputs, work.float_targets + row * work.width, work.width, scale, gradients);
      break;
    case Loss::binary_cross_entropy:
      loss = binary_row(*outputs, work.float_targets[row], work.smoothing, scale, gradients);
      break;
    case Loss::cross_entropy:
      loss = class_row(outputs, work.class_targets[row], work.width, work.smoothing, scale, gradients);
      break;
    case Loss::huber:
      loss =
          huber_row(outputs, work.float_targets + row * work.width, work.width, work.shape, scale, gradients);
      break;
    case Loss::quantile:
      loss = quantile_row(outputs, work.float_targets + row * work.width, work.width, work.shape, scale,
                          gradients);
      break;
    case Loss::gaussian:
      loss = gaussian_row(outputs, work.float_targets + row * (work.width - 1), work.width, scale, gradients);
      break;
    case Loss::output:
      loss = *outputs;
      if (gradients != nullptr) *gradients = scale;
      break;
  }
  return weight * loss;
}

// Whether the most probable class of the row is the right one; of several as probable, the first counts.
STOKER_HOST_DEVICE bool is_hit(const Losses& work, std::int64_t row) {
  const std::int64_t stride = work.stride > 0 ? work.stride : work.width;
  const float* outputs = work.outputs + row * stride;
  if (work.loss == Loss::binary_cross_entropy) return (outputs[0] > 0) == (work.float_targets[row] > 0.5F);
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < work.width; ++i)
    if (outputs[i] > outputs[best]) best = i;
  return best == work.class_targets[row];
}

// Adds to the sums what a row has brought. Rows that only pad a batch count for nothing.
STOKER_HOST_DEVICE void add_row(const Losses& work, std::int64_t row, float loss) {
  work.row_sums[row] += loss;
  if (work.hit_sums == nullptr) return;
  const bool is_padding = work.batch_rows != nullptr && work.first_row + row >= *work.batch_rows;
  if (!is_padding && is_hit(work, row)) work.hit_sums[row] += 1;
}

}  // namespace stoker::kernels
