#pragma once

#include "fused/cuda/ptx.cuh"

// Instructions that the kernels over sets need beside those of all.
namespace stoker::fused::sets {

// c[16 x 8] += a[16 x 8] b[8 x 8], fp16 operands, fp32 sums.
__device__ __forceinline__ void multiply_add(float (&c)[4], const Word (&a)[2], Word b) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(b));
}
using fused::multiply_add;

// Held at the largest number that fp16 has.
__device__ __forceinline__ Word pack_held(float low, float high) {
  Word out;
  asm("cvt.rn.satfinite.f16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
  return out;
}

// The same number, of which the compiler knows nothing: what follows from it is computed again in every step
// instead of being kept, for which there are no registers.
__device__ __forceinline__ int anew(int number) {
  asm volatile("" : "+r"(number));
  return number;
}

}  // namespace stoker::fused::sets
