#include "kernels/covariance_loops.h"
#include "kernels/covariance_rows.h"

namespace stoker::kernels {
namespace {

constexpr const char* name = "AVX-512";

// Of fewer, too many lanes have no channel.
constexpr std::int64_t least_by_rows = 16;

void sum_up(const CovarianceBlock& block) {
  block.channels < least_by_rows ? sum_up_by_channels(block) : sum_up_by_rows(block);
}

}  // namespace

const CovarianceKernels& covariance_kernels_avx512() {
  static constexpr CovarianceKernels kernels{
      name, sum_up, pack_block, project_block, multiply_between_block, least_by_rows};
  return kernels;
}

}  // namespace stoker::kernels
