#pragma once

#include "fused/cuda/experts/comparing.cuh"

// Pairs of experts, of their rows and of their weights.
namespace stoker::fused::experts {

// The mean of the features of each expert's rows, weighed by its shares in their answers.
struct Centres {
  static constexpr int threads = 128;
  static constexpr int at_once = 1024;  // choices
  static constexpr int bytes = at_once * 8 + threads / 32 * 4;

  __device__ __forceinline__ void operator()(const SleepWork& work, char* memory) const {
    auto* rows = reinterpret_cast<std::int32_t*>(memory);
    auto* shares = reinterpret_cast<float*>(memory + at_once * 4);
    const int stride = work.layout.router[0].inputs, parts = (stride + threads - 1) / threads;
    const int items = work.living[work.layout.room] * parts;
    for (int item = static_cast<int>(blockIdx.x); item < items; item += static_cast<int>(gridDim.x)) {
      const int expert = work.living[item / parts];
      const int feature = item % parts * threads + static_cast<int>(threadIdx.x);
      const float* features = work.features + (feature < stride ? feature : 0);
      double sum = 0, weight = 0;
      for (std::int64_t first = 0; first < work.choices; first += at_once) {
        const int count = list_rows(work, expert, first, rows, shares);
#pragma unroll 8
        for (int i = 0; i < count; ++i) {
          const auto share = static_cast<double>(shares[i]);
          sum += share * static_cast<double>(features[static_cast<std::int64_t>(rows[i]) * stride]);
          weight += share;
        }
        __syncthreads();
      }
      if (feature < stride)
        work.centres[static_cast<std::int64_t>(expert) * stride + feature] = weight > 0 ? sum / weight : 0.0;
    }
  }

 private:
  // Of some choices, those of one expert, in their order; how many. All threads of the block come here.
  __device__ __forceinline__ static int list_rows(const SleepWork& work, int expert, std::int64_t first,
                                                  std::int32_t* rows, float* shares) {
    auto* counts = reinterpret_cast<std::int32_t*>(shares + at_once);  // of each warp
    const int lane = own_lane(), warp = own_warp();
    int total = 0;
    for (int base = 0; base < at_once; base += threads) {
      const std::int64_t choice = first + base + static_cast<int>(threadIdx.x);
      const bool is_it = choice < work.choices && work.chosen[choice] == expert;
      const unsigned those = __ballot_sync(~0U, is_it);
      if (lane == 0) counts[warp] = __popc(those);
      __syncthreads();
      int place = total + __popc(those & ((1U << lane) - 1U));
      for (int i = 0; i < threads / 32; ++i) {
        if (i < warp) place += counts[i];
        total += counts[i];
      }
      if (is_it) {
        rows[place] = static_cast<std::int32_t>(choice / work.top_k);
        shares[place] = work.shares[choice];
      }
      __syncthreads();
    }
    return total;
  }
};

struct CentreCosines {
  static constexpr int threads = 128;
  static constexpr int bytes = threads * 8;

  __device__ __forceinline__ void operator()(const SleepWork& work, char* memory) const {
    auto* sums = reinterpret_cast<double*>(memory);
    const int stride = work.layout.router[0].inputs;
    for (int pair = static_cast<int>(blockIdx.x); pair < work.pair_count;
         pair += static_cast<int>(gridDim.x)) {
      const double* one = work.centres + static_cast<std::int64_t>(work.pairs[pair].one) * stride;
      const double* other = work.centres + static_cast<std::int64_t>(work.pairs[pair].other) * stride;
      double product = 0, of_one = 0, of_other = 0;
      for (int i = static_cast<int>(threadIdx.x); i < stride; i += threads) {
        product += one[i] * other[i];
        of_one += one[i] * one[i];
        of_other += other[i] * other[i];
      }
      product = sum_over_block<threads>(product, sums);
      of_one = sum_over_block<threads>(of_one, sums);
      of_other = sum_over_block<threads>(of_other, sums);
      const double lengths = sqrt(of_one) * sqrt(of_other);
      if (threadIdx.x == 0)
        work.cosines[pair] = lengths > 0 && product - product == 0 ? product / lengths : 0.0;
    }
  }
};

// The mean over the last layer of |first moment| / root of the second.
struct Adaptation {
  static constexpr int threads = 128;
  static constexpr int bytes = threads * 8;

  __device__ __forceinline__ void operator()(const SleepWork& work, char* memory) const {
    auto* sums = reinterpret_cast<double*>(memory);
    const Layer& last = work.layout.last();
    const int living = work.living[work.layout.room];
    for (int i = static_cast<int>(blockIdx.x); i < living; i += static_cast<int>(gridDim.x)) {
      const int expert = work.living[i];
      const std::int64_t at = work.layout.expert_at(expert) + last.weights;
      double sum = 0, count = 0;
      for (int k = static_cast<int>(threadIdx.x); k < last.inputs * last.outputs; k += threads) {
        const float second = work.state[2][at + k];
        if (!(second > 0)) continue;
        const float rate = fabsf(work.state[1][at + k]) / sqrtf(second);
        sum += rate < 1 ? static_cast<double>(rate) : 1.0;
        count += 1;
      }
      sum = sum_over_block<threads>(sum, sums);
      count = sum_over_block<threads>(count, sums);
      if (threadIdx.x == 0) work.adaptation[expert] = count > 0 ? sum / count : 0.0;
    }
  }
};

// Of all weights and biases of each expert; what lies between is 0.
struct Squares {
  static constexpr int threads = 256;
  static constexpr int bytes = threads * 8;

