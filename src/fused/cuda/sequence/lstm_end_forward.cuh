#pragma once

#include "fused/cuda/sequence/lstm_end.cuh"

namespace stoker::fused::sequence {

template <class Net>
struct LstmEndForward : LstmEnd<Net> {
  using End = LstmEnd<Net>;
  using End::add_bias;
  using End::at;
  using End::half_product;
  using End::head_mask_of;
  using End::join_halves;
  using End::kept;
  using End::lane;
  using End::layer_row;
  using End::memory;
  using End::own_row;
  using End::padded;
  using End::parameter;
  using End::plan;
  using End::rows;
  using End::scores_mask;
  using End::small;
  using End::tiles;
  using End::token;
  using End::warp;
  using End::window_of;
  using End::work;

  __device__ __forceinline__ LstmEndForward(char* shared, const LstmWork& given) : End(shared, given) {}
  static __device__ void ask(Asker asker) { asker.ask(2, 32768); }

  // small(): [8][padded] parts of scores, then of each window: pooled [both], hidden [units].
  __device__ __forceinline__ float* pooled(int window) const {
    return small() + 8 * padded + window * 3 * units;
  }

  __device__ void run() {
    norm_rows();
    wait_for_workers();
    score();
    wait_for_workers();
    if (warp < 2) share(warp);
    wait_for_workers();
    pool();
    wait_for_workers();
    if (warp < 2) norm_pooled(warp);
    wait_for_workers();
#pragma unroll 8
    for (int i = warp; i < 2 * units; i += worker_warps) {
      float in[8];
      float w[8];
      End::load8(in, pooled(i / units) + lane * 8);
      End::load8(w, parameter(work.offsets.head) + (i % units) * both + lane * 8);
      float sum = 0;
#pragma unroll
      for (int j = 0; j < 8; ++j) sum = fmaf(in[j], w[j], sum);
      sum = warp_sum(sum);
      if (lane == 0) pooled(i / units)[both + i % units] = sum + parameter(work.offsets.head_bias)[i % units];
    }
    wait_for_workers();
    if (warp < 2) put_out(warp);
  }

 private:
  __device__ __forceinline__ void norm_rows() {
    float weight[8];
    float bias[8];
    End::load8(weight, parameter(work.offsets.norm) + lane * 8);
    End::load8(bias, parameter(work.offsets.norm_bias) + lane * 8);
    const LstmLayerRows& top = work.layers[plan.layers - 1];
    const int all = (work.rows + group_rows - 1) / group_rows * group_rows;
#pragma unroll
    for (int round = 0; round < (padded + worker_warps - 1) / worker_warps; ++round) {
      const int place = warp + round * worker_warps;
      if (place >= padded) break;
      float eight[8] = {0, 0, 0, 0, 0, 0, 0, 0};
      if (place < plan.tokens() && window_of(place) < all)
        End::unpack(eight, reinterpret_cast<const uint4*>(top.out + layer_row(place) * both)[lane]);
      const float root = End::to_hat(eight);
      if (work.trains) {
        reinterpret_cast<uint4*>(work.hat + own_row(place) * both)[lane] = End::packed(eight);
        if (lane == 0) work.roots[own_row(place)] = root;
      }
#pragma unroll
      for (int j = 0; j < 8; ++j) eight[j] = fmaf(eight[j], weight[j], bias[j]);
      const uint4 normed = End::packed(eight);
      reinterpret_cast<uint4*>(rows() + place * end_pitch)[lane] = normed;
      if (work.trains) reinterpret_cast<uint4*>(work.normed + own_row(place) * both)[lane] = normed;
    }
  }

  // Parts of each token's score, one per warp of the first eight.
  __device__ __forceinline__ void score() {
    float sums[tiles][4];
    clear(sums);
    this->template half_product<2, 4>(sums, rows(), end_pitch);
    if (!join_halves(sums, memory + at.wide)) return;
    add_bias(sums, parameter(work.offsets.scores_bias) + warp * 16);
    const int feature = warp * 16 + lane / 4;
    const float low = parameter(work.offsets.weights)[feature];
    const float high = parameter(work.offsets.weights)[feature + 8];
    const Mask drop = scores_mask();
#pragma unroll
    for (int i = 0; i < tiles; ++i) {
      const int first = i * 8 + (lane % 4) * 2;
      float factors[4];
      drop.four(factors, token(first) * units + feature, units);
#pragma unroll
      for (int j = 0; j < 4; ++j) sums[i][j] = hyperbolic(sums[i][j]);
      if (work.trains)
        reinterpret_cast<uint2*>(
            work.tanhs)[((static_cast<long long>(blockIdx.x) * 8 + warp) * tiles + i) * 32 + lane] =
            make_uint2(pack_bf16(sums[i][0], sums[i][1]), pack_bf16(sums[i][2], sums[i][3]));
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        float part = sums[i][j] * factors[j] * low + sums[i][j + 2] * factors[j + 2] * high;
        part += __shfl_xor_sync(~0U, part, 4);
        part += __shfl_xor_sync(~0U, part, 8);
        part += __shfl_xor_sync(~0U, part, 16);
        if (lane < 4) small()[warp * padded + first + j] = part;
      }
    }
  }

