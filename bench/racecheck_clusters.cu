// What compute-sanitizer's racecheck says of clusters. Every kernel here is a few lines long and free of
// races, but for the one that is not meant to be; each can be launched in clusters of any size, where those
// that never touch another block's memory do exactly the same as without clusters. What is reported for them
// in clusters of several blocks alone is the tool's mistake, not a race.
//
// Its release notes: it knows the memory of other blocks since 2023.1 and their barriers since 2024.4, and
// had "false positives and false negatives involving indirect barrier synchronization dependencies across
// clusters" up to 2026.1: barriers of blocks and of clusters in turns, as the kernels of teams have them.
//   nvcc -arch=sm_90a -lineinfo -o racecheck_clusters bench/racecheck_clusters.cu
//   compute-sanitizer --tool racecheck ./racecheck_clusters KERNEL CLUSTER
// tools/gpu-check runs all of them and prints the hazards that are reported for each.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime.h>

namespace {

constexpr int threads = 256, steps = 8, blocks = 16;

struct alignas(16) Shared {
  std::uint32_t words[2][threads];
};

__device__ std::uint32_t address_of(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}
__device__ std::uint32_t value_of(int block, int step, int thread) {
  return static_cast<std::uint32_t>(block * 100'000 + step * 1'000 + thread);
}
__device__ void expect(bool holds, int* wrong) {
  if (!holds) atomicAdd(wrong, 1);
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
__device__ int rank_in_cluster() {
  int rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ int blocks_in_cluster() {
  int count;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(count));
  return count;
}
__device__ std::uint32_t load_from_block(const void* pointer, int rank) {
  std::uint32_t value, there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address_of(pointer)), "r"(rank));
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(there) : "memory");
  return value;
}
__device__ void wait_for_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// As the fused kernels do it: only shared memory is ordered.
__device__ void wait_for_cluster_as_teams_do() {
  asm volatile(
      "fence.release.sync_restrict::shared::cta.cluster;\n"
      "barrier.cluster.arrive.relaxed.aligned;\n"
      "barrier.cluster.wait.aligned;\n"
      "fence.acquire.sync_restrict::shared::cluster.cluster;" ::
          : "memory");
}
#endif

// Writes own memory, waits for its own block, reads its own memory.
__global__ void own_memory(int* wrong) {
  __shared__ Shared shared;
  const int thread = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
  for (int step = 0; step < steps; ++step) {
    shared.words[0][thread] = value_of(block, step, thread);
    __syncthreads();
    const int other = (thread + 37) % threads;
    expect(shared.words[0][other] == value_of(block, step, other), wrong);
    __syncthreads();
  }
}

// The same without the barrier between writing and reading: this one must be reported.
__global__ void raced(int* wrong) {
  __shared__ Shared shared;
  const int thread = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
  for (int step = 0; step < steps; ++step) {
    shared.words[0][thread] = value_of(block, step, thread);
    const int other = (thread + 37) % threads;
    if (shared.words[0][other] == 0xffff'ffff) atomicAdd(wrong, 1);
    __syncthreads();
  }
}

// As own_memory, read with ldmatrix: lane i gives the address of a row of 16 bytes.
__global__ void own_memory_by_ldmatrix(int* wrong) {
  __shared__ Shared shared;
  const int thread = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x), lane = thread % 32;
  for (int step = 0; step < steps; ++step) {
    shared.words[0][thread] = value_of(block, step, thread);
    __syncthreads();
    const int first = (thread / 32 + 1) % (threads / 32) * 32;  // the next warp's words
    std::uint32_t value;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(value)
                 : "r"(address_of(&shared.words[0][first + lane % 8 * 4]))
                 : "memory");
    expect(value == value_of(block, step, first + lane), wrong);
    __syncthreads();
  }
}

// As own_memory, halves of the block waiting for themselves alone.
__global__ void own_memory_by_named_barriers(int* wrong) {
  __shared__ Shared shared;
  constexpr int half = threads / 2;
  const int thread = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
  const int first = thread / half * half;
  for (int step = 0; step < steps; ++step) {
    shared.words[0][thread] = value_of(block, step, thread);
    asm volatile("bar.sync %0, %1;" ::"r"(1 + thread / half), "n"(half) : "memory");
    const int other = first + (thread + 37) % half;
    expect(shared.words[0][other] == value_of(block, step, other), wrong);
    asm volatile("bar.sync %0, %1;" ::"r"(1 + thread / half), "n"(half) : "memory");
  }
}

