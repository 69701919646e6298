#pragma once

#include "base/random.h"
#include "engine/fused_cuda/duet_plan.h"
#include "engine/fused_cuda/math.cuh"
#include "engine/fused_cuda/wgmma.cuh"
#include "engine/fused_cuda/work.h"

// The same training as solo.cuh, in a block whose four warpgroups have different work (sm_90a, three hidden
// layers, one output). Groups 0 and 1 carry the batch through the network, groups 2 and 3 keep the second
// matrix, which has most of the weights, and draw dropout while they wait:
//
//   group 0:  forward 2 | forward 3, loss, delta 3, delta 2 | delta 1, update 1, the next forward 1   |
//   group 1:  update 3 of the step before | rows to come    | the same for the other half of layer 1  |
//   2 and 3:  the next dropout                              | update 2                                |
//
// Everything stands on its side, [units, rows of the batch]: four warps multiply 64 rows at least, and a
// batch has 32. Products by four warps read shared memory once for all of them, which is what bounds the
// kernel in solo.cuh. From forward 3 to delta 2 each warp of group 0 has eight rows of the batch for itself
// and waits for nobody.
namespace stoker::fused {

template <class Net>
struct Duet {
  static constexpr Plan P = Net::plan;
  static constexpr DuetPlan D{P};
  static_assert(D.fits() && D.shared_bytes() == P.duet);
  static constexpr bool has_second = P.optimizer != 2;

  const ModelWork& work;
  char* const shared;
  const Word base = shared_address(shared);
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = __shfl_sync(~0U, thread >> 5, 0);
  const int party = warp >> 2;   // warpgroup
  const int quarter = warp & 3;  // warp of the warpgroup
  const int lane = thread & 31;
  const int group = lane >> 2;      // row of a tile
  const int pair = 2 * (lane & 3);  // first of two columns of a tile
  Factors factors;
  const float dropout_scale = work.dropout_scale;

  __device__ __forceinline__ Duet(const ModelWork& of, char* memory) : work(of), shared(memory) {
    factors.beta1 = work.beta1;
    // Not a uniform register, of which an instruction reads one at most: epsilon is one already.
    factors.beta2 = __shfl_sync(~0U, work.beta2, lane);
    factors.epsilon = work.epsilon;
    factors.decay = work.weight_decay;
    factors.unscale = work.unscale;
  }

  // ---- where things lie
  __device__ __forceinline__ float* floats(int at) const { return reinterpret_cast<float*>(shared + at); }
  __device__ __forceinline__ Word x_at(int step) const {
    return base + D.x_at() + (step & (D.places - 1)) * D.x_bytes();
  }
  __device__ __forceinline__ Word a1_at(int step) const {
    return base + D.a1_at() + (step & 1) * D.a1_bytes();
  }
  __device__ __forceinline__ Word w2_at(int step) const {
    return base + D.w2_at() + (step & 1) * D.w2_bytes();
  }
  __device__ __forceinline__ Word a2_at(int step) const {
    return base + D.a2_at() + (step & 1) * D.a2_bytes();
  }
  __device__ __forceinline__ RowTarget* targets(int step) const {
    return reinterpret_cast<RowTarget*>(shared + D.target_at()) + (step & (D.places - 1)) * rows;
  }
  __device__ __forceinline__ StepFactors& step_factors(int step) const {
    return reinterpret_cast<StepFactors*>(shared + D.factors_at())[step & (D.places - 1)];
  }
  template <int H>
  __device__ __forceinline__ Word* masks(int step) const {
    return reinterpret_cast<Word*>(shared + D.masks_at()) + (step & 1) * D.mask_words() + D.mask_at(H);
  }
  // This lane's row of one of four blocks: two below each other and two beside (the first four lanes' eights
  // go down), or four in a column.
  template <int Down>
  __device__ __forceinline__ Word down_first() const {
    return (lane >> 3 & 1) * Down + (lane >> 4) * 128 + (lane & 7) * 16;
  }
  template <int Down>
  __device__ __forceinline__ Word across_first() const {
    return (lane >> 4) * Down + (lane >> 3 & 1) * 128 + (lane & 7) * 16;
  }
  template <int Down>
  __device__ __forceinline__ Word column() const {
    return (lane >> 3) * Down + (lane & 7) * 16;
  }

  __device__ __forceinline__ void take_factors(int step) {
    const StepFactors& of = step_factors(step);
    factors.rate = of.rate;
    factors.keep = of.keep;
  }

  // Before the next barrier, and not where the compiler, which sees a loop here, would rather have it.
  template <class Work>
  __device__ __forceinline__ void at_once(Work&& act) const {
#pragma unroll 1
    for (int i = 0; i < work.passes; ++i) act();
  }

