#pragma once

#include "fused/cuda/one_block/block.cuh"
#include "fused/cuda/one_block/block_backward.cuh"
#include "fused/cuda/one_block/block_data.cuh"
#include "fused/cuda/one_block/block_forward.cuh"

// Thousands of training steps of one small network in one block. Weights and moments stay in the registers of
// the warp that computes their gradient's tile, so the optimiser touches no memory; activations and deltas
// pass through shared memory; device memory is read for the rows of the batch alone, two steps ahead.
//
// A step with three hidden layers, and what separates its phases (| a barrier):
//   forward 2 | forward 3, output, loss, delta 3 | delta 2 | delta 1, update 1, the next step's forward 1;
//   beside it updates 2, 3 and output |
// Nothing stands between delta 1, the first matrix's gradient, its update and the next forward 1: they belong
// to the same columns of the same warp and go from register to register. The other matrices lie in shared
// memory twice, so that updates need not wait until all deltas have read the old weights.
namespace stoker::fused {

template <class Net>
struct Solo : Block<Net, Solo<Net>> {
  using Base = Block<Net, Solo<Net>>;
  static constexpr Plan P = Net::plan;
  static constexpr bool has_second = P.optimizer != number::sgd;
  using Base::factors, Base::floats, Base::group, Base::lane, Base::pair, Base::shared, Base::thread,
      Base::warp, Base::work;

  float w[P.owned_tiles()][4], m[P.owned_tiles()][4], v[has_second ? P.owned_tiles() : 1][4];

  __device__ __forceinline__ Solo(const ModelWork& of, char* memory) : Base(of, memory) {}

  // ---- gradients go straight into the optimiser
  template <int L>
  __device__ __forceinline__ void settle_tile(int number, int tile_row, int tile_column, const float (&c)[4],
                                              int step) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      update<Net>(w[number][i], m[number][i], v[has_second ? number : 0][i], c[i], factors);
    if constexpr (L > 0)
      this->template put<P.w_stride(L)>(
          this->template w_at<L>(step + 1) + this->template tile_at<P.w_stride(L)>(tile_row, tile_column),
          w[number]);
  }
  template <int L>
  __device__ __forceinline__ void settle_bias(int column, float one, float other) {
    float2* at = reinterpret_cast<float2*>(shared + P.b_at(L) + column * 4);
    float2 &bias = at[0], &first = at[P.bias_bytes(L) / 8], &second = at[2 * P.bias_bytes(L) / 8];
    update<Net>(bias.x, first.x, second.x, one, factors);
    update<Net>(bias.y, first.y, second.y, other, factors);
  }
  __device__ __forceinline__ void settle_output(int row, float one, float other) {
    float* at = floats(P.out_weights_at()) + row;
    update<Net>(at[0], at[P.last()], at[2 * P.last()], one, factors);
    update<Net>(at[8], at[P.last() + 8], at[2 * P.last() + 8], other, factors);
  }
  // The first matrix never leaves the registers.
  __device__ __forceinline__ void first_operand(Word (&b)[2], int number, int, int) const {
    b[0] = transpose(pack(w[number][0], w[number][1]));
    b[1] = transpose(pack(w[number][2], w[number][3]));
  }

