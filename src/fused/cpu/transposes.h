#pragma once

#include "fused/cpu/simd.h"
#include "fused/cpu/step.h"

namespace stoker::fused_cpu {
namespace {

// The numbers of two vectors in turns, within each four lanes: those of their lower or of their upper halves.
STOKER_INLINE V lower_in_turns(V one, V other) {
#if defined(__AVX512F__)
  return reinterpret_cast<V>(
      _mm512_unpacklo_ps(reinterpret_cast<__m512>(one), reinterpret_cast<__m512>(other)));
#elif defined(__AVX2__)
  return reinterpret_cast<V>(
      _mm256_unpacklo_ps(reinterpret_cast<__m256>(one), reinterpret_cast<__m256>(other)));
#else
  return __builtin_shuffle(one, other, I{0, 4, 1, 5});
#endif
}
STOKER_INLINE V upper_in_turns(V one, V other) {
#if defined(__AVX512F__)
  return reinterpret_cast<V>(
      _mm512_unpackhi_ps(reinterpret_cast<__m512>(one), reinterpret_cast<__m512>(other)));
#elif defined(__AVX2__)
  return reinterpret_cast<V>(
      _mm256_unpackhi_ps(reinterpret_cast<__m256>(one), reinterpret_cast<__m256>(other)));
#else
  return __builtin_shuffle(one, other, I{2, 6, 3, 7});
#endif
}

// Four lanes of a vector each to a row of their own, four rows apart: `to` is where the first ones go.
STOKER_INLINE void store_fours(float* to, V value) {
  typedef Four Stored __attribute__((may_alias));
#if defined(__AVX512F__)
  const auto all = reinterpret_cast<__m512>(value);
  *reinterpret_cast<Stored*>(to) = reinterpret_cast<Four>(_mm512_castps512_ps128(all));
  *reinterpret_cast<Stored*>(to + 4 * panel) = reinterpret_cast<Four>(_mm512_extractf32x4_ps(all, 1));
  *reinterpret_cast<Stored*>(to + 8 * panel) = reinterpret_cast<Four>(_mm512_extractf32x4_ps(all, 2));
  *reinterpret_cast<Stored*>(to + 12 * panel) = reinterpret_cast<Four>(_mm512_extractf32x4_ps(all, 3));
#elif defined(__AVX2__)
  const auto all = reinterpret_cast<__m256>(value);
  *reinterpret_cast<Stored*>(to) = reinterpret_cast<Four>(_mm256_castps256_ps128(all));
  *reinterpret_cast<Stored*>(to + 4 * panel) = reinterpret_cast<Four>(_mm256_extractf128_ps(all, 1));
#else
  *reinterpret_cast<Stored*>(to) = value;
#endif
}

// Writes rows of 16 at `from` (`count` of them, a multiple of 4) as columns: target row n gets element n of
// each. Target rows are 16 apart.
STOKER_INLINE void transpose_into(float* to, const float* from, int count) {
  for (int r = 0; r < count; r += 4) {
    for (int q = 0; q < panel; q += lanes) {
      const float* source = from + r * panel + q;
      const V a = load(source);
      const V b = load(source + panel);
      const V c = load(source + 2 * panel);
      const V d = load(source + 3 * panel);
      const V ac_lower = lower_in_turns(a, c);
      const V ac_upper = upper_in_turns(a, c);
      const V bd_lower = lower_in_turns(b, d);
      const V bd_upper = upper_in_turns(b, d);
      float* target = to + q * panel + r;
      store_fours(target, lower_in_turns(ac_lower, bd_lower));
      store_fours(target + panel, upper_in_turns(ac_lower, bd_lower));
      store_fours(target + 2 * panel, lower_in_turns(ac_upper, bd_upper));
      store_fours(target + 3 * panel, upper_in_turns(ac_upper, bd_upper));
    }
  }
}

}  // namespace
}  // namespace stoker::fused_cpu
