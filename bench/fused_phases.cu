// The fused kernels alone, without the engine around them: microseconds a step for one model and for one a
// multiprocessor, for batches shared by clusters, and where the cycles of a step go. For whoever tunes them.
//   nvcc -std=c++17 -O3 --expt-relaxed-constexpr -Isrc -gencode arch=compute_90a,code=sm_90a \
//     bench/fused_phases.cu -o build/fused_phases && build/fused_phases
// With -DSTOKER_FUSED_CLOCKS the cycles are counted, which takes time itself. -DDROPOUT=0 leaves dropout out.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#include "base/random.h"
#include "fused/cuda/step.cuh"
#include "fused/cuda/warpgroups/duet_plan.h"

#ifndef DROPOUT
#define DROPOUT 0.2
#endif

namespace {

using namespace stoker;
using namespace stoker::fused;

struct Alone {
  static constexpr Plan plan{4, {13, 128, 64, 32, 1}, 0, 0, 0, DROPOUT > 0, false, 136, 0};
};
struct InDuet {
  static constexpr Plan plan{
      4, {13, 128, 64, 32, 1}, 0, 0, 0, DROPOUT > 0, false, 0, 0, {}, DuetPlan{Alone::plan}.shared_bytes()};
};
template <int Blocks>
struct InTeam {
  static constexpr Plan plan{4, {13, 128, 64, 32, 1}, 0, 0, 0, DROPOUT > 0, false, 0, Blocks};
};
constexpr int table_rows = 40'000, steps = 20'000, tries = 6;
constexpr int most_clocks = 256;  // numbers that a kernel leaves
constexpr double loss_scale = 1024;

template <class Net>
__global__ void __launch_bounds__(threads, 1) train_kernel(const __grid_constant__ Models models) {
#if __CUDA_ARCH__ >= 800
  train<Net>(models);
#endif
}

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(status));
  std::exit(1);
}

