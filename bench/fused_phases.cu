// The fused kernel alone, without the engine around it: microseconds a step for one model and for one a
// multiprocessor, and the cycles of each phase. For whoever tunes it.
//   nvcc -std=c++17 -O3 --expt-relaxed-constexpr -Isrc -gencode arch=compute_90a,code=sm_90a \
//     -DSTOKER_FUSED_CLOCKS bench/fused_phases.cu -o build/fused_phases && build/fused_phases
// Counting takes time; without -DSTOKER_FUSED_CLOCKS only the steps are timed. -DDROPOUT=0 leaves
// dropout out.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#include "base/random.h"
#include "engine/fused_cuda/step.cuh"

#ifndef DROPOUT
#define DROPOUT 0.2
#endif

namespace {

using namespace stoker;
using namespace stoker::fused;

struct Net {
  static constexpr Plan plan{4, {13, 128, 64, 32, 1}, 0, 0, 0, DROPOUT > 0, false, 136, 0};
};
constexpr Plan plan = Net::plan;
constexpr int table_rows = 40'000, steps = 20'000, phases = 4;
constexpr double loss_scale = 1024;

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

ModelWork w1_work() {
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
  std::vector<std::int32_t> order(static_cast<std::size_t>(steps) * rows);
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<std::int32_t>(
        Permutation(random_key(42, Purpose::shuffle, i / table_rows), table_rows)(i % table_rows));
  std::vector<StepFactors> factors(steps);
  for (int i = 0; i < steps; ++i) {
    const double first = (1 - 0.9) / (1 - std::pow(0.9, i + 1)),
                 second = (1 - std::pow(0.999, i + 1)) / (1 - 0.999);
    factors[i] = {static_cast<float>(-1e-3 * first * std::sqrt(second)), 1,
                  static_cast<float>(loss_scale / rows),
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
  work.clocks = on_device(std::vector<std::int64_t>(phases, 0));
  work.seed = 42;
  work.steps = steps;
  work.dropout_threshold = dropout_threshold(DROPOUT);
  work.dropout_scale = static_cast<float>(1 / (1 - DROPOUT));
  work.beta1 = 0.9F;
  work.beta2 = 0.999F;
  work.epsilon = static_cast<float>(loss_scale * loss_scale * 1e-16);
  work.unscale = static_cast<float>(1 / loss_scale);
  work.huber_delta = 1;
  work.order_stride = rows;
  work.passes = work.clusters = 1;
  return work;
}

ModelWork with_state(ModelWork work) {
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
  work.row_sums = on_device(std::vector<double>(rows, 0.0));
  return work;
}

float median_milliseconds(const Models& models, unsigned count) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  std::vector<float> times;
  for (int i = 0; i < 6; ++i) {
    check(cudaEventRecord(begin));
    train_kernel<<<count, threads, plan.shared_bytes()>>>(models);
    check(cudaEventRecord(end));
    check(cudaDeviceSynchronize());
    float time = 0;
    check(cudaEventElapsedTime(&time, begin, end));
    if (i > 0) times.push_back(time);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

int main() {
  int processors = 1;
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
  check(cudaFuncSetAttribute(train_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, plan.shared_bytes()));
  static Models models;
  const ModelWork work = w1_work();
  const int most = std::min(processors, Models::most);
  for (int i = 0; i < most; ++i) models.model[i] = with_state(work);
  for (const int count : {1, most}) {
    const float time = median_milliseconds(models, static_cast<unsigned>(count));
    std::printf("%3d models: %.3f us a step, %.1f million model-steps a second\n", count, time * 1e3 / steps,
                count * (steps / 1e3) / time);
    if (count > 1) continue;
#ifdef STOKER_FUSED_CLOCKS
    const char* names[phases] = {"forward 2", "forward 3, loss, delta 3", "delta 2",
                                 "delta 1, updates, next forward 1"};
    std::int64_t clocks[phases];
    check(cudaMemcpy(clocks, work.clocks, sizeof clocks, cudaMemcpyDeviceToHost));
    for (int i = 0; i < phases; ++i)
      std::printf("  %-34s %5.0f cycles\n", names[i], static_cast<double>(clocks[i]) / (6.0 * steps));
#endif
  }
}
