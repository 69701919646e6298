#pragma once

#include <cstdint>

// The few instructions that CUDA C++ has no words for. No CUDA header is needed, so the run-time compiler can
// read this too.
namespace stoker::fused {

using Word = std::uint32_t;

__device__ __forceinline__ Word shared_address(const void* pointer) {
  return static_cast<Word>(__cvta_generic_to_shared(pointer));
}

// Four (two) 8 x 8 matrices of halves; lane i gives the address of a row.
__device__ __forceinline__ void load_matrices(Word (&out)[4], Word address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void load_transposed(Word (&out)[4], Word address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void load_transposed(Word (&out)[2], Word address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(out[0]), "=r"(out[1])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void load_matrices(Word (&out)[2], Word address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
               : "=r"(out[0]), "=r"(out[1])
               : "r"(address)
               : "memory");
}

// An 8 x 8 matrix of halves, transposed among the lanes of a warp.
__device__ __forceinline__ Word transpose(Word matrix) {
  Word out;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(out) : "r"(matrix));
  return out;
}

// c[16 x 8] += a[16 x 16] b[16 x 8], fp16 operands, fp32 sums.
__device__ __forceinline__ void multiply_add(float (&c)[4], const Word (&a)[4], Word b0, Word b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// To the nearest TF32, of 11 bits. cvt.rna, which older GPUs have too, takes three instructions and more.
__device__ __forceinline__ Word as_tf32(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  return (__float_as_uint(value) + 0x1000U) & 0xffffe000U;  // some that are not numbers become 0
#else
  Word out;
  asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(out) : "f"(value));
  return out;
#endif
}
// To the next one towards 0.
__device__ __forceinline__ Word cut_to_tf32(float value) {
  return __float_as_uint(value) & 0xffffe000U;
}
// c[16 x 8] += a[16 x 8] b[8 x 8], TF32 operands, fp32 sums.
__device__ __forceinline__ void multiply_add(float (&c)[4], const Word (&a)[4], const Word (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ __forceinline__ Word pack(float low, float high) {
  Word out;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  asm("{.reg .b16 l, h; cvt.rn.f16.f32 l, %1; cvt.rn.f16.f32 h, %2; mov.b32 %0, {l, h};}"
      : "=r"(out)
      : "f"(low), "f"(high));
#else
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
#endif
  return out;
}
// Negative ones become 0.
__device__ __forceinline__ Word pack_positive(float low, float high) {
  Word out;
  asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
  return out;
}
// All bits of a half where it is above 0, none where not.
__device__ __forceinline__ Word where_positive(Word pair) {
  Word out;
  asm("set.gt.u32.f16x2 %0, %1, %2;" : "=r"(out) : "r"(pair), "r"(0U));
  return out;
}
// Four bytes, each all ones or all zeros by the sign of a byte: Which says of which, 8 + 0 .. 3 of the first
// word, 8 + 4 .. 7 of the second.
template <Word Which>
__device__ __forceinline__ Word signs(Word first, Word second) {
  Word out;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(out) : "r"(first), "r"(second), "n"(Which));
  return out;
}
__device__ __forceinline__ float low_half(Word pair) {
  float out;
  asm("{.reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, l;}" : "=f"(out) : "r"(pair));
  return out;
}
__device__ __forceinline__ float high_half(Word pair) {
  float out;
  asm("{.reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, h;}" : "=f"(out) : "r"(pair));
  return out;
}

__device__ __forceinline__ float reciprocal_root(float x) {
  float out;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
}

// To the last two bits; the smallest numbers are not taken for 0.
__device__ __forceinline__ float quick_root(float x) {
  float out;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
}

// These two take what is smaller than the smallest normal number for 0, and an instruction each.
__device__ __forceinline__ float flushed_root(float x) {
  float out;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
}
__device__ __forceinline__ float flushed_inverse(float x) {
  float out;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
}

// Copies that arrive later; `bytes` of 0 fills the place with zeros.
__device__ __forceinline__ void copy_16(Word to, const void* from, Word bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void copy_8(Word to, const void* from, Word bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void copy_4(Word to, const void* from, Word bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void end_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int Left>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Left) : "memory");
}

// A barrier among the first `count` threads alone.
__device__ __forceinline__ void wait_among(int count) {
  asm volatile("bar.sync 1, %0;" ::"r"(count) : "memory");
}

// ---- clusters (sm_90 and later): a block's place in the shared memory of another block of its cluster
__device__ __forceinline__ Word in_block(Word address, int rank) {
  Word out;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(out) : "r"(address), "r"(rank));
  return out;
}
__device__ __forceinline__ float4 load_from_block(Word address, int rank) {
  float4 out;
  asm volatile("ld.shared::cluster.v4.f32 {%0,%1,%2,%3}, [%4];"
               : "=f"(out.x), "=f"(out.y), "=f"(out.z), "=f"(out.w)
               : "r"(in_block(address, rank))
               : "memory");
  return out;
}
__device__ __forceinline__ uint2 load_pair_from_block(Word address, int rank) {
  uint2 out;
  asm volatile("ld.shared::cluster.v2.u32 {%0,%1}, [%2];"
               : "=r"(out.x), "=r"(out.y)
               : "r"(in_block(address, rank))
               : "memory");
  return out;
}
// All threads of all blocks of the cluster. What they wrote to their own block's shared memory before is seen
// after; that is all that it orders, which spares a wait for device memory.
__device__ __forceinline__ void wait_for_cluster() {
  asm volatile(
      "fence.release.sync_restrict::shared::cta.cluster;\n"
      "barrier.cluster.arrive.relaxed.aligned;\n"
      "barrier.cluster.wait.aligned;\n"
      "fence.acquire.sync_restrict::shared::cluster.cluster;" ::
          : "memory");
}

// A counter in device memory that blocks of several clusters meet at.
__device__ __forceinline__ void announce(Word* counter) {
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}
__device__ __forceinline__ Word announced(const Word* counter) {
  Word out;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(out) : "l"(counter) : "memory");
  return out;
}

}  // namespace stoker::fused