template <class T>
T* on_device(const std::vector<T>& values) {
  T* to = nullptr;
  check(cudaMalloc(&to, values.size() * sizeof(T)));
  check(cudaMemcpy(to, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return to;
}

__global__ void to_half(const float* from, std::uint16_t* to, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) to[i] = static_cast<std::uint16_t>(pack(from[i], 0.0F));
}

// How a batch is shared: rows = blocks of a cluster * clusters * passes * 32.
struct Share {
  int clusters = 1;
  int passes = 1;
};

ModelWork w1_work(const Plan& plan, Share share) {
  const int blocks = std::max(plan.team, 1) * share.clusters, batch = blocks * share.passes * rows;
  const RandomKey key = random_key(42, Purpose::sample, 0);
  std::vector<float> x(table_rows * 16, 0.0F);
  std::vector<RowTarget> targets(table_rows);
  for (int row = 0; row < table_rows; ++row) {
    double sum = 0;
    for (int i = 0; i < 13; ++i) {
      x[row * 16 + i] = static_cast<float>(normal(key, static_cast<std::uint32_t>(row * 13 + i)));
      sum += x[row * 16 + i] * (i % 2 == 0 ? 0.3 : -0.25);
    }
    x[row * 16 + 13] = 1;
    targets[row] = {static_cast<float>(sum), 1};
  }
  // Longer batches get fewer steps, or listing the rows takes longer than training on them.
  const int count = std::max(steps * rows / batch, 500);
  std::vector<std::int32_t> order(static_cast<std::size_t>(count) * batch);
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<std::int32_t>(
        Permutation(random_key(42, Purpose::shuffle, i / table_rows), table_rows)(i % table_rows));
  std::vector<StepFactors> factors(count);
  for (int i = 0; i < count; ++i) {
    const double first = (1 - 0.9) / (1 - std::pow(0.9, i + 1)),
                 second = (1 - std::pow(0.999, i + 1)) / (1 - 0.999);
    factors[i] = {static_cast<float>(-1e-3 * first * std::sqrt(second)), 1,
                  static_cast<float>(loss_scale / batch),
                  dropout_key(42, static_cast<std::uint64_t>(i), 0).first};
  }
  ModelWork work{};
  std::uint16_t* halves = on_device(std::vector<std::uint16_t>(x.size()));
  to_half<<<static_cast<unsigned>(x.size() / 256 + 1), 256>>>(on_device(x), halves,
                                                              static_cast<int>(x.size()));
  check(cudaDeviceSynchronize());
  work.features = halves;
  work.targets = on_device(targets);
  work.order = on_device(order);
  work.factors = on_device(factors);
  work.stopped = on_device(std::vector<float>(1, 0.0F));
  work.clocks = on_device(std::vector<std::int64_t>(most_clocks, 0));
  work.seed = 42;
  work.steps = count;
  work.dropout_threshold = dropout_threshold(DROPOUT);
  work.dropout_scale = static_cast<float>(1 / (1 - DROPOUT));
  work.beta1 = 0.9F;
  work.beta2 = 0.999F;
  work.epsilon = static_cast<float>(loss_scale * loss_scale * 1e-16);
  work.unscale = static_cast<float>(1 / loss_scale);
  work.loss_shape = 1;
  work.order_stride = batch;
  work.passes = share.passes;
  work.clusters = share.clusters;
  work.arrivals = on_device(std::vector<Word>(16, 0U));
  if (plan.team > 0) {
    const std::size_t fours =
        static_cast<std::size_t>(2 * share.clusters * plan.team) * (plan.share() + plan.vector_fours());
    work.exchange = reinterpret_cast<float4*>(on_device(std::vector<float>(4 * fours, 0.0F)));
  }
  return work;
}

ModelWork with_state(const Plan& plan, ModelWork work) {
  std::vector<float> weights(plan.parameters(), 0.0F);
  for (int layer = 0; layer < plan.layers; ++layer)
    for (int in = 0; in < plan.width[layer]; ++in)
      for (int out = 0; out < plan.width[layer + 1]; ++out) {
        const int at = plan.matrix_at(layer) + in * plan.breadth(layer) + out;
        const double draw = uniform(random_key(7, Purpose::initialise, 0), static_cast<std::uint32_t>(at));
        weights[at] = static_cast<float>((2 * draw - 1) / std::sqrt(plan.width[layer]));
      }
  work.parameters = on_device(weights);
  work.first_moment = on_device(std::vector<float>(weights.size(), 0.0F));
  work.second_moment = on_device(
      std::vector<float>(weights.size(), static_cast<float>(loss_scale * loss_scale * 1e-16 / (1 - 0.999))));
  work.row_sums = on_device(std::vector<double>(std::max(plan.team, 1) * work.clusters * rows, 0.0));
  return work;
}

// Median of the tries but the first, in microseconds a step.
template <class Net>
double timed(const Models& models, int count) {
  constexpr Plan plan = Net::plan;
  const ModelWork& work = models.model[0];
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {static_cast<unsigned>(std::max(plan.team, 1)), 1, 1};
  attributes[1].id = cudaLaunchAttributeCooperative;
  attributes[1].val.cooperative = 1;
  cudaLaunchConfig_t launch{};
  launch.gridDim = dim3(static_cast<unsigned>(count * std::max(plan.team, 1) * work.clusters));
  launch.blockDim = dim3(threads);
  launch.dynamicSmemBytes = plan.shared_bytes() + most_clocks * 4;
  launch.attrs = attributes;
  launch.numAttrs = plan.team == 0 ? 0 : work.clusters > 1 ? 2 : 1;
  const void* kernel = reinterpret_cast<const void*>(&train_kernel<Net>);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(launch.dynamicSmemBytes)));
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  std::vector<float> times;
  void* arguments[] = {const_cast<Models*>(&models)};
  for (int i = 0; i < tries; ++i) {
    check(cudaMemset(work.arrivals, 0, 16 * sizeof(Word)));
    check(cudaEventRecord(begin));
    check(cudaLaunchKernelExC(&launch, kernel, arguments));
    check(cudaEventRecord(end));
    check(cudaDeviceSynchronize());
    float time = 0;
    check(cudaEventElapsedTime(&time, begin, end));
    if (i > 0) times.push_back(time);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2] * 1e3 / work.steps;
}

