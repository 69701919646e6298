#pragma once

#include "fused/cpu/sets/set_step.h"
#include "fused/cpu/simd.h"

// The norm of members and what a set has in common: mean, largest and deviation of each value, and how many
// members are present. Columns beyond the width stay zeros.
namespace stoker::fused_cpu {
namespace {

// Which of the columns from `first` on lie within the width.
STOKER_INLINE I within_width(std::int64_t width, std::int64_t first) {
  I place;
  for (int i = 0; i < lanes; ++i) place[i] = i;
  return place < static_cast<std::int32_t>(width - first);
}

void norm_members(const SetNetwork& sets, const SetSlice& slice) {
  const std::int64_t stride = sets.padded_width();
  const float part = 1.0F / static_cast<float>(sets.width);
  const float* weights = sets.network->parameters + sets.norm_weights;
  const float* biases = sets.network->parameters + sets.norm_biases;
  for (std::int64_t member = 0; member < slice.members; ++member) {
    const float* in = slice.sum + member * stride;
    float* out = slice.normed + member * stride;
    V sum{};
    for (std::int64_t i = 0; i < stride; i += lanes) sum += load(in + i);
    const float mean = sum_in_halves(sum) * part;
    V squares{};
    for (std::int64_t i = 0; i < stride; i += lanes) {
      const V from_mean = choose(within_width(sets.width, i), load(in + i) - mean, V{});
      squares += from_mean * from_mean;
    }
    const float scale = 1.0F / __builtin_sqrtf(sum_in_halves(squares) * part + sets.norm_epsilon);
    for (std::int64_t i = 0; i < stride; i += lanes)
      store(out + i, (load(in + i) - mean) * scale * load(weights + i) + load(biases + i));
    slice.means[member] = mean;
    slice.scales[member] = scale;
  }
}

// Gradients of what the norm put out to those of what entered it, and added to its own.
void norm_members_back(const SetNetwork& sets, const SetSlice& slice, float* gradients) {
  const std::int64_t stride = sets.padded_width();
  const float part = 1.0F / static_cast<float>(sets.width);
  const float* weights = sets.network->parameters + sets.norm_weights;
  float* of_weights = gradients + sets.norm_weights;
  float* of_biases = gradients + sets.norm_biases;
  float* deltas = slice.attention.deltas[attended];
  for (std::int64_t member = 0; member < slice.members; ++member) {
    const float* in = slice.sum + member * stride;
    const float* gradient = slice.normed_gradient + member * stride;
    const float mean = slice.means[member];
    const float scale = slice.scales[member];
    V level{};
    V along{};
    for (std::int64_t i = 0; i < stride; i += lanes) {
      const V normed = (load(in + i) - mean) * scale;
      const V of_normed = load(gradient + i) * load(weights + i);
      level += of_normed;
      along += of_normed * normed;
      store(of_weights + i, load(of_weights + i) + load(gradient + i) * normed);
      store(of_biases + i, load(of_biases + i) + load(gradient + i));
    }
    const float mean_level = sum_in_halves(level) * part;
    const float mean_along = sum_in_halves(along) * part;
    for (std::int64_t i = 0; i < stride; i += lanes) {
      const V normed = (load(in + i) - mean) * scale;
      const V of_normed = load(gradient + i) * load(weights + i);
      const V delta = scale * (of_normed - mean_level - normed * mean_along);
      store(deltas + member * stride + i, choose(within_width(sets.width, i), delta, V{}));
    }
  }
}

// What one set's values are compared and counted by.
struct PooledSet {
  std::int64_t first;
  std::int64_t count;
  float part;      // of one member in the mean; 0 where none is present
  float distance;  // added to values before they are compared
};

STOKER_INLINE PooledSet pooled_set(const SetNetwork& sets, const SetSlice& slice, std::int64_t number) {
  const std::int64_t first = slice.firsts[number];
  const std::int64_t count = slice.firsts[number + 1] - first;
  if (slice.present[number] > 0) return {first, count, 1.0F / static_cast<float>(count), 0.0F};
  return {first, count, 0.0F, sets.far_below};
}

void pool_sets(const SetNetwork& sets, const SetSlice& slice) {
  const std::int64_t stride = sets.padded_width();
  for (std::int64_t number = 0; number < slice.sets; ++number) {
    const PooledSet set = pooled_set(sets, slice, number);
    const float* values = slice.normed + set.first * stride;
    float* pooled = slice.head.active[head_inner] + number * 4 * stride;
    for (std::int64_t i = 0; i < stride; i += lanes) {
      V sum = load(values + i);
      V top = sum;
      for (std::int64_t member = 1; member < set.count; ++member) {
        const V value = load(values + member * stride + i);
        sum += value;
        top = choose((value > top) | (value != value), value, top);
      }
      const V mean = sum * set.part;
      V squares{};
      for (std::int64_t member = 0; member < set.count; ++member) {
        const V difference = load(values + member * stride + i) - mean;
        squares += difference * difference;
      }
      const V deviation = square_root(squares * set.part + sets.least_variance);
      const I within = within_width(sets.width, i);
      store(pooled + i, mean);
      store(pooled + stride + i, choose(within, top + set.distance, V{}));
      store(pooled + 2 * stride + i, choose(within, deviation, V{}));
      store(pooled + 3 * stride + i, choose(within, all(slice.present[number]), V{}));
    }
  }
}

// The gradient of the largest goes to all that are as large, in equal parts.
void pool_sets_back(const SetNetwork& sets, const SetSlice& slice) {
  const std::int64_t stride = sets.padded_width();
  for (std::int64_t number = 0; number < slice.sets; ++number) {
    const PooledSet set = pooled_set(sets, slice, number);
    const float* values = slice.normed + set.first * stride;
    const float* pooled = slice.head.active[head_inner] + number * 4 * stride;
    const float* gradient = slice.pooled_gradient + number * 4 * stride;
    float* out = slice.normed_gradient + set.first * stride;
    for (std::int64_t i = 0; i < stride; i += lanes) {
      const V mean = load(pooled + i);
      const V top = load(pooled + stride + i);
      V largest{};
      for (std::int64_t member = 0; member < set.count; ++member)
        largest += choose(load(values + member * stride + i) + set.distance == top, all(1.0F), V{});
      const V of_mean = load(gradient + i) * set.part;
      const V of_top = load(gradient + stride + i) / choose(largest > 0.0F, largest, all(1.0F));
      // In the padding the deviation is 0.
      const V deviation = choose(within_width(sets.width, i), load(pooled + 2 * stride + i), all(1.0F));
      const V of_deviation = load(gradient + 2 * stride + i) * set.part / deviation;
      for (std::int64_t member = 0; member < set.count; ++member) {
        const V value = load(values + member * stride + i);
        const V of_largest = choose(value + set.distance == top, of_top, V{});
        store(out + member * stride + i, of_mean + of_deviation * (value - mean) + of_largest);
      }
    }
  }
}

}  // namespace
}  // namespace stoker::fused_cpu
