#pragma once

#include "base/random.h"
#include "fused/cuda/math.cuh"
#include "fused/cuda/ptx.cuh"
#include "fused/cuda/whole_gpu/crowd_layout.h"
#include "fused/cuda/work.h"

// Wide networks: every block has a few units of each hidden layer (slabs of 8) with all weights that enter
// them, and makes their activations, deltas, gradients and updates for the whole batch. Weights and moments
// stay where they are used; activations, deltas and fp16 weights go through device memory, that is the L2
// cache, as [slab, row, 8]: a slab is written by one block in one piece, and read by all.
//
// With H hidden layers the blocks meet 2H - 1 times a step: after the activations of layers 1 .. H - 1, after
// the last layer (a single output's sum over the units, in parts; for classes its activations, and where the
// batch is large its logits), and after the deltas of layers H .. 2. While a block waits for the others'
// deltas it computes the gradient and the update that belong to its own. Deltas of layer 1, the first
// matrix's update and the next step's first layer need nothing of others.
//
// A large batch is mostly reading: with 512 rows and three layers of 1024, every block takes 6 MB a step out
// of the L2 cache, all of them 0.8 GB. Its rows go through the registers in stretches of tiles.
//
// Everything exchanged exists for even and odd steps. What a step writes is read in that step (weights: in
// the next) before the reader arrives at its next meeting, and written again two steps later, after the
// writer has passed a meeting of the step between: so nobody writes what somebody may still read.
//
// Tensor cores take a chunk of 32 inputs at a time, in an order that spares the usual shuffling: the lane
// with group g and quarter q holds inputs 8q .. 8q + 7 of row (or unit) g, and both operands of a product
// agree on it. A gradient's tile has for its rows what transposing such words leaves: word j of group g is
// input 8 (g / 2) + 2 j + g % 2.
namespace stoker::fused {

template <class Net>
struct Crowd {
  static constexpr Plan P = Net::plan;
  static constexpr CrowdLayout At{Net::plan};
  static constexpr int H = P.hidden();
  static constexpr int T = At.tiles(), R = At.batch_rows();
  static constexpr bool has_second = P.optimizer != number::sgd;
  static constexpr int shares = At.shares();

  const ModelWork& work;
  char* const shared;
  char* const exchange = reinterpret_cast<char*>(work.exchange);
  const int thread = static_cast<int>(threadIdx.x);
  const int block = static_cast<int>(blockIdx.x);
  const int warp = __shfl_sync(~0U, thread >> 5, 0);
  const int lane = thread & 31;
  const int group = lane >> 2, quarter = lane & 3;
  const int pair = 2 * quarter;
  // Who finishes what the warps have multiplied: a row's two neighbouring units, by `shares` lanes. Where
  // there are more rows than threads for that, it takes rounds: see each_round.
  static constexpr int finishers = R * 4 * shares, finish_rounds = divide_up(finishers, threads);
  const bool finishes = thread < finishers;
  const int share = thread % shares;
  const int first_row = thread / shares / 4, unit = thread / shares % 4 * 2;
  int row = first_row;  // of this round
  const float dropout_scale = work.dropout_scale;

  Factors factors;
  float per_row = 0;  // of this step
  Word key = 0;
  Word meetings = 0;  // that this block has arrived at
  double loss_sum = 0;
  float squares = 0;  // of this thread's gradients, where they wait for their norm

  __device__ __forceinline__ Crowd(const ModelWork& of, char* memory) : work(of), shared(memory) {}

  // ---- meetings of all blocks
  __device__ __forceinline__ void arrive() {
    __syncthreads();
    ++meetings;
    if (thread == 0) announce(work.arrivals);
  }
  __device__ __forceinline__ void wait() const {
    if (thread == 0) {
      const Word wanted = meetings * static_cast<Word>(At.blocks());
      while (announced(work.arrivals) < wanted) {
      }
    }
    __syncthreads();
  }

  // ---- where things lie
  __device__ __forceinline__ float* floats(int at) const { return reinterpret_cast<float*>(shared + at); }
  __device__ __forceinline__ float* vector(int array) const {
    return floats(At.vectors_at()) + array * At.vectors();
  }
  __device__ __forceinline__ char* exchanged(int at, int step) const {
    return exchange + (step & 1) * At.one_bytes() + at;
  }
  __device__ __forceinline__ char* rows_of(int step) const {
    return exchange + At.rows_at() + (step & 3) * At.rows_bytes();
  }
  // Activations that enter matrix L.
  template <int L>
  __device__ __forceinline__ const char* inputs(int step) const {
    if constexpr (L == 0)
      return rows_of(step);
    else
      return exchanged(At.values_at(L), step);
  }
  __device__ __forceinline__ Word& own(int at, int i) const {
    return *reinterpret_cast<Word*>(shared + at + ((i * R + row) * 8 + unit) * 2);
  }
  __device__ __forceinline__ static uint4 fetched(const char* from) {
    return __ldcg(reinterpret_cast<const uint4*>(from));
  }
  // The number of the block's slab i of layer h, if it has one.
  template <int Layer>
  __device__ __forceinline__ bool has_slab(int i, int& slab) const {
    slab = i * At.blocks() + block;
    return slab < At.slabs(Layer);
  }

