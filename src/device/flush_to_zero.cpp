#include "device/flush_to_zero.h"

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace stoker {
namespace {

// The processor's control register, and its bits that make subnormal numbers zeros.
#if defined(__x86_64__)
constexpr std::uint64_t zero_bits = 0x8040;  // results and operands
std::uint64_t control() {
  return _mm_getcsr();
}
void set_control(std::uint64_t value) {
  _mm_setcsr(static_cast<unsigned>(value));
}
#elif defined(__aarch64__)
constexpr std::uint64_t zero_bits = 1U << 24;  // both
std::uint64_t control() {
  std::uint64_t value = 0;
  asm volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
void set_control(std::uint64_t value) {
  asm volatile("msr fpcr, %0" : : "r"(value));
}
#endif

}  // namespace

bool flushes_to_zero() {
  return (control() & zero_bits) == zero_bits;
}

void set_flush_to_zero(bool on) {
  set_control(on ? control() | zero_bits : control() & ~zero_bits);
}

FlushToZero::FlushToZero() : before_(flushes_to_zero()) {
  set_flush_to_zero(true);
}

FlushToZero::~FlushToZero() {
  set_flush_to_zero(before_);
}

}  // namespace stoker
