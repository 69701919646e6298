#pragma once

#include <cmath>
#include <cstdint>

// Counter-based random numbers, the same on the CPU and in CUDA kernels: a number is a function of
// (seed, purpose, step, index), so there is no state to keep, a resumed run draws what an uninterrupted
// one would have drawn, and engines can be compared with each other step by step.
#ifdef __CUDACC__
#define STOKER_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define STOKER_HOST_DEVICE inline
#endif

namespace stoker {

enum class Purpose : std::uint32_t {
  shuffle = 1,
  dropout = 2,  // + layer in the step's upper bits, see dropout_key
  initialise = 3,
  split = 4,
  sample = 5,
  shard = 6,  // + shard in the step's upper bits
  member = 7,
  noise = 8,
  structure = 9,
  exploration = 10,
};

// Two words: the first moves the counter, the second is mixed in half-way, so that the windows of two
// steps never run in parallel, as they would with a single additive key.
struct RandomKey {
  std::uint32_t first;
  std::uint32_t second;
};

// 32-bit finaliser of Chris Wellons' hash prospector ("lowbias32"), bias 0.17.
STOKER_HOST_DEVICE std::uint32_t mix(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  x ^= x >> 16;
  return x;
}

STOKER_HOST_DEVICE RandomKey random_key(std::uint64_t seed, Purpose purpose, std::uint64_t step) {
  const std::uint32_t low =
      mix(static_cast<std::uint32_t>(seed) + 0x9e3779b9U * static_cast<std::uint32_t>(purpose));
  const std::uint32_t high = mix(static_cast<std::uint32_t>(seed >> 32) ^ low);
  const std::uint32_t first = mix(static_cast<std::uint32_t>(step) ^ high);
  const std::uint32_t second = mix(static_cast<std::uint32_t>(step >> 32) + first + 0x85ebca6bU);
  return {first, second};
}

// Dropout of layer `layer` in step `step`: layers draw from different keys of the same step.
STOKER_HOST_DEVICE RandomKey dropout_key(std::uint64_t seed, std::uint64_t step, std::uint32_t layer) {
  return random_key(seed, Purpose::dropout, step | (static_cast<std::uint64_t>(layer) << 48));
}

STOKER_HOST_DEVICE std::uint32_t random_bits(RandomKey key, std::uint32_t index) {
  std::uint32_t x = index * 0x9e3779b9U + key.first;
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= (x >> 15) ^ key.second;
  x *= 0x846ca68bU;
  x ^= x >> 16;
  return x;
}

// Dropout decides two neighbours with one hash: element 2i by the lower, 2i + 1 by the upper half.
STOKER_HOST_DEVICE bool dropped(std::uint32_t bits, std::uint32_t element, std::uint32_t threshold) {
  const std::uint32_t half = (element & 1U) != 0 ? bits >> 16 : bits & 0xffffU;
  return half < threshold;
}
STOKER_HOST_DEVICE std::uint32_t dropout_threshold(float probability) {
  return static_cast<std::uint32_t>(probability * 65536.0F + 0.5F);
}

// Uniform in [0, 1) with 32 bits.
STOKER_HOST_DEVICE double uniform(RandomKey key, std::uint32_t index) {
  return random_bits(key, index) * (1.0 / 4294967296.0);
}

// Standard normal by Box and Muller from two draws.
STOKER_HOST_DEVICE double normal(RandomKey key, std::uint32_t index) {
  const double u = (random_bits(key, 2 * index) + 0.5) * (1.0 / 4294967296.0);
  const double v = uniform(key, 2 * index + 1);
  return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v);
}

// A permutation of 0 .. size-1 that is computed, not stored: a Feistel network of six rounds over the
// smallest even number of bits that holds `size`, walked until it lands inside.
class Permutation {
 public:
  STOKER_HOST_DEVICE Permutation(RandomKey key, std::uint64_t size) : key_(key), size_(size) {
    while ((std::uint64_t{1} << (2 * half_bits_)) < size) ++half_bits_;
  }

  STOKER_HOST_DEVICE std::uint64_t operator()(std::uint64_t position) const {
    do {
      position = encrypt(position);
    } while (position >= size_);
    return position;
  }

 private:
  STOKER_HOST_DEVICE std::uint64_t encrypt(std::uint64_t x) const {
    const std::uint32_t mask = static_cast<std::uint32_t>((std::uint64_t{1} << half_bits_) - 1);
    std::uint32_t left = static_cast<std::uint32_t>(x >> half_bits_);
    std::uint32_t right = static_cast<std::uint32_t>(x) & mask;
    for (std::uint32_t round = 0; round < 6; ++round) {
      const std::uint32_t next = (left ^ random_bits({key_.first + round, key_.second}, right)) & mask;
      left = right;
      right = next;
    }
    return (static_cast<std::uint64_t>(left) << half_bits_) | right;
  }

  RandomKey key_;
  std::uint64_t size_;
  std::uint32_t half_bits_ = 1;
};

}  // namespace stoker
