#include "engine/fused_cpu/step.h"

namespace stoker::fused_cpu {

const Kernels& best_kernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) return kernels_avx512();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kernels_avx2();
#endif
  return kernels_baseline();
}

}  // namespace stoker::fused_cpu
