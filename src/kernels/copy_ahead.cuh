#pragma once

// Copies from global to shared memory that go on while their thread computes. Before sm_80 they are made at
// once.
namespace stoker::kernels {

// Addresses of so many floats; one or two.
template <int Floats>
__device__ inline void copy_ahead(float* to, const float* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile(
      "cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
      "l"(from), "n"(4 * Floats)
      : "memory");
#else
  for (int i = 0; i < Floats; ++i) to[i] = from[i];
#endif
}

// What the thread has begun to copy since the last group becomes one.
__device__ inline void end_group_of_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Until all of the thread's groups but the last so many are there.
template <int Left>
__device__ inline void wait_for_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(Left) : "memory");
#endif
}

}  // namespace stoker::kernels