  // ---- weights: pieces of 64 x 16, as a product leaves their gradients
  template <int Count>
  struct Pieces {
    float w[Count][8], m[Count][8], v[has_second ? Count : 1][8];
  };
  template <int Count>
  __device__ __forceinline__ void prepare_piece(Pieces<Count>& of, int number) const {
#pragma unroll
    for (int i = 0; i < 8; ++i)
      prepare_update<Net>(of.w[number][i], of.m[number][i], of.v[has_second ? number : 0][i], factors);
  }
  template <int Count>
  __device__ __forceinline__ void update_piece(Pieces<Count>& of, int number, const float (&gradient)[8],
                                               float scale = 1.0F) const {
#pragma unroll
    for (int i = 0; i < 8; ++i)
      finish_update<Net>(of.w[number][i], of.m[number][i], of.v[has_second ? number : 0][i],
                         gradient[i] * scale, factors);
  }
  // As an operand in registers: [64 x 16] halves.
  __device__ __forceinline__ static void as_operand(Word (&to)[4], const float (&from)[8],
                                                    float scale = 1.0F) {
#pragma unroll
    for (int i = 0; i < 4; ++i) to[i] = pack(from[2 * i] * scale, from[2 * i + 1] * scale);
  }
  template <int Down>
  __device__ __forceinline__ void store_piece(Word to, const float (&from)[8]) const {
    Word words[4];
    as_operand(words, from);
    store_matrices(to + quarter * 2 * Down + down_first<Down>(), words[0], words[1], words[2], words[3]);
  }
  // place(row, column): where a weight lies in the flat order; -1: it is padding.
  template <int Count, class Place>
  __device__ __forceinline__ void load_piece(Pieces<Count>& of, int number, Place&& place) const {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int at = place(quarter * 16 + group + (i >> 1 & 1) * 8, (i >> 2) * 8 + pair + (i & 1));
      of.w[number][i] = at < 0 ? 0.0F : work.parameters[at];
      of.m[number][i] = at < 0 ? 0.0F : work.first_moment[at];
      // A root is taken of it.
      if constexpr (has_second) of.v[number][i] = at < 0 ? 1.0F : work.second_moment[at];
    }
  }
  template <int Count, class Place>
  __device__ __forceinline__ void save_piece(const Pieces<Count>& of, int number, Place&& place) const {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int at = place(quarter * 16 + group + (i >> 1 & 1) * 8, (i >> 2) * 8 + pair + (i & 1));
      if (at < 0) continue;
      work.parameters[at] = of.w[number][i];
      work.first_moment[at] = of.m[number][i];
      if constexpr (has_second) work.second_moment[at] = of.v[number][i];
    }
  }
  // Where weight [from, to] of a matrix lies.
  template <int L>
  __device__ __forceinline__ static int flat(int from, int to) {
    return from < P.depth(L) && to < P.breadth(L) ? P.matrix_at(L) + from * P.breadth(L) + to : -1;
  }

  // ---- vectors: biases and the weights of the output. A warp keeps sixteen of them, two for each group of
  // four lanes, with their moments; shared memory has copies for whoever reads them.
  struct Vector {
    float w[2], m[2], v[2];
  };
  // Sixteen units' activations or deltas, times a column that is the same for all of them: sums over the
  // batch of row `group` and of row `group + 8`.
  __device__ __forceinline__ float2 sums_over_batch(Word units, const Word (&column_of)[4]) const {
    Word a[4];
    float c[4] = {0, 0, 0, 0};
    load_matrices(a, units + down_first<D.batch_down()>());
    multiply_add(c, a, column_of[0], column_of[1]);
    load_matrices(a, units + down_first<D.batch_down()>() + 256);
    multiply_add(c, a, column_of[2], column_of[3]);
    return make_float2(c[0], c[2]);
  }
  __device__ __forceinline__ void show_vector(const Vector& of, int at) const {
    if ((lane & 3) != 0) return;
    floats(at)[group] = of.w[0];
    floats(at)[group + 8] = of.w[1];
  }
  __device__ __forceinline__ void update_vector(Vector& of, float2 gradients) const {
    update<Net>(of.w[0], of.m[0], of.v[0], gradients.x, factors);
    update<Net>(of.w[1], of.m[1], of.v[1], gradients.y, factors);
  }
  // The flat vector from `from` on has `count` elements, of which this warp's begin at `first`.
  __device__ __forceinline__ void load_vector(Vector& of, int from, int first, int count) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int element = first + group + i * 8;
      const bool is_there = element < count;
      of.w[i] = is_there ? work.parameters[from + element] : 0.0F;
      of.m[i] = is_there ? work.first_moment[from + element] : 0.0F;
      of.v[i] = is_there && has_second ? work.second_moment[from + element] : 1.0F;
    }
  }
  __device__ __forceinline__ void save_vector(const Vector& of, int from, int first, int count) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int element = first + group + i * 8;
      if (element >= count || (lane & 3) != 0) continue;
      work.parameters[from + element] = of.w[i];
      work.first_moment[from + element] = of.m[i];
      if constexpr (has_second) work.second_moment[from + element] = of.v[i];
    }
  }

  // ---- activations, two rows of the batch at a time
  // ReLU lets a factor through: dropout's goes where it costs least, to weights and to gradients.
  static constexpr bool scales_late = P.is_relu() && P.has_dropout;
  __device__ __forceinline__ float late_scale() const {
    return scales_late ? dropout_scale : 1.0F;
  }
  // Which halves of a pair stay: a unit's word of dropout, its bits moved to where signs() finds them.
  template <int H>
  __device__ __forceinline__ Word mask_of(int unit, int step) const {
    if constexpr (P.has_dropout) return masks<H>(step)[unit] << (6 - pair);
    constexpr int width = P.width[H];
    constexpr bool has_padding = width < D.units(H);
    return P.is_relu() || !has_padding || unit < width ? ~0U : 0U;
  }
  template <int Eight>
  __device__ __forceinline__ static Word kept(Word mask) {
    return P.has_dropout ? signs<0xcc88 + Eight * 0x1111>(mask << 1, mask) : mask;
  }
  struct Pair {
    Word values;
    Word slopes;  // ReLU: all bits or none
  };
  __device__ __forceinline__ Pair activated(float one, float other, Word keep) const {
    if constexpr (P.is_relu()) {
      const Word values = pack_positive(one, other) & keep;
      return {values, where_positive(values)};
    } else {
      const Activated a = activate<P.activation>(one), b = activate<P.activation>(other);
      const float scale = P.has_dropout ? dropout_scale : 1.0F;
      return {pack(a.value * scale, b.value * scale) & keep, pack(a.slope * scale, b.slope * scale) & keep};
    }
  }
  // Deltas through an activation.
  __device__ __forceinline__ static Word returned(float one, float other, Word slopes) {
    if constexpr (P.is_relu()) return pack(one, other) & slopes;
    return pack(one * low_half(slopes), other * high_half(slopes));
  }

  // ---- layer 1, by groups 0 and 1: 64 units each
  struct First {
    Pieces<D.input_tiles()> weights;
    Word slopes[8];
  };
  template <int Party>
  __device__ __forceinline__ int first_unit() const {
    return Party * DuetPlan::tall + quarter * 16 + group;
  }
  template <int Party>
  static constexpr bool has_first = Party < D.first_blocks();
  template <int Party>
  __device__ __forceinline__ static int first_flat(int k, int row, int column) {
    return flat<0>(k * 16 + column, Party * DuetPlan::tall + row);
  }
  template <int Party>
  __device__ __forceinline__ void forward_first(First& first, int step) const {
    if constexpr (!has_first<Party>) return;
    float c[16];
    Word a[D.input_tiles()][4];
    const Operand x = summed_across<D.x_down()>(x_at(step));
#pragma unroll
    for (int k = 0; k < D.input_tiles(); ++k) as_operand(a[k], first.weights.w[k], late_scale());
    begin_products();
    product<false, false>(c, a[0], x);
#pragma unroll
    for (int k = 1; k < D.input_tiles(); ++k) product<true, false>(c, a[k], x + k * 256);
    end_products();
    const Word mask[2] = {mask_of<1>(first_unit<Party>(), step), mask_of<1>(first_unit<Party>() + 8, step)};
    const Word keep[8] = {kept<0>(mask[0]), kept<0>(mask[1]), kept<1>(mask[0]), kept<1>(mask[1]),
                          kept<2>(mask[0]), kept<2>(mask[1]), kept<3>(mask[0]), kept<3>(mask[1])};
    wait_for_products<0>();
    const Word to = a1_at(step) + (Party * 8 + quarter * 2) * D.batch_down() + lane * 16;
    Word values[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const Pair made = activated(c[2 * i], c[2 * i + 1], keep[i]);
      values[i] = made.values;
      first.slopes[i] = made.slopes;
    }
    store_matrices(to, values[0], values[2], values[4], values[6]);
    store_matrices(to + D.batch_down(), values[1], values[3], values[5], values[7]);
    show_to_products();
  }
  template <int Party>
  __device__ __forceinline__ void backward_first(First& first, int step) const {
    if constexpr (!has_first<Party>) return;
    float c[16];
    const Operand weights = summed_across<D.second_down()>(w2_at(step) + Party * 8 * D.second_down()),
                  deltas = summed_down<D.batch_down()>(base + D.d2_at()),
                  x = summed_down<D.x_down()>(x_at(step));
    begin_products();
    product<false, false, true>(c, weights, deltas);
#pragma unroll
    for (int k = 1; k < D.second() / 16; ++k)
      product<true, false, true>(c, weights + k * 256, deltas + k * 2 * D.batch_down());
    end_products();
    wait_for_products<0>();
    Word a[2][4];
#pragma unroll
    for (int i = 0; i < 8; ++i) a[i / 4][i % 4] = returned(c[2 * i], c[2 * i + 1], first.slopes[i]);
    float gradient[D.input_tiles()][8];
    begin_products();
#pragma unroll
    for (int k = 0; k < D.input_tiles(); ++k) {
      product<false, true>(gradient[k], a[0], x + k * 256);
      product<true, true>(gradient[k], a[1], x + k * 256 + 2 * D.x_down());
    }
    end_products();
    wait_for_products<0>();
#pragma unroll
    for (int k = 0; k < D.input_tiles(); ++k) update_piece(first.weights, k, gradient[k], late_scale());
    mark(step, updated);
  }
  template <int Party>
  __device__ __forceinline__ void prepare_first(First& first) const {
    if constexpr (!has_first<Party>) return;
#pragma unroll
    for (int k = 0; k < D.input_tiles(); ++k) prepare_piece(first.weights, k);
  }
  template <int Party>
  __device__ __forceinline__ void load_first(First& first) const {
    if constexpr (!has_first<Party>) return;
#pragma unroll
    for (int k = 0; k < D.input_tiles(); ++k)
      load_piece(first.weights, k, [=](int row, int column) { return first_flat<Party>(k, row, column); });
  }
  template <int Party>
  __device__ __forceinline__ void save_first(const First& first) const {
    if constexpr (!has_first<Party>) return;
#pragma unroll
    for (int k = 0; k < D.input_tiles(); ++k)
      save_piece(first.weights, k, [=](int row, int column) { return first_flat<Party>(k, row, column); });
  }

  // ---- who waits for whom
  static constexpr int everyone = threads, four_warps = 128;
  // Activations 1 and matrix 2 are ready: group 0 waits. Activations 2, matrix 3 and what
  // belongs to the output: group 0 waits. Deltas 2, and the next dropout: all wait; group 1, which nobody
  // needs then, has a barrier of its own.
  static constexpr int ready_to_go = 1, second_done = 2, deltas_done = 3, deltas_there = 4;

  // ---- group 0
  // Layer 2, then eight rows of the batch for each warp: layer 3, the output, the loss, and the deltas back
  // to layer 2.
  __device__ __forceinline__ void update_second_bias(Vector& bias) const {
    const Word one = 0x3c003c00U, ones[4] = {one, one, one, one};
    update_vector(bias, sums_over_batch(base + D.d2_at() + quarter * 2 * D.batch_down(), ones));
  }
  __device__ __forceinline__ void there_and_back(First& first, Vector& second_bias, double (&sums)[2],
                                                 int step) {
    constexpr int tiles = D.third_tiles(), deep = D.second() / 16;
    const Word weights = base + D.w3_at();
    const int row = quarter * 8 + pair;
    {
      float c[16];
      const Operand w2 = summed_down<D.second_down()>(w2_at(step)),
                    from = summed_down<D.batch_down()>(a1_at(step));
      begin_products();
      product<false, true, true>(c, w2, from);
#pragma unroll
      for (int k = 1; k < D.first() / 16; ++k)
        product<true, true, true>(c, w2 + k * 2 * D.second_down(), from + k * 2 * D.batch_down());
      end_products();
      // Whatever can be done or read while the products are on their way.
      if (step > 0) update_second_bias(second_bias);
      take_factors(step);
      prepare_first<0>(first);
      const int unit = quarter * 16 + group;
      const float scale = late_scale();
      const float bias[2] = {second_bias.w[0] * scale, second_bias.w[1] * scale};
      const Word mask[2] = {mask_of<2>(unit, step), mask_of<2>(unit + 8, step)};
      const Word keep[8] = {kept<0>(mask[0]), kept<0>(mask[1]), kept<1>(mask[0]), kept<1>(mask[1]),
                            kept<2>(mask[0]), kept<2>(mask[1]), kept<3>(mask[0]), kept<3>(mask[1])};
      wait_for_products<0>();
      const Word to = a2_at(step) + quarter * 2 * D.batch_down() + lane * 16;
      Pair made[8];
#pragma unroll
      for (int i = 0; i < 8; ++i)
        made[i] =
            activated(fmaf(c[2 * i], scale, bias[i & 1]), fmaf(c[2 * i + 1], scale, bias[i & 1]), keep[i]);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        store_matrices(to + half * D.batch_down(), made[half].values, made[2 + half].values,
                       made[4 + half].values, made[6 + half].values);
        if constexpr (!P.is_relu())
          store_matrices(
              base + D.slope2_at() + quarter * 2 * D.batch_down() + lane * 16 + half * D.batch_down(),
              made[half].slopes, made[2 + half].slopes, made[4 + half].slopes, made[6 + half].slopes);
      }
    }
    // Layer 3.
    const float4 wanted = *reinterpret_cast<const float4*>(targets(step) + row);
    const float per_row = step_factors(step).per_row;
    Word keep[tiles][2];
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        keep[tile][half] = mask_of<3>(tile * 16 + half * 8 + group, step);
        if constexpr (P.has_dropout) keep[tile][half] = kept<3>(keep[tile][half] << (24 - quarter * 8));
      }
    meet<second_done, 2 * four_warps>();
    mark(step, has_layer_2);
    float c[tiles][4];
    {
      Word b[2][4];
#pragma unroll
      for (int i = 0; i < 2; ++i)
        load_transposed(b[i],
                        a2_at(step) + quarter * 128 + column<D.batch_down()>() + i * 4 * D.batch_down());
      Word w3[deep][tiles][4];
#pragma unroll
      for (int k = 0; k < deep; ++k)
#pragma unroll
        for (int tile = 0; tile < tiles; ++tile)
          load_transposed(w3[k][tile],
                          weights + across_first<D.third_down()>() + k * 2 * D.third_down() + tile * 256);
      float other[tiles][4] = {};
#pragma unroll
      for (int tile = 0; tile < tiles; ++tile) {
        const float* bias = floats(D.b3_at()) + tile * 16 + group;
        c[tile][0] = c[tile][1] = bias[0];
        c[tile][2] = c[tile][3] = bias[8];
      }
#pragma unroll
      for (int k = 0; k < deep; ++k)
#pragma unroll
        for (int tile = 0; tile < tiles; ++tile)
          multiply_add(k % 2 == 0 ? c[tile] : other[tile], w3[k][tile], b[k / 2][k % 2 * 2],
                       b[k / 2][k % 2 * 2 + 1]);
#pragma unroll
      for (int tile = 0; tile < tiles; ++tile)
#pragma unroll
        for (int i = 0; i < 4; ++i) c[tile][i] += other[tile][i];
    }
    // For the way back: what layer 2 was, and the weights again.
    float of[tiles][2];
    const float out_bias = *floats(D.out_bias_at());
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        of[tile][half] = floats(D.out_weights_at())[tile * 16 + half * 8 + group] * late_scale();
    Word back[2][4], w3_back[tiles][4][4];
