#pragma once

#include "base/random.h"
#include "fused/cuda/math.cuh"
#include "fused/cuda/plan.h"
#include "fused/cuda/ptx.cuh"
#include "fused/cuda/work.h"

namespace stoker::fused {

// What every block does with its 32 rows: fetch, forward, loss, deltas, gradients. What becomes of a gradient
// is the business of Self: settle_tile, settle_bias and settle_output take the sums as tensor cores leave
// them.
template <class Net, class Self>
struct Block {
  static constexpr Plan P = Net::plan;

  const ModelWork& work;
  char* const shared;
  const Word base = shared_address(shared);
  const int thread = static_cast<int>(threadIdx.x);
  // The same in all lanes, and known to be: what depends on it costs no register of every lane.
  const int warp = __shfl_sync(~0U, thread >> 5, 0);
  const int lane = thread & 31;
  const int group = lane >> 2;      // row of a tile
  const int pair = 2 * (lane & 3);  // first of two columns of a tile

  Word mask[P.mask_words() + 1];  // this step's dropout, then the next one's first layer
  Factors factors;
  const float dropout_scale = work.dropout_scale;

  __device__ __forceinline__ Block(const ModelWork& of, char* memory) : work(of), shared(memory) {}
  __device__ __forceinline__ Self& self() { return static_cast<Self&>(*this); }

  // A team works on more rows than a block has, in several passes; `step` then counts passes.
  static constexpr bool is_team = P.team > 0;
  int block = 0;   // of the model's
  int passes = 1;  // of a step
  __device__ __forceinline__ int pass_of(int step) const { return is_team ? step % passes : 0; }
  __device__ __forceinline__ int step_of(int step) const { return is_team ? step / passes : step; }
  // The first row of the batch that the block works on.
  __device__ __forceinline__ int first_row(int step) const {
    return is_team ? (block * passes + pass_of(step)) * rows : 0;
  }

  // ---- where things lie: this lane's part of an address, for a matrix whose rows are Stride halves apart
  // An operand [16, 16] by rows, and one that is read transposed.
  template <int Stride>
  __device__ __forceinline__ Word by_rows() const {
    return base + ((lane & 15) * Stride + (lane >> 4) * 8) * 2;
  }
  template <int Stride>
  __device__ __forceinline__ Word turned() const {
    return base + (((lane & 7) + ((lane >> 4) << 3)) * Stride + ((lane >> 3) & 1) * 8) * 2;
  }
  // 32 rows of 8 columns, and 8 rows of 32 columns.
  template <int Stride>
  __device__ __forceinline__ Word down() const {
    return base + lane * Stride * 2;
  }
  template <int Stride>
  __device__ __forceinline__ Word across() const {
    return base + ((lane & 7) * Stride + (lane >> 3) * 8) * 2;
  }
  // The two neighbours of a tile that this lane holds.
  template <int Stride>
  __device__ __forceinline__ Word& held(int at) const {
    return *reinterpret_cast<Word*>(shared + (group * Stride + pair) * 2 + at);
  }
  template <int Stride>
  __device__ __forceinline__ static int tile_at(int tile_row, int tile_column) {
    return (tile_row * 16 * Stride + tile_column * 8) * 2;
  }
  __device__ __forceinline__ int x_at(int step) const {
    return P.x_at() + (step & (stages - 1)) * P.x_bytes();
  }
  __device__ __forceinline__ RowTarget* targets(int step) const {
    return reinterpret_cast<RowTarget*>(shared + P.target_at()) + (step & (stages - 1)) * rows;
  }
  template <int H>
  __device__ __forceinline__ int a_at(int step) const {
    return P.a_at(H) + (P.a_copies(H) == 2 ? (step & 1) * P.a_bytes(1) : 0);
  }
  template <int H>
  __device__ __forceinline__ int slope_at(int step) const {
    return P.slope_at(H) + (P.a_copies(H) == 2 ? (step & 1) * P.a_bytes(1) : 0);
  }
  template <int L>
  __device__ __forceinline__ int w_at(int step) const {
    return P.w_at(L) + (P.w_copies() == 2 ? (step & 1) * P.w_bytes(L) : 0);
  }
  __device__ __forceinline__ float* floats(int at) const { return reinterpret_cast<float*>(shared + at); }
  __device__ __forceinline__ StepFactors& step_factors(int step) const {
    return reinterpret_cast<StepFactors*>(shared + P.factors_at())[step & (stages - 1)];
  }

  // ---- rows of a batch, fetched ahead
  static constexpr int pieces = P.depth(0) / 8;  // of 16 bytes a row
  static constexpr int fetches = rows * (pieces + 1) + 1;
  static constexpr int fetch_rounds = divide_up(fetches, threads);
  int next_rows[fetch_rounds];

  // Threads from the end fetch: the first warps are those that the loss waits for.
  __device__ __forceinline__ int fetch_unit(int round) const {
    return threads - 1 - thread + round * threads;
  }
  __device__ __forceinline__ static int row_of(int unit);
  __device__ __forceinline__ void look_up(int step);
  __device__ __forceinline__ void fetch(int step);