  // This thread's rows among those to be finished; whole warps have one, or none.
  template <class Visit>
  __device__ __forceinline__ void each_round(Visit&& visit) {
    if constexpr (finish_rounds == 1) {
      if (finishes) visit(0);
    } else {
#pragma unroll
      for (int round = 0; round < finish_rounds; ++round) {
        row = first_row + round * (threads / 4 / shares);
        if (finishers % threads == 0 || row < R) visit(round);
      }
    }
  }

  // ---- products
  // Parts of [rows, inputs] x [inputs, 8 units], each warp's in shared memory. `weights` gives the second
  // operand of a chunk.
  template <int Chunks, class Weights>
  __device__ __forceinline__ void multiply(const char* from, Weights&& weights) const;
  // This thread's pair of their sum; the same in all lanes that share it.
  template <int Chunks>
  __device__ __forceinline__ float2 sum_of_parts() const;

  // ---- forward
  // Dropout as dropout_key() has it: the first word is one for all layers of a step.
  template <int Layer>
  __device__ __forceinline__ void drop(int of_unit, int step, bool (&kept)[2]) const {
    constexpr int width = P.width[Layer];
    const auto number = static_cast<std::uint64_t>(work.first_step + step);
    const Word high = static_cast<Word>(number >> 32) | (static_cast<Word>(Layer - 1) << 16);
    const RandomKey of{key, mix(high + key + 0x85ebca6bU)};
    const Word element = static_cast<Word>(row * width + of_unit);
    const Word bits = random_bits(of, element >> 1);
    const Word next = width % 2 == 0 ? bits : random_bits(of, (element + 1) >> 1);
    kept[0] = kept[0] && !dropped(bits, element, work.dropout_threshold);
    kept[1] = kept[1] && !dropped(next, element + 1, work.dropout_threshold);
  }
  // Activation, dropout and slope of slab i of a layer; gives the values.
  template <int Layer>
  __device__ __forceinline__ float2 activated(int i, int slab, float2 z, int step) const {
    const int of_unit = slab * 8 + unit;
    bool kept[2] = {of_unit < P.width[Layer], of_unit + 1 < P.width[Layer]};
    if constexpr (P.has_dropout) drop<Layer>(of_unit, step, kept);
    const Activated one = activate<P.activation>(z.x), other = activate<P.activation>(z.y);
    const float scale = P.has_dropout ? dropout_scale : 1.0F;
    const float2 value =
        make_float2(kept[0] ? one.value * scale : 0.0F, kept[1] ? other.value * scale : 0.0F);
    if (share == 0) {
      const Word both = pack(value.x, value.y);
      own(At.own_values_at(Layer), i) = both;
      if constexpr (!P.is_relu())
        own(At.own_slopes_at(Layer), i) =
            pack(kept[0] ? one.slope * scale : 0.0F, kept[1] ? other.slope * scale : 0.0F);
      if constexpr (At.is_exchanged(Layer))
        __stcg(
            reinterpret_cast<Word*>(exchanged(At.values_at(Layer), step) + ((slab * R + row) * 8 + unit) * 2),
            both);
    }
    return value;
  }
  // This thread's part of a single output, for the row of each round.
  struct OutputParts {
    float of[finish_rounds] = {};
  };
  // A layer's own slabs. Gives the parts of a single output behind the last one.
  template <int Layer>
  __device__ __forceinline__ OutputParts forward(int step) {
    constexpr int L = Layer - 1, chunks = At.chunks(L);
    OutputParts output;
    for (int i = 0; i < At.deal(Layer); ++i) {
      int slab;
      if (!has_slab<Layer>(i, slab)) break;
      if (i > 0) __syncthreads();
      multiply<chunks>(inputs<L>(step), [&](int chunk) { return operand<L>(i, slab, chunk); });
      __syncthreads();
      each_round([&](int round) {
        float2 z = sum_of_parts<chunks>();
        if constexpr (Layer > 1) {
          const float* bias = vector(0) + At.bias_first(Layer) + i * 8 + unit;
          z.x += bias[0], z.y += bias[1];
        }
        const float2 value = activated<Layer>(i, slab, z, step);
        if constexpr (Layer == H && P.scalar()) {
          const float* weights = vector(0) + At.out_first() + i * 8 + unit;
          output.of[round] += value.x * weights[0] + value.y * weights[1];
        }
      });
    }
    return output;
  }
  template <int Layer>
  __device__ __forceinline__ void forward_up_to_last(int step) {
    if constexpr (Layer < H) {
      forward<Layer>(step);
      arrive();
      wait();
      forward_up_to_last<Layer + 1>(step);
    }
  }

