#pragma once

#include "fused/cuda/ptx.cuh"
#include "fused/cuda/sequence/block_shape.h"

// Weights on their way from device memory through a ring in shared memory. One warp asks for them, always as
// far ahead as the ring has room; the others take what they need in the order in which it lies.
namespace stoker::fused::sequence {

struct Barriers {
  unsigned long long full[ring_stages];
  unsigned long long empty[ring_stages];
};
static_assert(sizeof(Barriers) == barrier_bytes);

__device__ __forceinline__ void make_barrier(unsigned long long* barrier, int count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}
__device__ __forceinline__ void expect_bytes(unsigned long long* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void arrive(unsigned long long* barrier) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
__device__ __forceinline__ void wait_for(unsigned long long* barrier, int parity) {
  asm volatile(
      "{\n.reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
      "@done bra.uni over;\n"
      "bra.uni again;\n"
      "over:\n}" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}
__device__ __forceinline__ void copy_bulk(Word to, const void* from, int bytes, unsigned long long* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
      "l"(from), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
}

// All threads of the block, once, before a barrier of the whole block.
__device__ __forceinline__ void make_ring(Barriers* barriers) {
  if (threadIdx.x == 0) {
    for (int i = 0; i < ring_stages; ++i) {
      make_barrier(&barriers->full[i], 1);
      make_barrier(&barriers->empty[i], worker_warps);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
}

// The place of the next stage in the ring.
struct Place {
  int stage = 0;
  int parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == ring_stages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

// What one thread of the warp that asks for weights does.
struct Asker {
  Barriers* barriers;
  Word ring;
  const char* next;
  Place place;

  __device__ __forceinline__ void ask(int chunks, int bytes) {
    for (int i = 0; i < chunks; ++i) {
      wait_for(&barriers->empty[place.stage], place.parity ^ 1);
      expect_bytes(&barriers->full[place.stage], bytes);
      copy_bulk(ring + place.stage * stage_bytes, next, bytes, &barriers->full[place.stage]);
      next += bytes;
      place.advance();
    }
  }
};

struct Taker {
  Barriers* barriers;
  const char* ring;  // shared memory
  Place place;

  // Where the chunk lies.
  __device__ __forceinline__ const uint4* wait() const {
    wait_for(&barriers->full[place.stage], place.parity);
    return reinterpret_cast<const uint4*>(ring + place.stage * stage_bytes);
  }
  __device__ __forceinline__ void release() {
    __syncwarp();
    if ((threadIdx.x & 31) == 0) arrive(&barriers->empty[place.stage]);
    place.advance();
  }
};

// Among the threads that compute.
__device__ __forceinline__ void wait_for_workers() {
  asm volatile("bar.sync 1, %0;" ::"n"(workers) : "memory");
}
// Between two neighbouring warps.
__device__ __forceinline__ void wait_for_partner(int pair) {
  asm volatile("bar.sync %0, 64;" ::"r"(pair + 2) : "memory");
}

}  // namespace stoker::fused::sequence
