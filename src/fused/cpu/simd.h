#pragma once

#include <cstdint>
#include <cstring>

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__x86_64__)
#include <immintrin.h>
#endif

// Vectors of the instruction set that the including file is compiled for. This header and those that build on
// it keep everything to the file that includes them: two instruction sets must never share a function or a
// type.
#define STOKER_INLINE static inline __attribute__((always_inline))

namespace stoker::fused_cpu {
namespace {

#if defined(__AVX512F__)
constexpr int lanes = 16;
#elif defined(__AVX2__)
constexpr int lanes = 8;
#else
constexpr int lanes = 4;
#endif

typedef float V __attribute__((vector_size(4 * lanes)));
typedef std::int32_t I __attribute__((vector_size(4 * lanes)));
typedef std::uint32_t U __attribute__((vector_size(4 * lanes)));
typedef float Four __attribute__((vector_size(16)));

STOKER_INLINE V load(const float* from) {
  return *reinterpret_cast<const V __attribute__((may_alias))*>(from);
}
STOKER_INLINE void store(float* to, V value) {
  *reinterpret_cast<V __attribute__((may_alias))*>(to) = value;
}
// The same where nothing is known of the place.
typedef V Anywhere __attribute__((aligned(4), may_alias));
STOKER_INLINE V load_anywhere(const float* from) {
  return *reinterpret_cast<const Anywhere*>(from);
}
STOKER_INLINE void store_anywhere(float* to, V value) {
  *reinterpret_cast<Anywhere*>(to) = value;
}
STOKER_INLINE V all(float value) {
  return value - V{};
}
STOKER_INLINE I bits_of(V value) {
  return reinterpret_cast<I>(value);
}
STOKER_INLINE V as_floats(I bits) {
  return reinterpret_cast<V>(bits);
}
// Where the mask is all ones, one, else other.
STOKER_INLINE V choose(I mask, V one, V other) {
  return as_floats((bits_of(one) & mask) | (bits_of(other) & ~mask));
}

// Which lanes of a vector are kept: all ones in each, or bits of a register for such.
#if defined(__AVX512F__)
typedef __mmask16 Keep;
STOKER_INLINE V kept(V value, Keep keep) {
  return reinterpret_cast<V>(_mm512_maskz_mov_ps(keep, reinterpret_cast<__m512>(value)));
}
STOKER_INLINE Keep unless_at_most_zero(V value) {
  return _mm512_cmp_ps_mask(reinterpret_cast<__m512>(value), _mm512_setzero_ps(), _CMP_NLE_UQ);
}
#else
typedef I Keep;
STOKER_INLINE V kept(V value, Keep keep) {
  return as_floats(bits_of(value) & keep);
}
// Above 0, or a NaN.
STOKER_INLINE Keep unless_at_most_zero(V value) {
  return ~(value <= 0.0F);
}
#endif

STOKER_INLINE V size_of_each(V value) {
  return as_floats(bits_of(value) & 0x7fffffff);
}

// Zeros made anew. Compilers make one and copy it, which on ARM takes a multiplier's time each; this does
// not.
STOKER_INLINE V zero() {
#if defined(__aarch64__)
  V value;
  asm("movi %0.2d, #0" : "=w"(value));
  return value;
#else
  return V{};
#endif
}

// What lies there, read anew instead of copied from a register, for the same reason.
STOKER_INLINE V load_again(const float* from) {
#if defined(__aarch64__)
  V value;
  asm("ldr %q0, %1" : "=w"(value) : "m"(*reinterpret_cast<const V __attribute__((may_alias))*>(from)));
  return value;
#else
  return load(from);
#endif
}

// max(value, 0); a NaN stays.
STOKER_INLINE V at_least_zero(V value) {
#if defined(__aarch64__)
  return reinterpret_cast<V>(vmaxq_f32(reinterpret_cast<float32x4_t>(value), vdupq_n_f32(0)));
#elif defined(__AVX512F__)
  return reinterpret_cast<V>(_mm512_max_ps(_mm512_setzero_ps(), reinterpret_cast<__m512>(value)));
#elif defined(__AVX2__)
  return reinterpret_cast<V>(_mm256_max_ps(_mm256_setzero_ps(), reinterpret_cast<__m256>(value)));
#else
  return as_floats(bits_of(value) & ~(value < 0.0F));
#endif
}

STOKER_INLINE V square_root(V value) {
#if defined(__aarch64__)
  return reinterpret_cast<V>(vsqrtq_f32(reinterpret_cast<float32x4_t>(value)));
#elif defined(__AVX512F__)
  return reinterpret_cast<V>(_mm512_sqrt_ps(reinterpret_cast<__m512>(value)));
#elif defined(__AVX2__)
  return reinterpret_cast<V>(_mm256_sqrt_ps(reinterpret_cast<__m256>(value)));
#elif defined(__x86_64__)
  return reinterpret_cast<V>(_mm_sqrt_ps(reinterpret_cast<__m128>(value)));
#else
  V result;
  for (int i = 0; i < lanes; ++i) result[i] = __builtin_sqrtf(value[i]);
  return result;
#endif
}

STOKER_INLINE float sum_of(V value) {
  float sum = 0;
  for (int i = 0; i < lanes; ++i) sum += value[i];
  return sum;
}

// The sum in halves, which is faster, and the largest.
STOKER_INLINE float sum_in_halves(V value) {
#if defined(__AVX512F__)
  return _mm512_reduce_add_ps(reinterpret_cast<__m512>(value));
#else
  for (int half = lanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) value[i] += value[i + half];
  return value[0];
#endif
}
STOKER_INLINE float largest_of(V value) {
#if defined(__AVX512F__)
  return _mm512_reduce_max_ps(reinterpret_cast<__m512>(value));
#else
  for (int half = lanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) value[i] = value[i] < value[i + half] ? value[i + half] : value[i];
  return value[0];
#endif
}

}  // namespace
}  // namespace stoker::fused_cpu