  // ---- backward
  // Deltas of slab i through the activation of its layer: kept, and given to the others but for the first.
  template <int Layer>
  __device__ __forceinline__ void settle_delta(int i, int slab, float2 d, int step) const {
    if (share != 0) return;
    if constexpr (P.is_relu()) {
      // Left out or not active: the activation is 0.
      const Word value = own(At.own_values_at(Layer), i);
      const float scale = P.has_dropout ? dropout_scale : 1.0F;
      d.x = (value & 0x7fffU) != 0 ? d.x * scale : 0.0F;
      d.y = (value & 0x7fff0000U) != 0 ? d.y * scale : 0.0F;
    } else {
      const Word slope = own(At.own_slopes_at(Layer), i);
      d.x *= low_half(slope);
      d.y *= high_half(slope);
    }
    const Word both = pack(d.x, d.y);
    own(At.own_deltas_at(Layer), i) = both;
    if constexpr (Layer > 1)
      __stcg(
          reinterpret_cast<Word*>(exchanged(At.deltas_at(Layer), step) + ((slab * R + row) * 8 + unit) * 2),
          both);
  }
  // The deltas of a layer below the last: those of the layer above times the matrix between, transposed.
  template <int Layer>
  __device__ __forceinline__ void delta(int step) {
    constexpr int chunks = At.chunks(Layer + 1), places = At.places(Layer + 1);
    for (int i = 0; i < At.deal(Layer); ++i) {
      int slab;
      if (!has_slab<Layer>(i, slab)) break;
      if (i > 0) __syncthreads();
      const char* matrix =
          exchanged(At.matrix_at(Layer), step) + (slab * places + quarter) * 128 + group * 16;
      multiply<chunks>(exchanged(At.deltas_at(Layer + 1), step),
                       [&](int chunk) { return fetched(matrix + chunk * 4 * 128); });
      look_ahead<Layer>(step);
      __syncthreads();
      each_round([&](int) { settle_delta<Layer>(i, slab, sum_of_parts<chunks>(), step); });
    }
  }
  // What belongs to a layer's own deltas: the gradient of the matrix below and of the bias. Its inputs are
  // known long before the deltas, so they are fetched while others are waited for.
  uint4 ahead[CrowdLayout::most_ahead];
  template <int Layer>
  __device__ __forceinline__ void look_ahead(int step);
  template <int Layer>
  __device__ __forceinline__ void gradient(int step);
  template <int Layer>
  __device__ __forceinline__ void slab_gradient(int i, int slab, const char* own_deltas, int step);
  template <int L>
  __device__ __forceinline__ void chunk_gradient(int i, int slab, int chunk, const uint4* upper_and_lower,
                                                 const Word (&deltas)[T][2], int step);
  template <int L>
  __device__ __forceinline__ void chunk_gradient_in_stretches(int i, int slab, int chunk,
                                                              const char* own_deltas, int step);
  template <int Layer>
  __device__ __forceinline__ void bias_gradient(int i, const char* own_deltas);
  template <int Layer>
  __device__ __forceinline__ void backward_from(int step) {
    if constexpr (Layer >= 1) {
      delta<Layer>(step);
      share_delta<Layer>(step);
      backward_from<Layer - 1>(step);
    }
  }
  // The blocks meet over the deltas of a layer, and use the time.
  template <int Layer>
  __device__ __forceinline__ void share_delta(int step) {
    if constexpr (Layer > 1)
      arrive();
    else
      __syncthreads();
    if constexpr (Layer == H) output_gradient(step);
    gradient<Layer>(step);
    if constexpr (Layer > 1) wait();
  }

  // ---- output and loss (crowd_output.cuh)
  __device__ __forceinline__ void scalar_output(int step, OutputParts parts);
  __device__ __forceinline__ void class_output(int step);
  __device__ __forceinline__ void own_logits(int step);
  __device__ __forceinline__ void shared_logits(int step);
  __device__ __forceinline__ void class_losses() const;
  __device__ __forceinline__ void output_delta(int step);
  __device__ __forceinline__ void output_gradient(int step);

