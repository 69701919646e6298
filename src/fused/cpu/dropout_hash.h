#pragma once

#include "fused/cpu/simd.h"
#include "fused/cpu/step.h"

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

#if !defined(__AVX512F__)
STOKER_INLINE void widen_masks(HalfMask keep, I* masks) {
#if defined(__AVX2__)
  const auto bits = reinterpret_cast<__m256i>(keep);
  masks[0] = reinterpret_cast<I>(_mm256_cvtepi16_epi32(_mm256_castsi256_si128(bits)));
  masks[1] = reinterpret_cast<I>(_mm256_cvtepi16_epi32(_mm256_extracti128_si256(bits, 1)));
#else
  masks[0] = reinterpret_cast<I>(__builtin_shuffle(keep, keep, HalfMask{0, 0, 1, 1, 2, 2, 3, 3}));
  masks[1] = reinterpret_cast<I>(__builtin_shuffle(keep, keep, HalfMask{4, 4, 5, 5, 6, 6, 7, 7}));
#endif
}
#endif

struct DropoutKey {
  std::uint32_t first;
  std::uint32_t second;
  std::uint16_t last;  // the threshold less 1, so that 65536 fits
};

constexpr std::uint32_t golden = 0x9e3779b9U;

// Which of the elements of `panels` panels from `element`, an even one, are kept.
template <int panels>
STOKER_INLINE void decide_even(const DropoutKey& key, std::uint32_t element, Keep* keep) {
  const std::uint32_t first = element / 2 * golden + key.first;
#if defined(__AVX512F__)
  if constexpr (panels == 2) {
    const U bits = hashed(counted<U, lanes>(golden) + first, key.second);
    const __mmask32 both = _mm512_cmpgt_epu16_mask(reinterpret_cast<__m512i>(bits),
                                                   _mm512_set1_epi16(static_cast<short>(key.last)));
    keep[0] = static_cast<Keep>(both);
    keep[1] = static_cast<Keep>(both >> 16);
  } else {
    const Hash bits = hashed(counted<Hash, hash_lanes>(golden) + first, key.second);
    keep[0] = _mm256_cmpgt_epu16_mask(reinterpret_cast<__m256i>(bits),
                                      _mm256_set1_epi16(static_cast<short>(key.last)));
  }
#else
  for (int i = 0; i < panels * 8 / hash_lanes; ++i) {
    const std::uint32_t start = first + static_cast<std::uint32_t>(i * hash_lanes) * golden;
    const Hash bits = hashed(counted<Hash, hash_lanes>(golden) + start, key.second);
    const HalfMask halves = reinterpret_cast<Halves>(bits) > key.last;
    widen_masks(halves, keep + i * (hash_lanes * 2 / lanes));
  }
#endif
}

STOKER_INLINE Keep above(U values, std::uint16_t last) {
#if defined(__AVX512F__)
  return _mm512_cmpgt_epu32_mask(reinterpret_cast<__m512i>(values), _mm512_set1_epi32(last));
#else
  return values > static_cast<std::uint32_t>(last);
#endif
}

// Which of any elements are kept, a hash for each.
STOKER_INLINE Keep decide_each(const DropoutKey& key, U elements) {
  const U bits = hashed((elements >> 1) * golden + key.first, key.second);
  return above((bits >> ((elements & 1U) << 4)) & 0xffffU, key.last);
}

// Of those of `panels` panels from any element, for layers of an odd width, at twice the work.
template <int panels>
STOKER_INLINE void decide_any(const DropoutKey& key, std::uint32_t element, Keep* keep) {
  for (int i = 0; i < panels * panel / lanes; ++i)
    keep[i] = decide_each(key, counted<U, lanes>(1) + (element + static_cast<std::uint32_t>(i * lanes)));
}

}  // namespace
}  // namespace stoker::fused_cpu