template <class Net>
std::vector<std::int64_t> time_kernel(const char* name, int most_models, Share share = {}) {
  static Models models;
  const ModelWork work = w1_work(Net::plan, share);
  for (int i = 0; i < most_models; ++i) models.model[i] = with_state(Net::plan, work);
  const double alone = timed<Net>(models, 1);
  std::vector<std::int64_t> clocks(most_clocks);
  check(cudaMemcpy(clocks.data(), work.clocks, most_clocks * sizeof(std::int64_t), cudaMemcpyDeviceToHost));
  std::printf("%-24s batch %4d: %6.3f us a step", name, work.order_stride, alone);
  if (most_models > 1) {
    const double each = timed<Net>(models, most_models);
    std::printf("; %d models: %.3f us, %.1f million model-steps a second", most_models, each,
                most_models / each);
  }
  std::printf("\n");
  return clocks;
}

#ifdef STOKER_FUSED_CLOCKS
void print_phases(const std::vector<std::int64_t>& clocks) {
  const char* names[] = {"forward 2", "forward 3, loss, delta 3", "delta 2",
                         "delta 1, updates, next forward 1"};
  for (int i = 0; i < 4; ++i)
    std::printf("  %-34s %5.0f cycles\n", names[i], static_cast<double>(clocks[i]) / (double(tries) * steps));
}

// One step, from when group 0 may go: when the first warp of each group gets where.
void print_times(const std::vector<std::int64_t>& clocks) {
  using Trainer = Duet<InDuet>;
  const auto at = [&](int warp, int point) {
    return static_cast<int>(static_cast<Word>(clocks[warp * Trainer::clock_points + point]) -
                            static_cast<Word>(clocks[Trainer::begun]));
  };
  struct Line {
    const char* name;
    int warp;
    int point;
  };
  const Line lines[] = {{"group 0: layer 2 done", 0, Trainer::has_layer_2},
                        {"group 0: output", 0, Trainer::has_output},
                        {"group 0: deltas of layer 2, waits", 0, Trainer::waits},
                        {"group 0: goes on", 0, Trainer::goes_on},
                        {"group 0: matrix 1 updated", 0, Trainer::updated},
                        {"group 0: next layer 1 done", 0, Trainer::ended},
                        {"group 1: begins", 4, Trainer::begun},
                        {"group 1: matrix 3 updated", 4, Trainer::has_matrix_3},
                        {"group 1: has fetched rows, waits", 4, Trainer::waits},
                        {"group 1: goes on", 4, Trainer::goes_on},
                        {"group 1: next layer 1 done", 4, Trainer::ended},
                        {"group 2: begins", 8, Trainer::begun},
                        {"group 2: has drawn dropout, waits", 8, Trainer::waits},
                        {"group 2: goes on", 8, Trainer::goes_on},
                        {"group 2: matrix 2 updated", 8, Trainer::ended}};
  for (const Line& line : lines) std::printf("  %-34s %5d cycles\n", line.name, at(line.warp, line.point));
}
#endif

}  // namespace

int main() {
  int processors = 1;
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
  const int most = std::min(processors, Models::most);
  [[maybe_unused]] const auto phases = time_kernel<Alone>("a block", most);
#ifdef STOKER_FUSED_CLOCKS
  print_phases(phases);
#endif
  [[maybe_unused]] const auto times = time_kernel<InDuet>("a block of four groups", most);
#ifdef STOKER_FUSED_CLOCKS
  print_times(times);
#endif
  time_kernel<InTeam<16>>("a cluster of 16", 1);
  time_kernel<InTeam<8>>("8 clusters of 8, 2 passes", 1, {8, 2});
}
