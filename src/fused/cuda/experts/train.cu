#include <cuda_runtime.h>

#include "fused/cuda/experts/step.cuh"
#include "kernels/early_launch.cuh"

namespace stoker::fused::experts {
namespace {

// Blocks of a part that a processor has at a time.
template <class Part>
constexpr int residents = Part::threads > 256 ? 1 : 2;

template <class Part>
__global__ void __launch_bounds__(Part::threads, residents<Part>)
    expert_kernel(const Part part, const __grid_constant__ ExpertWork work) {
#if __CUDA_ARCH__ >= 800
  kernels::let_next_kernel_start();
  kernels::wait_for_kernel_before();
  extern __shared__ __align__(16) char memory[];
  if (*work.stopped != 0) return;  // the same for all: it changes at the end of an epoch alone
  part(work, memory);
#else
  __trap();  // built for another GPU: better no training than one that has not happened
#endif
}

struct Launcher {
  const ExpertWork& work;
  kernels::Stream stream;

  template <class Part>
  void operator()(const Part& part, int blocks) const {
    const kernels::LaunchShape shape{static_cast<unsigned>(blocks), Part::threads, Part::bytes,
                                     work.starts_early};
    kernels::launch_kernel(expert_kernel<Part>, shape, stream, part, work);
  }
};

kernels::LaunchError answer() {
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

}  // namespace

kernels::LaunchError launch_step(const ExpertWork& work, int blocks, kernels::Stream stream) {
  with_operands(work, [&](auto format) {
    take_step<decltype(format)>(work, blocks, Launcher{work, stream});
  });
  return answer();
}

kernels::LaunchError launch_validation(const ExpertWork& work, int blocks, kernels::Stream stream) {
  with_operands(work, [&](auto format) {
    pass_forward<decltype(format)>(work, blocks, Launcher{work, stream});
  });
  return answer();
}

kernels::LaunchError launch_take_values(const ExpertWork& work, kernels::Stream stream) {
  Launcher{work, stream}(TakeValues{}, 1);
  return answer();
}

kernels::LaunchError launch_keep_best(const ExpertWork& work, int blocks, kernels::Stream stream) {
  Launcher{work, stream}(KeepBest{}, blocks);
  return answer();
}

}  // namespace stoker::fused::experts
