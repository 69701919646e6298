#pragma once

#include "engine/fused_cpu/simd.h"
#include "engine/fused_cpu/step.h"

// Dropout's decisions for 16 neighbours at once, the same as those of base/random.h: one hash decides two
// elements, the lower half of its bits the even one.
namespace stoker::fused_cpu {
namespace {

constexpr int hash_lanes = lanes == 4 ? 4 : 8;
typedef std::uint32_t Hash __attribute__((vector_size(4 * hash_lanes)));
typedef std::uint16_t Halves __attribute__((vector_size(4 * hash_lanes)));
typedef std::int16_t HalfMask __attribute__((vector_size(4 * hash_lanes)));

template <class Words>
STOKER_INLINE Words hashed(Words x, std::uint32_t second) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= (x >> 15) ^ second;
  x *= 0x846ca68bU;
  x ^= x >> 16;
  return x;
}

template <class Words, int count>
STOKER_INLINE Words counted(std::uint32_t factor) {
  Words words;
  for (int i = 0; i < count; ++i) words[i] = static_cast<std::uint32_t>(i) * factor;
  return words;
}

STOKER_INLINE void widen_masks(HalfMask keep, I* masks) {
#if defined(__AVX512F__)
  masks[0] = reinterpret_cast<I>(_mm512_cvtepi16_epi32(reinterpret_cast<__m256i>(keep)));
#elif defined(__AVX2__)
  const auto bits = reinterpret_cast<__m256i>(keep);
  masks[0] = reinterpret_cast<I>(_mm256_cvtepi16_epi32(_mm256_castsi256_si128(bits)));
  masks[1] = reinterpret_cast<I>(_mm256_cvtepi16_epi32(_mm256_extracti128_si256(bits, 1)));
#else
  masks[0] = reinterpret_cast<I>(__builtin_shuffle(keep, keep, HalfMask{0, 0, 1, 1, 2, 2, 3, 3}));
  masks[1] = reinterpret_cast<I>(__builtin_shuffle(keep, keep, HalfMask{4, 4, 5, 5, 6, 6, 7, 7}));
#endif
}

struct DropoutKey {
  std::uint32_t first;
  std::uint32_t second;
  std::uint16_t last;  // the threshold less 1, so that 65536 fits
};

// Which of the 16 elements from `element`, an even one, are kept, as masks of `lanes` each.
STOKER_INLINE void decide_even(const DropoutKey& key, std::uint32_t element, I* masks) {
  constexpr std::uint32_t golden = 0x9e3779b9U;
  constexpr int vectors = 8 / hash_lanes;
  for (int i = 0; i < vectors; ++i) {
    const std::uint32_t index = element / 2 + static_cast<std::uint32_t>(i * hash_lanes);
    const Hash bits = hashed(counted<Hash, hash_lanes>(golden) + (index * golden + key.first), key.second);
    const HalfMask keep = reinterpret_cast<Halves>(bits) > key.last;
    widen_masks(keep, masks + i * (hash_lanes * 2 / lanes));
  }
}

// The same from any element, for layers of an odd width, at twice the work.
STOKER_INLINE void decide_any(const DropoutKey& key, std::uint32_t element, I* masks) {
  for (int i = 0; i < panel / lanes; ++i) {
    const U elements = counted<U, lanes>(1) + (element + static_cast<std::uint32_t>(i * lanes));
    const U bits = hashed((elements >> 1) * 0x9e3779b9U + key.first, key.second);
    const U half = (bits >> ((elements & 1U) << 4)) & 0xffffU;
    masks[i] = half > static_cast<std::uint32_t>(key.last);
  }
}

}  // namespace
}  // namespace stoker::fused_cpu
