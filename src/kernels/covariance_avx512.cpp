#include "kernels/covariance_loops.h"

namespace stoker::kernels {
namespace {

constexpr const char* name = "AVX-512";

}  // namespace

const CovarianceKernels& covariance_kernels_avx512() {
  static constexpr CovarianceKernels kernels{name, pack_block, multiply_block, project_block,
                                             multiply_between_block};
  return kernels;
}

}  // namespace stoker::kernels
