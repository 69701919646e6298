#include "kernels/batch_norm.h"

#include <cmath>

#include "base/error.h"
#include "kernels/bfloat16.h"
#include "kernels/place.h"

namespace stoker::kernels {
namespace {

template <class Value>
void find_moments(const BatchNorm& work, std::int64_t column) {
  const auto* values = static_cast<const Value*>(work.of.values) + column;
  const std::int64_t count = work.of.counted_rows();
  float& running_mean = work.running_mean[column];
  float& running_variance = work.running_variance[column];
  double mean = running_mean;
  double variance = running_variance;
  if (count > 1) {
    double sum = 0;
    for (std::int64_t row = 0; row < count; ++row) sum += widened(values[row * work.of.width]);
    mean = sum / static_cast<double>(count);
    double squares = 0;
    for (std::int64_t row = 0; row < count; ++row) {
      const double difference = widened(values[row * work.of.width]) - mean;
      squares += difference * difference;
    }
    variance = squares / static_cast<double>(count);
    const double unbiased = squares / static_cast<double>(count - 1);
    running_mean = static_cast<float>(running_mean + work.momentum * (mean - running_mean));
    running_variance = static_cast<float>(running_variance + work.momentum * (unbiased - running_variance));
  }
  work.mean[column] = static_cast<float>(mean);
  work.inverse_deviation[column] = static_cast<float>(1 / std::sqrt(variance + work.epsilon));
}

template <class Value>
void norm_values(const BatchNorm& work) {
  for (std::int64_t column = 0; column < work.of.width; ++column) find_moments<Value>(work, column);
  const auto* values = static_cast<const Value*>(work.of.values);
  auto* normed = static_cast<Value*>(work.normed);
  for (std::int64_t row = 0; row < work.of.rows; ++row)
    for (std::int64_t column = 0; column < work.of.width; ++column) {
      const std::int64_t place = row * work.of.width + column;
      const float value = (widened(values[place]) - work.mean[column]) * work.inverse_deviation[column];
      narrow(value * work.weight[column] + work.bias[column], normed[place]);
    }
}

template <class Value>
void go_back_through_column(const BatchNormBack& work, std::int64_t column) {
  const NormedRows& of = work.of;
  const auto* values = static_cast<const Value*>(of.values) + column;
  const auto* gradient = static_cast<const Value*>(work.gradient) + column;
  auto* values_gradient = static_cast<Value*>(work.values_gradient) + column;
  const std::int64_t count = of.counted_rows();
  const float mean = work.mean[column];
  const float inverse = work.inverse_deviation[column];
  const auto normed = [&](std::int64_t row) { return (widened(values[row * of.width]) - mean) * inverse; };
  double sum = 0;
  double with_normed = 0;
  for (std::int64_t row = 0; row < count; ++row) {
    sum += widened(gradient[row * of.width]);
    with_normed += widened(gradient[row * of.width]) * normed(row);
  }
  work.bias_gradient[column] = static_cast<float>(sum);
  work.weight_gradient[column] = static_cast<float>(with_normed);
  // The moments of a prediction do not depend on the rows.
  const double share = count > 1 ? 1 / static_cast<double>(count) : 0;
  for (std::int64_t row = 0; row < of.rows; ++row) {
    const double centred =
        widened(gradient[row * of.width]) - share * (sum + static_cast<double>(normed(row)) * with_normed);
    const double back = row < count ? centred * inverse * work.weight[column] : 0;
    narrow(static_cast<float>(back), values_gradient[row * of.width]);
  }
}

template <class Value>
void go_back(const BatchNormBack& work) {
  for (std::int64_t column = 0; column < work.of.width; ++column) go_back_through_column<Value>(work, column);
}

[[noreturn]] void fail_in_fp16() {
  fail("batch norm of fp16 is not written for CPUs");
}

}  // namespace

void batch_norm(const BatchNorm& work) {
  switch (work.of.format) {
    case FloatFormat::fp32:
      return norm_values<float>(work);
    case FloatFormat::bf16:
      return norm_values<BFloat16>(work);
    case FloatFormat::fp16:
      break;
  }
  fail_in_fp16();
}

void batch_norm_back(const BatchNormBack& work) {
  switch (work.of.format) {
    case FloatFormat::fp32:
      return go_back<float>(work);
    case FloatFormat::bf16:
      return go_back<BFloat16>(work);
    case FloatFormat::fp16:
      break;
  }
  fail_in_fp16();
}

void batch_norm(const BatchNorm& work, const Place& place) {
  if (place.device.is_cuda()) {
    check_launch(batch_norm_cuda(work, place.stream), "batch_norm");
  } else {
    batch_norm(work);
  }
}

void batch_norm_back(const BatchNormBack& work, const Place& place) {
  if (place.device.is_cuda()) {
    check_launch(batch_norm_back_cuda(work, place.stream), "batch_norm_back");
  } else {
    batch_norm_back(work);
  }
}

}  // namespace stoker::kernels
