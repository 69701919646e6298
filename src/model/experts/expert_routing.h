#pragma once

#include <cmath>
#include <cstdint>
#include <span>

// Who answers for a row, from the router's scores. For the CPU; other devices have twins of it.
namespace stoker {

// The softmax of the scores of those chosen, whatever their order.
inline void share_among(const float* scores, double temperature, std::int64_t count,
                        const std::int32_t* chosen, float* shares) {
  const auto scale = static_cast<float>(1 / temperature);
  float largest = scores[chosen[0]];
  for (std::int64_t k = 1; k < count; ++k)
    largest = scores[chosen[k]] > largest ? scores[chosen[k]] : largest;
  float sum = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    shares[k] = std::exp((scores[chosen[k]] - largest) * scale);
    sum += shares[k];
  }
  for (std::int64_t k = 0; k < count; ++k) shares[k] /= sum;
}

// The `count` living experts with the highest scores, in their order; of equals the first. `shares` are their
// softmax at that temperature. As many must live.
inline void route_row(const float* scores, std::span<const std::int32_t> living, double temperature,
                      std::int64_t count, std::int32_t* chosen, float* shares) {
  for (std::int64_t k = 0; k < count; ++k) {
    std::int32_t best = -1;
    for (const std::int32_t each : living) {
      bool is_taken = false;
      for (std::int64_t i = 0; i < k; ++i) is_taken = is_taken || chosen[i] == each;
      // A score that is not a number is never the best, unless nothing else is left.
      if (!is_taken && (best < 0 || scores[each] > scores[best])) best = each;
    }
    chosen[k] = best;
  }
  share_among(scores, temperature, count, chosen, shares);
}

// Shares of all living experts, [experts]; returns the logarithm of the sum of their exponentials.
inline float share_all(const float* scores, std::span<const std::int32_t> living, double temperature,
                       float* shares) {
  const auto scale = static_cast<float>(1 / temperature);
  float largest = scores[living.front()];
  for (const std::int32_t each : living) largest = scores[each] > largest ? scores[each] : largest;
  float sum = 0;
  for (const std::int32_t each : living) {
    shares[each] = std::exp((scores[each] - largest) * scale);
    sum += shares[each];
  }
  for (const std::int32_t each : living) shares[each] /= sum;
  return largest * scale + std::log(sum);
}

// The entropy of shares, of 1 where all are equal; 0 of a single expert.
inline float hesitation_of(const float* shares, std::span<const std::int32_t> living) {
  if (living.size() < 2) return 0;
  float entropy = 0;
  for (const std::int32_t each : living)
    if (shares[each] > 0) entropy -= shares[each] * std::log(shares[each]);
  return entropy / std::log(static_cast<float>(living.size()));
}

}  // namespace stoker