#pragma unroll
    for (int i = 0; i < 2; ++i)
      load_matrices(back[i], (P.is_relu() ? a2_at(step) : base + D.slope2_at()) + quarter * 128 +
                                 column<D.batch_down()>() + i * 4 * D.batch_down());
#pragma unroll
    for (int k = 0; k < tiles; ++k)
#pragma unroll
      for (int tile = 0; tile < 4; ++tile)
        load_matrices(w3_back[k][tile],
                      weights + down_first<D.third_down()>() + tile * 2 * D.third_down() + k * 256);
    Pair made[tiles][2];
    float output[2] = {0, 0};
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        made[tile][half] = activated(c[tile][half * 2], c[tile][half * 2 + 1], keep[tile][half]);
        output[0] = fmaf(of[tile][half], low_half(made[tile][half].values), output[0]);
        output[1] = fmaf(of[tile][half], high_half(made[tile][half].values), output[1]);
      }
#pragma unroll
    for (int away = 4; away < 32; away *= 2)
#pragma unroll
      for (int odd = 0; odd < 2; ++odd) output[odd] += __shfl_xor_sync(~0U, output[odd], away);
    mark(step, has_output);
    const RowLoss one = scalar_loss<P.loss>(output[0] + out_bias, wanted.x, work.huber_delta);
    const RowLoss two = scalar_loss<P.loss>(output[1] + out_bias, wanted.z, work.huber_delta);
    const float down[2] = {one.slope * wanted.y * per_row, two.slope * wanted.w * per_row};
    Word deltas[tiles][2], b[tiles][2];
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        deltas[tile][half] =
            returned(down[0] * of[tile][half], down[1] * of[tile][half], made[tile][half].slopes);
        b[tile][half] = transpose(deltas[tile][half]);
      }
      // For group 1.
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile) {
      const Word to = base + quarter * 128 + (tile * 2 + (lane >> 3 & 1)) * D.batch_down() + (lane & 7) * 16 +
                      (lane < 16 ? D.d3_at() : D.a3_at());
      store_matrices(to, deltas[tile][0], deltas[tile][1], made[tile][0].values, made[tile][1].values);
    }
    if (group == 0) reinterpret_cast<Word*>(shared + D.out_delta_at())[row / 2] = pack(down[0], down[1]);
    // Deltas of layer 2.
    float d[4][4] = {};
