// What compute-sanitizer's racecheck says of kernels of a few lines that are free of races, but for the one
// that is not meant to be. What is reported for the others is the tool's mistake. They have what the fused
// kernels have and racecheck might not understand:
//   clusters: each can be launched in clusters of any size, where those that never touch another block's
//     memory do exactly the same as without clusters;
//   half of a block at a barrier of its own, while the other half is at, or on its way to, the barrier of the
//     whole block.
//
// Its release notes: it knows the memory of other blocks since 2023.1 and their barriers since 2024.4, and
// had "false positives and false negatives involving indirect barrier synchronization dependencies across
// clusters" up to 2026.1: barriers of blocks and of clusters in turns, as the kernels of teams have them.
//   nvcc -arch=sm_90a -lineinfo -o racecheck_probes bench/racecheck_probes.cu
//   compute-sanitizer --tool racecheck ./racecheck_probes KERNEL CLUSTER
// tools/gpu-check runs all of them and prints the hazards that are reported for each.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime.h>

namespace {

constexpr int threads = 512, steps = 50, blocks = 16;

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

// ---- half of a block at a barrier of its own, as where the fused kernels compute a loss
// The first warps exchange words among themselves and leave results; meanwhile the others do nothing, write
// something else, or do so late. A barrier of the whole block; all warps read the results of others and leave
// their own; the barrier again; all read those.
enum class Meeting { of_the_half, of_the_half_where_others_arrive, of_all };
enum class Others { idle, write, write_late };

constexpr int half = threads / 2;

struct alignas(16) Results {
  std::uint32_t parts[half], first[half], second[threads], others[half];
};

__device__ std::uint32_t first_result(int block, int step, int of) {
  return value_of(block, step, (of + 37) % half) + 1;
}
// What a warp reads: 128 words that other warps have written.
__device__ int place_read(int thread, int words) {
  return (thread / 32 + 1) * 128 % words;
}
__device__ std::uint32_t second_result(int block, int step, int of) {
  return first_result(block, step, place_read(of, half) + of % 32) + 1;
}

// Word 32 i + lane is the lane's i-th.
template <bool ByLdmatrix>
__device__ void read_words(std::uint32_t (&out)[4], const std::uint32_t* from, int lane) {
  if constexpr (ByLdmatrix) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(address_of(from + lane * 4))
                 : "memory");
  } else {
    for (int i = 0; i < 4; ++i) out[i] = from[32 * i + lane];
  }
}

template <Meeting Where>
__device__ void meet_as_the_half() {
  constexpr int count = Where == Meeting::of_the_half ? half : threads;
  asm volatile("bar.sync 1, %0;" ::"n"(count) : "memory");
}
template <Meeting Where>
__device__ void meet_as_the_others() {
  if constexpr (Where == Meeting::of_the_half_where_others_arrive)
    asm volatile("bar.arrive 1, %0;" ::"n"(threads) : "memory");
  else if constexpr (Where == Meeting::of_all)
    asm volatile("bar.sync 1, %0;" ::"n"(threads) : "memory");
}
// By another time in every step, since what is reported may depend on who comes first.
__device__ void be_late(int step, int thread) {
  const long long until = clock64() + (step * 7 + thread / 32 * 3) % 16 * 1'000;
  while (clock64() < until) {
  }
}

template <Meeting Where, Others What, bool ByLdmatrix>
__global__ void half_waits(int* wrong) {
  __shared__ Results shared;
  const int thread = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x), lane = thread % 32;
  for (int step = 0; step < steps; ++step) {
    if (thread < half) {
      shared.parts[thread] = value_of(block, step, thread);
      meet_as_the_half<Where>();
      shared.first[thread] = shared.parts[(thread + 37) % half] + 1;
    } else {
      meet_as_the_others<Where>();
      if constexpr (What == Others::write_late) be_late(step, thread);
      if constexpr (What != Others::idle) shared.others[thread - half] = value_of(block, step, thread);
    }
    __syncthreads();
    std::uint32_t words[4];
    int from = place_read(thread, half);
    read_words<ByLdmatrix>(words, shared.first + from, lane);
    for (int i = 0; i < 4; ++i) expect(words[i] == first_result(block, step, from + 32 * i + lane), wrong);
    shared.second[thread] = words[0] + 1;
    __syncthreads();
    from = place_read(thread, threads);
    read_words<ByLdmatrix>(words, shared.second + from, lane);
    for (int i = 0; i < 4; ++i) expect(words[i] == second_result(block, step, from + 32 * i + lane), wrong);
    if constexpr (What != Others::idle)
      expect(shared.others[thread % half] == value_of(block, step, half + thread % half), wrong);
    __syncthreads();
  }
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
    {"all_wait", reinterpret_cast<const void*>(half_waits<Meeting::of_all, Others::write_late, true>)},
    {"half_waits_others_idle",
     reinterpret_cast<const void*>(half_waits<Meeting::of_the_half, Others::idle, true>)},
    {"half_waits_others_write",
     reinterpret_cast<const void*>(half_waits<Meeting::of_the_half, Others::write, true>)},
    {"half_waits_others_late",
     reinterpret_cast<const void*>(half_waits<Meeting::of_the_half, Others::write_late, true>)},
    {"half_waits_plain_reads",
     reinterpret_cast<const void*>(half_waits<Meeting::of_the_half, Others::write_late, false>)},
    {"half_waits_others_arrive",
     reinterpret_cast<const void*>(
         half_waits<Meeting::of_the_half_where_others_arrive, Others::write_late, true>)},
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
