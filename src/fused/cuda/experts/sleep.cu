#include <cuda_runtime.h>

#include "fused/cuda/experts/sleep.cuh"

namespace stoker::fused::experts {
namespace {

template <class Part, class Work>
__global__ void __launch_bounds__(Part::threads, 2)
    sleep_kernel(const Part part, const __grid_constant__ Work work) {
#if __CUDA_ARCH__ >= 800
  extern __shared__ __align__(16) char memory[];
  part(work, memory);
#else
  __trap();  // built for another GPU
#endif
}

struct SleepLauncher {
  kernels::Stream stream;

  template <class Part, class Work>
  void operator()(const Part& part, const Work& work, int blocks) const {
    static_assert(Part::bytes <= 48 * 1024, "more has to be asked for");
    sleep_kernel<<<static_cast<unsigned>(blocks), Part::threads, Part::bytes, stream>>>(part, work);
  }
};

kernels::LaunchError answer_of_sleep() {
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

}  // namespace

kernels::LaunchError launch_routes(const ExpertWork& work, int blocks, kernels::Stream stream) {
  route_rows(work, blocks, SleepLauncher{stream});
  return answer_of_sleep();
}

kernels::LaunchError launch_sleep(const SleepWork& work, const SleepOrder& order, int blocks,
                                  kernels::Stream stream) {
  carry_out(work, order, blocks, SleepLauncher{stream});
  return answer_of_sleep();
}

}  // namespace stoker::fused::experts