  // ---- dropout
  // As dropout_key() has it: the first word is one for all layers of a step, the second is each layer's own.
  template <int H>
  __device__ __forceinline__ void draw_layers(Word shared_key, std::int64_t step, int row, int of_warp,
                                              Word (&bits)[P.mask_words() + 1]) const;
  Word next_key = 0;  // of the step whose masks are drawn next
  __device__ __forceinline__ void look_up_key(int step) {
    if constexpr (P.has_dropout)
      if (step < work.steps * passes) next_key = work.factors[step_of(step)].key;
  }
  __device__ __forceinline__ Word* masks(int step) const;
  // Warps from FirstWarp on draw for all, in rounds.
  static constexpr int draw_rounds(int first_warp) { return divide_up(warps, warps - first_warp); }
  template <int FirstWarp>
  __device__ __forceinline__ void draw_masks(int step, int first_round, int end_round) const;
  __device__ __forceinline__ void take_masks(int step);

  template <int Stride>
  __device__ __forceinline__ void put(int at, const float (&c)[4]) const;

  // Activation, dropout and slope of a tile of hidden layer H; leaves the values in c.
  template <int H>
  __device__ __forceinline__ void finish_tile(float (&c)[4], int tile_row, int tile_column, int mask_tile,
                                              int step);

  // Deltas of a tile through the activation of hidden layer H.
  template <int H>
  __device__ __forceinline__ void through_activation(float (&c)[4], int tile_row, int tile_column,
                                                     int step) const;

  // ---- forward
  // c = rows [16 * tile_row ..] of the activations that enter matrix L, times its columns [8 * tile_column
  // ..].
  template <int L>
  __device__ __forceinline__ void forward_tile(float (&c)[4], int tile_row, int tile_column, int step) const;

  // Hidden layer 1 from the weights in this warp's registers.
  __device__ __forceinline__ void forward_first(int step);

  // Two tiles beside each other: what forward_tile does, with the activations read once.
  template <int L>
  __device__ __forceinline__ void forward_pair(float (&c)[2][4], int tile_row, int tile_column,
                                               int step) const;

  template <int H>
  __device__ __forceinline__ void forward(int step);
  // While some warps compute, idle ones look ahead: at the rows of the step after next and at the dropout of
  // the next.
  template <int FirstWarp>
  __device__ __forceinline__ void look_ahead(int step);
  template <int H>
  __device__ __forceinline__ void forward_up_to_last(int step);

  // ---- output and loss, one output
  __device__ __forceinline__ void scalar_output(int step);

  // ---- output and loss, several classes: sixteen lanes a row
  __device__ __forceinline__ void class_output(int step);
  __device__ __forceinline__ void add_hit(int row) const;

  // ---- backward
  // c = deltas of layer H + 1 times the transposed matrix H, a tile of [rows, width H].
  template <int H>
  __device__ __forceinline__ void delta_tile(float (&c)[4], int tile_row, int tile_column, int step) const;

  template <int H>
  __device__ __forceinline__ void delta(int step) const;

  Word first_delta[P.first_columns()][2][2];  // [column][16 rows][8 rows]: packed, as mma leaves them
  __device__ __forceinline__ void delta_first(int step) {
    if constexpr (P.top() > 1) {
#pragma unroll
      for (int i = 0; i < P.first_columns(); ++i) {
        const int tile_column = warp + i * warps;
        if (P.columns(0) % warps != 0 && tile_column >= P.columns(0)) break;
        float c[2][4];
        delta_rows<1>(c, tile_column, step);
#pragma unroll
        for (int tile_row = 0; tile_row < 2; ++tile_row) {
          through_activation<1>(c[tile_row], tile_row, tile_column, step);
          first_delta[i][tile_row][0] = pack(c[tile_row][0], c[tile_row][1]);
          first_delta[i][tile_row][1] = pack(c[tile_row][2], c[tile_row][3]);
        }
      }
    }
  }
  // What delta_tile does, for all rows: the weights are read once.
  template <int H>
  __device__ __forceinline__ void delta_rows(float (&c)[2][4], int tile_column, int step) const;
  __device__ __forceinline__ void gradient_first(int step);
  // Matrix L: the gradients of this warp's tiles.
  template <int L>
  __device__ __forceinline__ void gradient_of(int step);

  // Sums of the deltas' columns: a product with ones.
  template <int L>
  __device__ __forceinline__ void bias_gradient(Word deltas_of_row);

  // The weights of one output: the same product with a single column of deltas.
  __device__ __forceinline__ void output_gradient(int step);

  // Deltas of layers H .. 2, each after the one above it.
  template <int H>
  __device__ __forceinline__ void deltas_from(int step) const;
  // Gradients of all matrices but the first. They need nothing of each other, so they come last, where their
  // arithmetic fills the gaps of what waits.
  template <int L>
  __device__ __forceinline__ void gradients_up_from(int step);

  // ---- the state in device memory
  // Vectors in shared memory: biases and the weights of a single output.
  template <int L, class Visit>
  __device__ __forceinline__ void each_vector(Visit&& visit);

  __device__ __forceinline__ void clear_shared() {
    for (int i = thread; i < P.shared_bytes() / 4; i += threads) reinterpret_cast<Word*>(shared)[i] = 0;
    __syncthreads();
  }
  // Matrices as the tensor cores read them.
  template <int L>
  __device__ __forceinline__ void fill_shared();
  __device__ __forceinline__ void take_factors(int step) {
    const StepFactors& of = step_factors(step);
    factors.rate = of.rate;
    factors.keep = of.keep;
  }
  __device__ __forceinline__ void take_settings();

  // The last hidden layer, the loss and its deltas.
  __device__ __forceinline__ void output(int step);
  __device__ __forceinline__ void begin();
};

}  // namespace stoker::fused
