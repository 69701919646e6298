#pragma once

#include <bit>
#include <cstdint>

// How kernels' twins on a CPU read and write values: they compute in fp32, whatever the format. No network
// has fp16 there.
namespace stoker::kernels {

// The upper half of a float.
struct BFloat16 {
  std::uint16_t bits = 0;
};

inline float widened(float value) {
  return value;
}
inline float widened(BFloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

inline void narrow(float value, float& to) {
  to = value;
}
// To the nearest, and of two to the even one.
inline void narrow(float value, BFloat16& to) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const bool is_number = (bits & 0x7fffffffU) <= 0x7f800000U;
  to.bits = static_cast<std::uint16_t>(is_number ? rounded : 0x7fc0U);
}

}  // namespace stoker::kernels
