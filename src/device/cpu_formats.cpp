#include "device/cpu_formats.h"

#ifdef __aarch64__
#include <sys/auxv.h>
#endif

namespace stoker {

bool cpu_multiplies_bf16() {
#if defined(__aarch64__)
  constexpr unsigned long bf16_bit = 1UL << 14;  // HWCAP2_BF16, which older headers do not name
  return (getauxval(AT_HWCAP2) & bf16_bit) != 0;
#elif defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

}  // namespace stoker