// As own_memory, written by asynchronous copies.
__global__ void own_memory_by_copies(int* wrong, const std::uint32_t* numbers) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  __shared__ Shared shared;
  const int thread = static_cast<int>(threadIdx.x);
  for (int step = 0; step < steps; ++step) {
    asm volatile(
        "cp.async.ca.shared.global [%0], [%1], 4;\ncp.async.commit_group;\ncp.async.wait_group 0;" ::"r"(
            address_of(&shared.words[0][thread])),
        "l"(numbers + step * threads + thread)
        : "memory");
    __syncthreads();
    const int other = (thread + 37) % threads;
    expect(shared.words[0][other] == numbers[step * threads + other], wrong);
    __syncthreads();
  }
#endif
}

// Writes own memory, waits for the cluster, reads the next block's.
template <bool AsTeamsDo>
__device__ void read_the_next_block(int* wrong) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  __shared__ Shared shared;
  const int thread = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
  const int count = blocks_in_cluster(), next = (rank_in_cluster() + 1) % count;
  const int next_block = block / count * count + next;
  const auto meet = [] {
    if constexpr (AsTeamsDo)
      wait_for_cluster_as_teams_do();
    else
      wait_for_cluster();
  };
  for (int step = 0; step < steps; ++step) {
    std::uint32_t* words = shared.words[step % 2];
    words[thread] = value_of(block, step, thread);
    meet();
    const int other = (thread + 37) % threads;
    expect(load_from_block(words + other, next) == value_of(next_block, step, other), wrong);
    meet();
  }
#endif
}
// Both in turns, as a team does: its own memory between barriers of the block, then the next block's between
// barriers of the cluster.
__global__ void barriers_in_turns(int* wrong) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  __shared__ Shared shared;
  const int thread = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
  const int count = blocks_in_cluster(), next = (rank_in_cluster() + 1) % count;
  const int next_block = block / count * count + next, other = (thread + 37) % threads;
  for (int step = 0; step < steps; ++step) {
    shared.words[0][thread] = value_of(block, step, thread);
    __syncthreads();
    shared.words[1][thread] = shared.words[0][other];
    wait_for_cluster_as_teams_do();
    const int others_other = (other + 37) % threads;
    expect(load_from_block(&shared.words[1][other], next) == value_of(next_block, step, others_other), wrong);
    wait_for_cluster_as_teams_do();
    __syncthreads();
  }
#endif
}
__global__ void others_memory(int* wrong) {
  read_the_next_block<false>(wrong);
}
__global__ void others_memory_as_teams_do(int* wrong) {
  read_the_next_block<true>(wrong);
}

struct Kernel {
  const char* name;
  const void* function;  // of (int* wrong), some also of (const std::uint32_t* numbers)
};
const Kernel kernels[] = {
    {"own_memory", reinterpret_cast<const void*>(own_memory)},
    {"raced", reinterpret_cast<const void*>(raced)},
    {"own_memory_by_ldmatrix", reinterpret_cast<const void*>(own_memory_by_ldmatrix)},
    {"own_memory_by_named_barriers", reinterpret_cast<const void*>(own_memory_by_named_barriers)},
    {"own_memory_by_copies", reinterpret_cast<const void*>(own_memory_by_copies)},
    {"others_memory", reinterpret_cast<const void*>(others_memory)},
    {"barriers_in_turns", reinterpret_cast<const void*>(barriers_in_turns)},
    {"others_memory_as_teams_do", reinterpret_cast<const void*>(others_memory_as_teams_do)},
};

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
  std::exit(2);
}

int wrong_values(const Kernel& kernel, int cluster) {
  int* wrong = nullptr;
  std::uint32_t* numbers = nullptr;
  check(cudaMallocManaged(&wrong, sizeof(int)));
  check(cudaMallocManaged(&numbers, steps * threads * sizeof(std::uint32_t)));
  *wrong = 0;
  for (int i = 0; i < steps * threads; ++i) numbers[i] = static_cast<std::uint32_t>(7 * i);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  cudaLaunchConfig_t launch{};
  launch.gridDim = dim3(blocks);
  launch.blockDim = dim3(threads);
  launch.attrs = &attribute;
  launch.numAttrs = cluster > 0 ? 1 : 0;
  void* arguments[] = {&wrong, &numbers};
  check(cudaLaunchKernelExC(&launch, kernel.function, arguments));
  check(cudaDeviceSynchronize());
  return *wrong;
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) {
    std::fprintf(stderr, "usage: %s KERNEL CLUSTER (0: launched without clusters)\n", words[0]);
    for (const Kernel& kernel : kernels) std::fprintf(stderr, "  %s\n", kernel.name);
    return 2;
  }
  for (const Kernel& kernel : kernels) {
    if (std::strcmp(kernel.name, words[1]) != 0) continue;
    const int wrong = wrong_values(kernel, std::atoi(words[2]));
    std::printf("%s, clusters of %s: %d wrong values\n", kernel.name, words[2], wrong);
    return wrong == 0 ? 0 : 1;
  }
  std::fprintf(stderr, "there is no kernel %s\n", words[1]);
  return 2;
}
