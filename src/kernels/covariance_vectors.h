#pragma once

#include <cstdint>

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/covariance_block.h"

// Vectors of the instruction set that the including file is compiled for. Everything here stays in that file:
// two instruction sets must never share a function.
namespace stoker::kernels {
namespace {

#if defined(__AVX512F__)
constexpr int lanes = 16;
#elif defined(__AVX2__)
constexpr int lanes = 8;
#else
constexpr int lanes = 4;
#endif

typedef float V __attribute__((vector_size(4 * lanes)));
typedef V Aligned __attribute__((may_alias));
typedef V Anywhere __attribute__((aligned(4), may_alias));

#define STOKER_INLINE static inline __attribute__((always_inline))

STOKER_INLINE V load(const float* from) {
  return *reinterpret_cast<const Aligned*>(from);
}
STOKER_INLINE V load_anywhere(const float* from) {
  return *reinterpret_cast<const Anywhere*>(from);
}
STOKER_INLINE void store(float* to, V value) {
  *reinterpret_cast<Aligned*>(to) = value;
}
STOKER_INLINE V smaller(V a, V b) {
#if defined(__AVX512F__)
  return reinterpret_cast<V>(_mm512_min_ps(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<V>(_mm256_min_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b)));
#elif defined(__x86_64__)
  return reinterpret_cast<V>(_mm_min_ps(reinterpret_cast<__m128>(a), reinterpret_cast<__m128>(b)));
#elif defined(__aarch64__)
  return reinterpret_cast<V>(vminq_f32(reinterpret_cast<float32x4_t>(a), reinterpret_cast<float32x4_t>(b)));
#else
  return a < b ? a : b;
#endif
}
STOKER_INLINE V larger(V a, V b) {
#if defined(__AVX512F__)
  return reinterpret_cast<V>(_mm512_max_ps(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<V>(_mm256_max_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b)));
#elif defined(__x86_64__)
  return reinterpret_cast<V>(_mm_max_ps(reinterpret_cast<__m128>(a), reinterpret_cast<__m128>(b)));
#elif defined(__aarch64__)
  return reinterpret_cast<V>(vmaxq_f32(reinterpret_cast<float32x4_t>(a), reinterpret_cast<float32x4_t>(b)));
#else
  return a > b ? a : b;
#endif
}

// What a pass over products fetches of the values ahead, spread evenly over its steps, so that memory is busy
// meanwhile.
struct Fetch {
  const float* from;
  std::int64_t step;
};

}  // namespace
}  // namespace stoker::kernels
