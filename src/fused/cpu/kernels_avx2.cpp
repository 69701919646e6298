#include "fused/cpu/step_kernels.h"

namespace stoker::fused_cpu {
namespace {

constexpr const char* name = "AVX2";

}  // namespace

const Kernels& kernels_avx2() {
  static constexpr Kernels kernels = kernels_named(name);
  return kernels;
}

}  // namespace stoker::fused_cpu