#pragma unroll
    for (int k = 0; k < tiles; ++k)
#pragma unroll
      for (int tile = 0; tile < 4; ++tile) multiply_add(d[tile], w3_back[k][tile], b[k][0], b[k][1]);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      Word words[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float* from = d[i * 2 + j / 2] + j % 2 * 2;
        words[j] = returned(from[0] * late_scale(), from[1] * late_scale(),
                            P.is_relu() ? where_positive(back[i][j]) : back[i][j]);
      }
      store_matrices(base + D.d2_at() + quarter * 128 + column<D.batch_down()>() + i * 4 * D.batch_down(),
                     words[0], words[1], words[2], words[3]);
    }
    show_to_products();
    sums[0] += one.loss * wanted.y;
    sums[1] += two.loss * wanted.w;
  }

  __device__ __forceinline__ void lead() {
    First first;
    Vector bias;
    load_first<0>(first);
    load_vector(bias, P.bias_at(1), quarter * 16, P.breadth(1));
    double sums[2];
    const int row = quarter * 8 + pair;
    sums[0] = work.row_sums[row];
    sums[1] = work.row_sums[row + 1];
    __syncthreads();
    forward_first<0>(first, 0);
#pragma unroll 1
    for (int step = 0; step < work.steps; ++step) {
      meet<ready_to_go, everyone>();
      mark(step, begun);
      there_and_back(first, bias, sums, step);
      mark(step, waits);
      meet<deltas_done, 3 * four_warps>();
      pass<deltas_there, 2 * four_warps>();
      mark(step, goes_on);
      backward_first<0>(first, step);
      if (step + 1 < work.steps) forward_first<0>(first, step + 1);
      mark(step, ended);
    }
    update_second_bias(bias);
    save_first<0>(first);
    save_vector(bias, P.bias_at(1), quarter * 16, P.breadth(1));
    if (group == 0) {
      work.row_sums[row] = sums[0];
      work.row_sums[row + 1] = sums[1];
    }
  }

  // ---- group 1: the third matrix, and what belongs to the output
  __device__ __forceinline__ void update_third(Pieces<D.third_tiles()>& third, int step) const {
    constexpr int tiles = D.third_tiles();
    Word a[2][4];
#pragma unroll
    for (int k = 0; k < 2; ++k)
      load_matrices(a[k],
                    a2_at(step) + quarter * 2 * D.batch_down() + down_first<D.batch_down()>() + k * 256);
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile) {
      float c[8];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        Word b[4];
        float sum[4] = {0, 0, 0, 0};
        load_matrices(b, base + D.d3_at() + (tile * 2 + half) * D.batch_down() + lane * 16);
        multiply_add(sum, a[0], b[0], b[1]);
        multiply_add(sum, a[1], b[2], b[3]);
#pragma unroll
        for (int i = 0; i < 4; ++i) c[half * 4 + i] = sum[i];
      }
      update_piece(third, tile, c);
      store_piece<D.third_down()>(base + D.w3_at() + tile * 256, third.w[tile]);
    }
  }
  // Its warps have tiles of the biases, then of the output's weights. The output's bias is everyone's.
  struct Top {
    Vector vector;
    float w, m, v;
  };
  static constexpr int tiles3 = D.third_tiles();
  __device__ __forceinline__ bool has_bias() const {
    return quarter < tiles3;
  }
  __device__ __forceinline__ int vector_tile() const {
    return has_bias() ? quarter : quarter - tiles3;
  }
  __device__ __forceinline__ int vector_at() const {
    return (has_bias() ? D.b3_at() : D.out_weights_at()) + vector_tile() * 64;
  }
  __device__ __forceinline__ void update_top(Top& top) const {
    const Word one = 0x3c003c00U, ones[4] = {one, one, one, one};
    Word out[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      out[i] = reinterpret_cast<const Word*>(shared + D.out_delta_at())[i * 4 + (lane & 3)];
    float total[4] = {0, 0, 0, 0};
    multiply_add(total, ones, out[0], out[1]);
    multiply_add(total, ones, out[2], out[3]);
    if (quarter < 2 * tiles3) {
      const Word with[4] = {has_bias() ? one : out[0], has_bias() ? one : out[1], has_bias() ? one : out[2],
                            has_bias() ? one : out[3]};
      float2 sums = sums_over_batch(
          base + (has_bias() ? D.d3_at() : D.a3_at()) + vector_tile() * 2 * D.batch_down(), with);
      const float scale = has_bias() ? 1.0F : late_scale();
      update_vector(top.vector, make_float2(sums.x * scale, sums.y * scale));
      show_vector(top.vector, vector_at());
    }
    update<Net>(top.w, top.m, top.v, total[0], factors);
    if (thread == four_warps) *floats(D.out_bias_at()) = top.w;
  }
  __device__ __forceinline__ void load_top(Top& top) const {
    if (quarter < 2 * tiles3) {
      load_vector(top.vector, has_bias() ? P.bias_at(2) : P.matrix_at(3), vector_tile() * 16,
                  has_bias() ? P.breadth(2) : P.last());
      show_vector(top.vector, vector_at());
    }
    top.w = work.parameters[P.bias_at(3)];
    top.m = work.first_moment[P.bias_at(3)];
    top.v = has_second ? work.second_moment[P.bias_at(3)] : 1.0F;
    if (thread == four_warps) *floats(D.out_bias_at()) = top.w;
  }
  __device__ __forceinline__ void save_top(const Top& top) const {
    if (quarter < 2 * tiles3)
      save_vector(top.vector, has_bias() ? P.bias_at(2) : P.matrix_at(3), vector_tile() * 16,
                  has_bias() ? P.breadth(2) : P.last());
    if (thread != four_warps) return;
    work.parameters[P.bias_at(3)] = top.w;
    work.first_moment[P.bias_at(3)] = top.m;
    if constexpr (has_second) work.second_moment[P.bias_at(3)] = top.v;
  }

  __device__ __forceinline__ void follow() {
    First first;
    Pieces<D.third_tiles()> third;
    Top top;
    Ahead ahead;
#pragma unroll
    for (int step = 0; step < D.ahead; ++step) {
      look_up(ahead, step);
      fetch(ahead, step);
    }
    look_up(ahead, D.ahead);
    load_first<1>(first);
    load_top(top);
#pragma unroll
    for (int i = 0; i < D.third_tiles(); ++i) {
      load_piece(third, i, [=](int row, int column) { return flat<2>(row, i * 16 + column); });
      store_piece<D.third_down()>(base + D.w3_at() + i * 256, third.w[i]);
    }
    wait_for_copies<1>();
    show_to_products();
    __syncthreads();
    forward_first<1>(first, 0);
#pragma unroll 1
    for (int step = 0; step < work.steps; ++step) {
      pass<ready_to_go, everyone>();
      mark(step, begun);
      if (step > 0) {
        update_third(third, step - 1);
        update_top(top);
      }
      mark(step, has_matrix_3);
      pass<second_done, 2 * four_warps>();
      fetch(ahead, step + D.ahead);
      look_up(ahead, step + D.ahead + 1);
      take_factors(step);
      at_once([&] {
        prepare_first<1>(first);
#pragma unroll
        for (int i = 0; i < D.third_tiles(); ++i) prepare_piece(third, i);
      });
      wait_for_copies<1>();
      show_to_products();
      mark(step, waits);
      meet<deltas_there, 2 * four_warps>();
      mark(step, goes_on);
      backward_first<1>(first, step);
      if (step + 1 < work.steps) forward_first<1>(first, step + 1);
      mark(step, ended);
    }
    update_third(third, work.steps - 1);
    update_top(top);
    save_first<1>(first);
    save_top(top);
#pragma unroll
    for (int i = 0; i < D.third_tiles(); ++i)
      save_piece(third, i, [=](int row, int column) { return flat<2>(row, i * 16 + column); });
  }

  // ---- groups 2 and 3: the second matrix, and the dropout to come
  static constexpr int second_pieces = 2 * D.first_blocks();
  __device__ __forceinline__ int second_row() const {
    return D.first_blocks() == 2 ? (party - 2) * DuetPlan::tall : 0;
  }
  __device__ __forceinline__ int second_column(int piece) const {
    return D.first_blocks() == 2 ? piece * 16 : (party - 2) * 32 + piece * 16;
  }
  __device__ __forceinline__ Word second_at(int step, int piece) const {
    return w2_at(step) + second_row() / 8 * D.second_down() + second_column(piece) / 8 * 128;
  }
  __device__ __forceinline__ auto second_place(int piece) const {
    const int row0 = second_row(), column0 = second_column(piece);
    return [=](int row, int column) { return flat<1>(row0 + row, column0 + column); };
  }
  __device__ __forceinline__ void update_second(Pieces<second_pieces>& second, int step) {
    float c[2][8];
    const Operand units = summed_across<D.batch_down()>(a1_at(step) + second_row() / 8 * D.batch_down()),
                  deltas =
                      summed_across<D.batch_down()>(base + D.d2_at() + second_column(0) / 8 * D.batch_down());
    const auto begin = [&](int i) {
      begin_products();
      product<false, false, false>(c[i % 2], units, deltas + i * 2 * D.batch_down());
      product<true, false, false>(c[i % 2], units + 256, deltas + i * 2 * D.batch_down() + 256);
      end_products();
    };
    begin(0);
#pragma unroll
    for (int i = 0; i < second_pieces; ++i) {
      if (i + 1 < second_pieces) {
        begin(i + 1);
        wait_for_products<1>();
      } else {
        wait_for_products<0>();
      }
      update_piece(second, i, c[i % 2]);
      store_piece<D.second_down()>(second_at(step + 1, i), second.w[i]);
    }
    show_to_products();
  }

  // Rows to come, which group 1 fetches.
  static constexpr int pieces = P.depth(0) / 8;  // of 16 bytes a row
  static constexpr int fetches = rows * (pieces + 1) + 1;
  static constexpr int fetch_rounds = divide_up(fetches, four_warps);
  struct Ahead {
    int rows_of[fetch_rounds];
  };
  __device__ __forceinline__ static int row_of(int unit) {
    return unit < rows * pieces ? unit / pieces : unit - rows * pieces;
  }
  __device__ __forceinline__ int fetch_unit(int round) const {
    return (thread & 127) + round * four_warps;
  }
  __device__ __forceinline__ void look_up(Ahead& ahead, int step) const {
#pragma unroll
    for (int round = 0; round < fetch_rounds; ++round) {
      const int unit = fetch_unit(round);
      ahead.rows_of[round] =
          unit < fetches - 1 && step < work.steps ? work.order[step * work.order_stride + row_of(unit)] : -1;
    }
  }
  __device__ __forceinline__ void fetch(const Ahead& ahead, int step) const {
#pragma unroll
    for (int round = 0; round < fetch_rounds; ++round) {
      const int unit = fetch_unit(round), row = row_of(unit);
      const bool is_there = ahead.rows_of[round] >= 0;
      const std::int64_t from = is_there ? ahead.rows_of[round] : 0;
      if (unit < rows * pieces) {
        const int piece = unit % pieces;
        copy_16(x_at(step) + row / 8 * D.x_down() + piece * 128 + row % 8 * 16,
                work.features + from * P.depth(0) + piece * 8, is_there ? 16 : 0);
      } else if (unit < fetches - 1) {
        copy_8(shared_address(targets(step) + row), work.targets + from, is_there ? 8 : 0);
      } else if (unit == fetches - 1 && step < work.steps) {
        copy_16(shared_address(&step_factors(step)), work.factors + step, 16);
      }
    }
    end_copies();
  }
  // A lane draws for its row of the batch, two units with one hash; what the lanes drew is a word.
  template <int H>
  __device__ __forceinline__ void draw(Word shared_key, int step) const {
    if constexpr (P.has_dropout && H < P.layers) {
      constexpr int first_warp = 8, with = warps - first_warp;
      constexpr int width = P.width[H], pairs = divide_up(width, 2);
      const auto number = static_cast<std::uint64_t>(work.first_step + step);
      const auto high = static_cast<Word>(number >> 32) | (static_cast<Word>(H - 1) << 16);
      const RandomKey key{shared_key, mix(high + shared_key + 0x85ebca6bU)};
      const Word limit = work.dropout_threshold << 16;
#pragma unroll
      for (int i = 0; i < divide_up(pairs, with); ++i) {
        const int two = warp - first_warp + i * with;
        if (pairs % with != 0 && two >= pairs) break;
        bool one, other;
        if constexpr (width % 2 == 0) {
          const Word hash = random_bits(key, static_cast<Word>(lane * (width / 2) + two));
          one = (hash << 16) >= limit;
          other = hash >= limit;
        } else {
          const Word element = static_cast<Word>(lane * width + two * 2);
          one = !dropped(random_bits(key, element >> 1), element, work.dropout_threshold);
          other = two * 2 + 1 < width &&
                  !dropped(random_bits(key, (element + 1) >> 1), element + 1, work.dropout_threshold);
        }
        const uint2 words = make_uint2(__ballot_sync(~0U, one), __ballot_sync(~0U, other));
        if (lane == 0) *reinterpret_cast<uint2*>(masks<H>(step) + two * 2) = words;
      }
      draw<H + 1>(shared_key, step);
    }
  }

  __device__ __forceinline__ void keep() {
    Pieces<second_pieces> second;
#pragma unroll
    for (int i = 0; i < second_pieces; ++i) {
      load_piece(second, i, second_place(i));
      store_piece<D.second_down()>(second_at(0, i), second.w[i]);
    }
    draw<1>(work.factors[0].key, 0);
    show_to_products();
    __syncthreads();
#pragma unroll 1
    for (int step = 0; step < work.steps; ++step) {
      pass<ready_to_go, everyone>();
      mark(step, begun);
      draw<1>(step_factors(step + 1).key, step + 1);
      take_factors(step);
      at_once([&] {
#pragma unroll
        for (int i = 0; i < second_pieces; ++i) prepare_piece(second, i);
      });
      mark(step, waits);
      meet<deltas_done, 3 * four_warps>();
      mark(step, goes_on);
      update_second(second, step);
      mark(step, ended);
    }
#pragma unroll
    for (int i = 0; i < second_pieces; ++i) save_piece(second, i, second_place(i));
  }

  enum Point { begun, has_matrix_3, has_layer_2, has_output, waits, goes_on, updated, ended, clock_points };
  // When each warp passes which point of a step, for whoever tunes the kernel: kept behind the shared memory
  // that the kernel has for itself. The look at shared memory keeps the clock from being read before a
  // barrier.
#ifdef STOKER_FUSED_CLOCKS
  static constexpr int clocked_step = 1000;
  __device__ __forceinline__ void mark(int step, int point) const {
    Word now;
    asm volatile(
        "{.reg .u32 t; ld.volatile.shared.u32 t, [%1]; and.b32 t, t, 0; mov.u32 %0, %%clock; add.u32 %0, %0, "
        "t;}"
        : "=r"(now)
        : "r"(base + D.shared_bytes())
        : "memory");
    if (step == clocked_step && lane == 0)
      reinterpret_cast<Word*>(shared + D.shared_bytes())[warp * clock_points + point] = now;
  }
#else
  __device__ __forceinline__ void mark(int, int) const {}
#endif

  __device__ __forceinline__ void run() {
    for (int i = thread; i < D.shared_bytes() / 4; i += threads) reinterpret_cast<Word*>(shared)[i] = 0;
    __syncthreads();
    if (party == 0) {
      give_registers<112>();
      lead();
    } else if (party == 1) {
      follow();
    } else {
      take_registers<136>();
      keep();
    }
#ifdef STOKER_FUSED_CLOCKS
    __syncthreads();
    for (int i = thread; i < warps * clock_points; i += threads)
      work.clocks[i] = reinterpret_cast<Word*>(shared + D.shared_bytes())[i];
#endif
  }
};

}  // namespace stoker::fused
