#include "fused/cpu/step_kernels.h"

namespace stoker::fused_cpu {
namespace {

#if defined(__aarch64__)
constexpr const char* name = "NEON";
#elif defined(__x86_64__)
constexpr const char* name = "SSE2";
#else
constexpr const char* name = "plain";
#endif

}  // namespace

const Kernels& kernels_baseline() {
  static constexpr Kernels kernels = kernels_named(name);
  return kernels;
}

}  // namespace stoker::fused_cpu
