#include "fused/cpu/step_kernels.h"

namespace stoker::fused_cpu {
namespace {

constexpr const char* name = "AVX-512";

}  // namespace

const Kernels& kernels_avx512() {
  static constexpr Kernels kernels = kernels_named(name);
  return kernels;
}

}  // namespace stoker::fused_cpu