  // ---- state and updates (crowd_state.cuh)
  template <int L>
  __device__ __forceinline__ void settle_chunk(int i, int slab, int chunk, const float (&gradient)[2][4],
                                               int step);
  template <int L>
  __device__ __forceinline__ void update_chunk(int i, int slab, int chunk, const float (&gradient)[2][4],
                                               int step) const;
  template <int L>
  __device__ __forceinline__ uint4 operand(int i, int slab, int chunk) const;
  template <int L>
  __device__ __forceinline__ void publish_chunk(int i, int slab, int chunk, const Word (&words)[4],
                                                int step) const;
  __device__ __forceinline__ void settle_vector(int at, float gradient, bool counts);
  __device__ __forceinline__ void publish_output(int step) const;
  __device__ __forceinline__ float clip_factor(int step);
  template <int L>
  __device__ __forceinline__ void update_clipped(float factor, int step) const;
  __device__ __forceinline__ void clip_and_update(int step);
  __device__ __forceinline__ void load_state();
  __device__ __forceinline__ void save_state();
  template <int L>
  __device__ __forceinline__ void load_matrices_from();
  template <int L>
  __device__ __forceinline__ void save_matrices_from() const;
  template <int L, class Visit>
  __device__ __forceinline__ void each_chunk(Visit&& visit) const;
  template <int Layer, class Visit>
  __device__ __forceinline__ void each_vector(Visit&& visit) const;
  template <int L, int Array>
  __device__ __forceinline__ float4 state(int i, int slab, int chunk, int half) const;
  template <int L, int Array>
  __device__ __forceinline__ void keep(int i, int slab, int chunk, int half, const float4& value) const;
  template <int L>
  __device__ __forceinline__ float4 from_flat(const float* flat, int slab, int chunk, int half,
                                              float beyond) const;
  template <int L>
  __device__ __forceinline__ void to_flat(float* flat, int slab, int chunk, int half,
                                          const float4& value) const;
  // Where a gradient waits for the norm of all.
  template <int L>
  __device__ __forceinline__ float4* waiting(int i, int chunk) const {
    return reinterpret_cast<float4*>(exchange + At.gradients_at() +
                                     static_cast<std::int64_t>(block) * At.gradients_of(H) +
                                     At.gradients_of(L)) +
           (i * At.chunks(L) + chunk) * 64 + lane;
  }
  __device__ __forceinline__ float* flat(int array) const {
    return array == 0 ? work.parameters : array == 1 ? work.first_moment : work.second_moment;
  }

  // ---- rows of the table: all blocks together lay those of the next step out as activations
  // (crowd_rows.cuh)
  static constexpr int pieces = P.depth(0) / 8 * R;  // of 16 bytes
  static constexpr int all_piece_rounds = divide_up(pieces, At.blocks() * threads);
  // Fetched ahead, or a few at a time when they are due, where registers do not hold them all.
  static constexpr bool fetches_ahead = !At.is_large() || all_piece_rounds <= 4;
  static constexpr int piece_rounds = fetches_ahead ? all_piece_rounds : 4;
  int next_rows[piece_rounds];
  uint4 next_pieces[piece_rounds];
  int target_row = -1;
  RowTarget target;

  __device__ __forceinline__ int piece_of(int round) const;
  __device__ __forceinline__ int row_in_order(int step, int of_row) const;
  __device__ __forceinline__ void look_up_rows(int step, int first = 0);
  __device__ __forceinline__ void fetch_rows(int first = 0);
  __device__ __forceinline__ void put_rows(int step, int first = 0) const;
  __device__ __forceinline__ void lay_out_rows(int step);
  __device__ __forceinline__ void look_up_target(int step);
  __device__ __forceinline__ void begin_step(int step);

  __device__ __forceinline__ void run() {
    load_state();
    look_up_target(0);
    if constexpr (fetches_ahead) {
      look_up_rows(0);
      fetch_rows();
    }
    lay_out_rows(0);
    if constexpr (fetches_ahead) look_up_rows(1);
    arrive();
    wait();
#pragma unroll 1
    for (int step = 0; step < work.steps; ++step) {
      begin_step(step);
      forward_up_to_last<1>(step);
      const OutputParts parts = forward<H>(step);
      lay_out_rows(step + 1);
      if constexpr (P.scalar())
        scalar_output(step, parts);
      else
        class_output(step);
      output_delta(step);
      share_delta<H>(step);
      backward_from<H - 1>(step);
      if constexpr (P.crowd.clips) clip_and_update(step);
      __syncthreads();
      publish_output(step + 1);
    }
    save_state();
  }
};

}  // namespace stoker::fused
