#include "kernels/covariance_loops.h"

namespace stoker::kernels {
namespace {

constexpr const char* name = "AVX2";

}  // namespace

const CovarianceKernels& covariance_kernels_avx2() {
  static constexpr CovarianceKernels kernels{name, sum_up_by_channels, pack_block, project_block,
                                             multiply_between_block};
  return kernels;
}

}  // namespace stoker::kernels