  // The softmax of a window's scores; kept at the first row of the parts.
  __device__ __forceinline__ void share(int window) {
    const float bias = parameter(work.offsets.weights_bias)[0];
    float most = -1e30F;
    for (int t = lane; t < plan.length; t += 32) {
      float sum = bias;
#pragma unroll
      for (int i = 0; i < 8; ++i) sum += small()[i * padded + window * plan.length + t];
      small()[window * plan.length + t] = sum;
      most = fmaxf(most, sum);
    }
#pragma unroll
    for (int i = 16; i > 0; i >>= 1) most = fmaxf(most, __shfl_xor_sync(~0U, most, i));
    float sum = 0;
    for (int t = lane; t < plan.length; t += 32) {
      float& weight = small()[window * plan.length + t];
      weight = __expf(weight - most);
      sum += weight;
    }
    const float factor = 1.0F / warp_sum(sum);
    for (int t = lane; t < plan.length; t += 32) {
      float& weight = small()[window * plan.length + t];
      weight *= factor;
      if (work.trains) kept(blockIdx.x * 2 + window)[end_shares + t] = weight;
    }
  }

  __device__ __forceinline__ void pool() {
    const int window = threadIdx.x / both;
    const int feature = threadIdx.x % both;
    float sum = 0;
#pragma unroll 4
    for (int t = 0; t < plan.length; ++t) {
      const int place = window * plan.length + t;
      const Word half = *reinterpret_cast<const Half*>(rows() + place * end_pitch + feature * 2);
      sum = fmaf(small()[place], __uint_as_float(half << 16), sum);
    }
    pooled(window)[feature] = sum;
  }

  __device__ __forceinline__ void norm_pooled(int window) {
    const int row = blockIdx.x * 2 + window;
    float eight[8];
    End::load8(eight, pooled(window) + lane * 8);
    const float root = End::to_hat(eight);
    if (work.trains) {
#pragma unroll
      for (int j = 0; j < 8; j += 2)
        *reinterpret_cast<float2*>(kept(row) + end_hat + lane * 8 + j) = make_float2(eight[j], eight[j + 1]);
      if (lane == 0) kept(row)[end_roots] = root;
    }
    float weight[8];
    float bias[8];
    End::load8(weight, parameter(work.offsets.head_norm) + lane * 8);
    End::load8(bias, parameter(work.offsets.head_norm_bias) + lane * 8);
    const Mask drop = head_mask_of(0);
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
      const float2 factors = drop.pair(static_cast<Word>(row) * both + lane * 8 + j);
      eight[j] = fmaf(eight[j], weight[j], bias[j]) * factors.x;
      eight[j + 1] = fmaf(eight[j + 1], weight[j + 1], bias[j + 1]) * factors.y;
    }
#pragma unroll
    for (int j = 0; j < 8; ++j) pooled(window)[lane * 8 + j] = eight[j];
    if (work.trains)
      reinterpret_cast<uint4*>(work.head_input + static_cast<long long>(row) * both)[lane] =
          End::packed(eight);
  }

  __device__ __forceinline__ void put_out(int window) {
    const int row = blockIdx.x * 2 + window;
    float4 v = reinterpret_cast<const float4*>(pooled(window) + both)[lane];
    const float4 slope = make_float4(v.x > 0 ? 1.0F : 0.0F, v.y > 0 ? 1.0F : 0.0F, v.z > 0 ? 1.0F : 0.0F,
                                     v.w > 0 ? 1.0F : 0.0F);
    v = make_float4(fmaxf(v.x, 0), fmaxf(v.y, 0), fmaxf(v.z, 0), fmaxf(v.w, 0));
    const float mean = warp_sum(v.x + v.y + v.z + v.w) * (1.0F / units);
    v = make_float4(v.x - mean, v.y - mean, v.z - mean, v.w - mean);
    const float root =
        rsqrtf(warp_sum(v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w) * (1.0F / units) + norm_epsilon);
    const float4 hat = make_float4(v.x * root, v.y * root, v.z * root, v.w * root);
    const float4 weight = reinterpret_cast<const float4*>(parameter(work.offsets.head_hidden_norm))[lane];
    const float4 bias = reinterpret_cast<const float4*>(parameter(work.offsets.head_hidden_norm_bias))[lane];
    const Mask drop = head_mask_of(1);
    const float2 first = drop.pair(static_cast<Word>(row) * units + lane * 4);
    const float2 second = drop.pair(static_cast<Word>(row) * units + lane * 4 + 2);
    const float4 in =
        make_float4(fmaf(hat.x, weight.x, bias.x) * first.x, fmaf(hat.y, weight.y, bias.y) * first.y,
                    fmaf(hat.z, weight.z, bias.z) * second.x, fmaf(hat.w, weight.w, bias.w) * second.y);
    for (int o = 0; o < plan.outputs; ++o) {
      const float4 w = reinterpret_cast<const float4*>(parameter(work.offsets.output) + o * units)[lane];
      const float sum = warp_sum(in.x * w.x + in.y * w.y + in.z * w.z + in.w * w.w);
      if (lane == 0 && row < work.rows)
        work.outputs[static_cast<long long>(row) * plan.outputs + o] =
            sum + parameter(work.offsets.output_bias)[o];
    }
    if (!work.trains) return;
    const auto keep = [&](int place, const float4& four) {
      float2* to = reinterpret_cast<float2*>(kept(row) + place) + lane * 2;
      to[0] = make_float2(four.x, four.y);
      to[1] = make_float2(four.z, four.w);
    };
    keep(end_hidden_hat, hat);
    keep(end_slope, slope);
    keep(end_dropped, in);
    if (lane == 0) kept(row)[end_roots + 1] = root;
  }
};

}  // namespace stoker::fused::sequence