  // ---- the state in device memory
  template <class Visit>
  __device__ __forceinline__ void each_tile(Visit&& visit) {
#pragma unroll
    for (int i = 0; i < P.first_columns(); ++i) {
      const int tile_column = warp + i * warps;
      if (P.columns(0) % warps != 0 && tile_column >= P.columns(0)) break;
#pragma unroll
      for (int k = 0; k < P.first_tiles(); ++k)
        each_of_tile<0>(i * P.first_tiles() + k, k, tile_column, visit);
    }
    each_of_matrices<1>(visit);
  }
  template <int L, class Visit>
  __device__ __forceinline__ void each_of_tile(int number, int tile_row, int tile_column, Visit&& visit) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = tile_row * 16 + group + (i >> 1) * 8, column = tile_column * 8 + pair + (i & 1);
      visit(P.matrix_at(L) + row * P.breadth(L) + column, w[number][i], m[number][i],
            v[has_second ? number : 0][i]);
    }
  }
  template <int L, class Visit>
  __device__ __forceinline__ void each_of_matrices(Visit&& visit) {
    if constexpr (L < P.matrices()) {
      constexpr int owned = P.owned(L), columns = P.columns(L), tiles = P.tiles(L);
#pragma unroll
      for (int i = 0; i < owned; ++i) {
        const int number = (warp - P.home(L).warp) * owned + i;
        if (owned * warps != tiles && (number < 0 || number >= tiles)) break;
        each_of_tile<L>(P.owned_at(L) + i, number / columns, number % columns, visit);
      }
      each_of_matrices<L + 1>(visit);
    }
  }
  __device__ __forceinline__ void load_state() {
    this->clear_shared();
    each_tile([&](int at, float& weight, float& first, float& second) {
      weight = work.parameters[at];
      first = work.first_moment[at];
      if constexpr (has_second) second = work.second_moment[at];
    });
    this->template each_vector<1>([&](int from, int to, int count, int bytes) {
      for (int i = thread; i < count; i += threads) {
        floats(to)[i] = work.parameters[from + i];
        floats(to + bytes)[i] = work.first_moment[from + i];
        // Padding gets it too, since a root is taken of it.
        if constexpr (has_second) floats(to + 2 * bytes)[i] = work.second_moment[from + i];
      }
    });
    this->template fill_shared<1>();
    for (int i = thread; i < rows; i += threads)
      reinterpret_cast<double*>(shared + P.sums_at())[i] = work.row_sums[i];
  }
  __device__ __forceinline__ void save_state() {
    each_tile([&](int at, float& weight, float& first, float& second) {
      work.parameters[at] = weight;
      work.first_moment[at] = first;
      if constexpr (has_second) work.second_moment[at] = second;
    });
    this->template each_vector<1>([&](int to, int from, int count, int bytes) {
      for (int i = thread; i < count; i += threads) {
        work.parameters[to + i] = floats(from)[i];
        work.first_moment[to + i] = floats(from + bytes)[i];
        if constexpr (has_second) work.second_moment[to + i] = floats(from + 2 * bytes)[i];
      }
    });
    for (int i = thread; i < rows; i += threads)
      work.row_sums[i] = reinterpret_cast<const double*>(shared + P.sums_at())[i];
  }

  // Cycles that the first warp spends in each phase, for whoever tunes the kernel.
#ifdef STOKER_FUSED_CLOCKS
  std::int64_t clock_before = 0;
  __device__ __forceinline__ void end_of_phase(int phase) {
    if (thread != 0) return;
    const std::int64_t now = clock64();
    if (clock_before != 0) work.clocks[phase] += now - clock_before;
    clock_before = now;
  }
#else
  __device__ __forceinline__ void end_of_phase(int) {}
#endif

  __device__ __forceinline__ void run() {
    load_state();
    this->take_settings();
    this->begin();
    const bool waits_first = (warp >> 2 & 1) == 0;  // schedulers have warps w, w + 4 ...
#pragma unroll 1
    for (int step = 0; step < work.steps; ++step) {
      this->template forward_up_to_last<2>(step);
      end_of_phase(0);
      this->output(step);
      __syncthreads();
      end_of_phase(1);
      this->take_factors(step);
      this->template deltas_from<P.top() - 1>(step);
      end_of_phase(2);
      this->take_masks(step + 1);
      // One part waits for results most of the time, the other has much to compute, and neither needs the
      // other: half of the warps begin with the one, half with the other.
#pragma unroll 1
      for (int part = 0; part < 2; ++part) {
        if ((part == 0) == waits_first) {
          this->delta_first(step);
          this->gradient_first(step);
          if (step + 1 < work.steps) this->forward_first(step + 1);
        } else {
          this->template gradients_up_from<1>(step);
        }
      }
      __syncthreads();
      end_of_phase(3);
    }
    save_state();
  }
};

}  // namespace stoker::fused
