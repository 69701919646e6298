#include "kernels/covariance_loops.h"

namespace stoker::kernels {
namespace {

#if defined(__aarch64__)
constexpr const char* name = "NEON";
#elif defined(__x86_64__)
constexpr const char* name = "SSE2";
#else
constexpr const char* name = "plain";
#endif

}  // namespace

const CovarianceKernels& covariance_kernels_baseline() {
  static constexpr CovarianceKernels kernels{name, sum_up_by_channels, pack_block, project_block,
                                             multiply_between_block};
  return kernels;
}

}  // namespace stoker::kernels