  __device__ __forceinline__ void operator()(const SleepWork& work, char* memory) const {
    const int living = work.living[work.layout.room];
    for (int i = static_cast<int>(blockIdx.x); i < living; i += static_cast<int>(gridDim.x)) {
      const int expert = work.living[i];
      const float* values = work.state[0] + work.layout.expert_at(expert);
      double sum = 0;
      for (std::int64_t k = 4 * static_cast<int>(threadIdx.x); k < work.layout.expert_size;
           k += 4 * threads) {
        const float4 four = four_at(values + k);
        sum += static_cast<double>(four.x * four.x + four.y * four.y + (four.z * four.z + four.w * four.w));
      }
      sum = sum_over_block<threads>(sum, reinterpret_cast<double*>(memory));
      if (threadIdx.x == 0) work.squares[expert] = sum;
    }
  }
};

// A pair to a block: the order of the other's units, layer by layer, and the cosine of all weights then.
struct AlignPairs {
  int first;
  int count;
  static constexpr int threads = comparing_threads;
  static constexpr int bytes = slices_bytes + UnitMatching::bytes;

  __device__ __forceinline__ void operator()(const SleepWork& work, char* memory) const {
    for (int i = static_cast<int>(blockIdx.x); i < count; i += static_cast<int>(gridDim.x))
      align(work, first + i, memory);
  }

 private:
  __device__ __forceinline__ static void align(const SleepWork& work, int number, char* memory) {
    const Layout& layout = work.layout;
    const PlacePair pair = work.pairs[number];
    auto* slices = reinterpret_cast<float*>(memory);
    const std::int64_t block = static_cast<std::int64_t>(blockIdx.x);
    float* likeness = work.likeness + block * work.likeness_size;
    float* reordered = work.reordered + block * work.reordered_size;
    std::int32_t* orders = work.orders + block * work.order_size;
    double product = 0;
    InputOrder order;
    for (int layer = 0; layer < layout.layer_count; ++layer) {
      const Layer& of = layout.layers[layer];
      std::int32_t* of_layer = nullptr;
      InputOrder next;
      if (layer + 1 < layout.layer_count) {
        const ComparedLayer& compared = work.compared[layer];
        const float* one = work.units + pair.one * work.units_size + compared.at;
        const float* other = work.units + pair.other * work.units_size + compared.at;
        if (layer > 0) {
          for (int unit = 0; unit < of.width; unit += side)
            make_units(work, pair.other, layer, unit, order, reordered, slices);
          other = reordered;
        }
        compare(of, compared, one, other, likeness, slices);
        const UnitMatching units(likeness, of.outputs, of.width, memory, memory + slices_bytes);
        units.run();
        of_layer = orders + compared.order_at;
        for (int i = static_cast<int>(threadIdx.x); i < of.width; i += threads) of_layer[i] = units.of_one[i];
        __syncthreads();
        next = {units.of_other, of_layer};
      }
      product += product_of(work, pair, layer, order.sources, of_layer);
      order = next;
    }
    product = sum_over_block<threads>(product, reinterpret_cast<double*>(slices));
    const double lengths = sqrt(work.squares[pair.one]) * sqrt(work.squares[pair.other]);
    if (threadIdx.x == 0) work.cosines[number] = lengths > 0 ? product / lengths : 0.0;
    __syncthreads();
  }

  __device__ __forceinline__ static void compare(const Layer& of, const ComparedLayer& compared,
                                                 const float* one, const float* other, float* likeness,
                                                 float* slices) {
    for (int row = 0; row < of.width; row += side)
      for (int column = 0; column < of.width; column += side)
        block_product(
            DeepRows{one + static_cast<std::int64_t>(row) * compared.stride, compared.stride, of.width - row},
            DeepRows{other + static_cast<std::int64_t>(column) * compared.stride, compared.stride,
                     of.width - column},
            compared.stride, slices, [&](int i, int k, const float4& sum) {
              if (row + i >= of.width || column + k >= of.outputs) return;
              *reinterpret_cast<float4*>(likeness + static_cast<std::int64_t>(row + i) * of.outputs + column +
                                         k) = sum;
            });
  }

  // This thread's part: a row of the weights to a warp.
  __device__ __forceinline__ static double product_of(const SleepWork& work, const PlacePair& pair, int layer,
                                                      const std::int32_t* inputs,
                                                      const std::int32_t* outputs) {
    const Layer& of = work.layout.layers[layer];
    const float* one = work.state[0] + work.layout.expert_at(pair.one);
    const float* other = work.state[0] + work.layout.expert_at(pair.other);
    double sum = 0;
    for (int out = own_warp(); out < of.width; out += threads / 32) {
      const int source = outputs == nullptr ? out : outputs[out];
      const float* left = one + of.weights + static_cast<std::int64_t>(out) * of.inputs;
      const float* right = other + of.weights + static_cast<std::int64_t>(source) * of.inputs;
      float of_row = own_lane() == 0 ? one[of.biases + out] * other[of.biases + source] : 0.0F;
      if (inputs == nullptr) {
#pragma unroll 4
        for (int in = 4 * own_lane(); in < of.inputs; in += 128) {
          const float4 a = four_at(left + in), b = four_at(right + in);
          of_row += a.x * b.x + a.y * b.y + (a.z * b.z + a.w * b.w);
        }
      } else {
#pragma unroll 8
        for (int in = own_lane(); in < of.depth; in += 32) of_row += left[in] * right[inputs[in]];
      }
      sum += static_cast<double>(of_row);
    }
    return sum;
  }
};

}  // namespace stoker::fused::experts
