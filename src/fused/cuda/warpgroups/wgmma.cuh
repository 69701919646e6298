#pragma once

#include "fused/cuda/ptx.cuh"

// Products by four warps together (sm_90a): both operands, or the second one, are read from shared memory.
namespace stoker::fused {

// A matrix in shared memory as these products read it: blocks of 8 x 8 halves, 128 bytes each, row after row
// of 16 bytes; blocks below each other are Down bytes apart, those beside each other 128.
struct Operand {
  Word low;   // address and one distance, both / 16
  Word high;  // the other distance

  __device__ __forceinline__ Operand operator+(int bytes) const { return {low + (bytes >> 4), high}; }
};

// What is summed over runs along the rows.
template <int Down>
__device__ __forceinline__ Operand summed_across(Word address) {
  return {address >> 4 | 128U >> 4 << 16, Down >> 4};
}
// What is summed over runs down the columns.
template <int Down>
__device__ __forceinline__ Operand summed_down(Word address) {
  return {address >> 4 | Word{Down} >> 4 << 16, 128 >> 4};
}

// Registers that a product reads or adds to are settled before this.
__device__ __forceinline__ void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void end_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int Left>
__device__ __forceinline__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Left) : "memory");
}
// What threads stored into shared memory becomes visible to products, once a barrier has passed.
__device__ __forceinline__ void show_to_products() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// c[64 x 16] = or += a[64 x 16] b[16 x 16], a in shared memory or in registers; ADown, BDown: operands made
// by summed_down.
template <bool Adds, bool ADown, bool BDown>
__device__ __forceinline__ void product(float (&c)[8], Operand a, Operand b) {
  asm volatile(
      "{.reg .pred p; .reg .b64 a, b; setp.ne.b32 p, %12, 0;\n"
      "mov.b64 a, {%8, %9}; mov.b64 b, {%10, %11};\n"
      "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7}, a, b, p, 1, 1, %13, "
      "%14;}"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7])
      : "r"(a.low), "r"(a.high), "r"(b.low), "r"(b.high), "n"(Adds ? 1 : 0), "n"(ADown ? 1 : 0),
        "n"(BDown ? 1 : 0));
}
template <bool Adds, bool BDown>
__device__ __forceinline__ void product(float (&c)[8], const Word (&a)[4], Operand b) {
  asm volatile(
      "{.reg .pred p; .reg .b64 b; setp.ne.b32 p, %14, 0;\n"
      "mov.b64 b, {%12, %13};\n"
      "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9,%10,%11}, b, p, "
      "1, 1, %15;}"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.low), "r"(b.high), "n"(Adds ? 1 : 0),
        "n"(BDown ? 1 : 0));
}
// The same with 32 columns.
template <bool Adds, bool ADown, bool BDown>
__device__ __forceinline__ void product(float (&c)[16], Operand a, Operand b) {
  asm volatile(
      "{.reg .pred p; .reg .b64 a, b; setp.ne.b32 p, %20, 0;\n"
      "mov.b64 a, {%16, %17}; mov.b64 b, {%18, %19};\n"
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, a, b, p, 1, 1, %21, %22;}"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]),
        "+f"(c[8]), "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]), "+f"(c[14]), "+f"(c[15])
      : "r"(a.low), "r"(a.high), "r"(b.low), "r"(b.high), "n"(Adds ? 1 : 0), "n"(ADown ? 1 : 0),
        "n"(BDown ? 1 : 0));
}
template <bool Adds, bool BDown>
__device__ __forceinline__ void product(float (&c)[16], const Word (&a)[4], Operand b) {
  asm volatile(
      "{.reg .pred p; .reg .b64 b; setp.ne.b32 p, %22, 0;\n"
      "mov.b64 b, {%20, %21};\n"
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, {%16,%17,%18,%19}, b, p, 1, 1, %23;}"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]),
        "+f"(c[8]), "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]), "+f"(c[14]), "+f"(c[15])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.low), "r"(b.high), "n"(Adds ? 1 : 0),
        "n"(BDown ? 1 : 0));
}

// Four 8 x 8 matrices of halves from registers; lane i gives the address of a row.
__device__ __forceinline__ void store_matrices(Word address, Word a, Word b, Word c, Word d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(a), "r"(b),
               "r"(c), "r"(d)
               : "memory");
}

// A warpgroup's share of the registers.
template <int Count>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
}
template <int Count>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
}

// Barriers among `Count` threads: some wait, others only say that they are there.
template <int Number, int Count>
__device__ __forceinline__ void meet() {
  asm volatile("bar.sync %0, %1;" ::"n"(Number), "n"(Count) : "memory");
}
template <int Number, int Count>
__device__ __forceinline__ void pass() {
  asm volatile("bar.arrive %0, %1;" ::"n"(Number), "n"(Count) : "memory");
}

}  // namespace stoker::fused
