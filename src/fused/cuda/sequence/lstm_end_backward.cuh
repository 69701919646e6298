#pragma once

#include "fused/cuda/sequence/lstm_end.cuh"

namespace stoker::fused::sequence {

// From the gradients of the outputs to those of what leaves the last recurrent layer.
template <class Net>
struct LstmEndBackward : LstmEnd<Net> {
  using End = LstmEnd<Net>;
  using End::at;
  using End::head_mask_of;
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
  using End::taker;
  using End::tiles;
  using End::token;
  using End::warp;
  using End::wide;
  using End::window_of;
  using End::work;

  __device__ __forceinline__ LstmEndBackward(char* shared, const LstmWork& given) : End(shared, given) {}
  static __device__ void ask(Asker asker) { asker.ask(2, 32768); }

  // small(): gradients of scores [padded], then of each window: of the hidden layer's sums [units], of pooled
  // values [both], terms of the norms' gradients: hidden norm [units, units], norm [both, both].
  __device__ __forceinline__ float* of_window(int window) const {
    return small() + 8 * padded + window * (3 * units + 3 * both);
  }
  __device__ __forceinline__ float* sums() const {
    return work.sums + static_cast<long long>(blockIdx.x) * plan.sums();
  }
  __device__ __forceinline__ char* scores() const { return memory + at.scores; }

  __device__ void run() {
    fetch_normed();
    if (warp < 2) back_through_outputs(warp);
    wait_for_workers();
    {
      const int window = threadIdx.x / both;
      const int feature = threadIdx.x % both;
      const float* weight = parameter(work.offsets.head) + feature;
      float sum = 0;
#pragma unroll 32
      for (int o = 0; o < units; ++o) sum = fmaf(of_window(window)[o], weight[o * both], sum);
      of_window(window)[units + feature] = sum;
    }
    wait_for_workers();
    if (warp < 2) back_to_pooled(warp);
    wait_for_workers();
    add_windows();
    for (int place = warp; place < padded; place += worker_warps) back_to_share(place);
    wait_for_workers();
    if (warp < 2) back_through_shares(warp);
    wait_for_workers();
    if (warp < 8) back_to_scores();
    wait_for_workers();
    back_to_rows();
    wait_for_workers();
    back_through_norm();
  }

 private:
  __device__ __forceinline__ void fetch_normed() {
    for (int i = threadIdx.x; i < padded * (both / 8); i += workers)
      *reinterpret_cast<uint4*>(rows() + (i / (both / 8)) * end_pitch + (i % (both / 8)) * 16) =
          reinterpret_cast<const uint4*>(work.normed + own_row(0) * both)[i];
  }

  __device__ __forceinline__ void back_through_outputs(int window) {
    const int row = blockIdx.x * 2 + window;
    float4 d = make_float4(0, 0, 0, 0);
    for (int o = 0; o < plan.outputs && row < work.rows; ++o) {
      const float gradient = work.d_outputs[static_cast<long long>(row) * plan.outputs + o];
      const float4 w = reinterpret_cast<const float4*>(parameter(work.offsets.output) + o * units)[lane];
      d = make_float4(fmaf(gradient, w.x, d.x), fmaf(gradient, w.y, d.y), fmaf(gradient, w.z, d.z),
                      fmaf(gradient, w.w, d.w));
    }
    const Mask drop = head_mask_of(1);
    const float2 first = drop.pair(static_cast<Word>(row) * units + lane * 4);
    const float2 second = drop.pair(static_cast<Word>(row) * units + lane * 4 + 2);
    d = make_float4(d.x * first.x, d.y * first.y, d.z * second.x, d.w * second.y);
    const auto kept_four = [&](int place) {
      const float2* from = reinterpret_cast<const float2*>(kept(row) + place) + lane * 2;
      return make_float4(from[0].x, from[0].y, from[1].x, from[1].y);
    };
    const float4 hat = kept_four(end_hidden_hat);
    const float4 slope = kept_four(end_slope);
    float* to = of_window(window);
    reinterpret_cast<float4*>(to + units + both)[lane] =
        make_float4(d.x * hat.x, d.y * hat.y, d.z * hat.z, d.w * hat.w);
    reinterpret_cast<float4*>(to + 2 * units + both)[lane] = d;
    const float4 weight = reinterpret_cast<const float4*>(parameter(work.offsets.head_hidden_norm))[lane];
    const float4 e = make_float4(d.x * weight.x, d.y * weight.y, d.z * weight.z, d.w * weight.w);
    const float mean = warp_sum(e.x + e.y + e.z + e.w) * (1.0F / units);
    const float slant = warp_sum(e.x * hat.x + e.y * hat.y + e.z * hat.z + e.w * hat.w) * (1.0F / units);
    const float root = kept(row)[end_roots + 1];
    const float4 out = make_float4(
        root * (e.x - mean - hat.x * slant) * slope.x, root * (e.y - mean - hat.y * slant) * slope.y,
        root * (e.z - mean - hat.z * slant) * slope.z, root * (e.w - mean - hat.w * slant) * slope.w);
    reinterpret_cast<float4*>(to)[lane] = out;
    reinterpret_cast<uint2*>(work.d_head + static_cast<long long>(row) * units)[lane] =
        make_uint2(pack_bf16(out.x, out.y), pack_bf16(out.z, out.w));
  }

  __device__ __forceinline__ void back_to_pooled(int window) {
    const int row = blockIdx.x * 2 + window;
    float* to = of_window(window);
    float d[8];
    float hat[8];
    const Mask drop = head_mask_of(0);
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
      const float2 factors = drop.pair(static_cast<Word>(row) * both + lane * 8 + j);
      d[j] = to[units + lane * 8 + j] * factors.x;
      d[j + 1] = to[units + lane * 8 + j + 1] * factors.y;
      const float2 two = *reinterpret_cast<const float2*>(kept(row) + end_hat + lane * 8 + j);
      hat[j] = two.x;
      hat[j + 1] = two.y;
    }
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      to[3 * units + both + lane * 8 + j] = d[j] * hat[j];
      to[3 * units + 2 * both + lane * 8 + j] = d[j];
    }
    this->back_through_hat(d, hat, kept(row)[end_roots], parameter(work.offsets.head_norm));
#pragma unroll
    for (int j = 0; j < 8; ++j) to[units + lane * 8 + j] = d[j];
  }

  __device__ __forceinline__ void add_windows() {
    const auto sum_of = [&](int place) { return of_window(0)[place] + of_window(1)[place]; };
    for (int i = threadIdx.x; i < units; i += workers) {
      sums()[plan.head_bias() + i] = sum_of(i);
      sums()[plan.head_hidden_norm() + i] = sum_of(units + both + i);
      sums()[plan.head_hidden_norm() + units + i] = sum_of(2 * units + both + i);
    }
    for (int i = threadIdx.x; i < both; i += workers) {
      sums()[plan.head_norm() + i] = sum_of(3 * units + both + i);
      sums()[plan.head_norm() + both + i] = sum_of(3 * units + 2 * both + i);
    }
    for (int i = threadIdx.x; i < plan.outputs * (units + 1); i += workers) {
      const int output = i / (units + 1);
      const int input = i % (units + 1);
      float sum = 0;
      for (int window = 0; window < 2; ++window) {
        const int row = blockIdx.x * 2 + window;
        if (row >= work.rows) break;
        const float gradient = work.d_outputs[static_cast<long long>(row) * plan.outputs + output];
        sum += gradient * (input == units ? 1.0F : kept(row)[end_dropped + input]);
      }
      sums()[input == units ? plan.output_bias() + output : plan.output_weight() + output * units + input] =
          sum;
    }
  }

  // The gradient of a moment's share.
  __device__ __forceinline__ void back_to_share(int place) {
    if (place >= plan.tokens()) {
      if (lane == 0) small()[place] = 0;
      return;
    }
    float row[8];
    End::unpack(row, reinterpret_cast<const uint4*>(rows() + place * end_pitch)[lane]);
    const float* d = of_window(place / plan.length) + units + lane * 8;
    float sum = 0;
#pragma unroll
    for (int j = 0; j < 8; ++j) sum = fmaf(d[j], row[j], sum);
    sum = warp_sum(sum);
    if (lane == 0) small()[place] = sum;
  }
  __device__ __forceinline__ void back_through_shares(int window) {
    const float* shares = kept(blockIdx.x * 2 + window) + end_shares;
    float* d = small() + window * plan.length;
    float sum = 0;
    for (int t = lane; t < plan.length; t += 32) sum += shares[t] * d[t];
    sum = warp_sum(sum);
    float total = 0;
    for (int t = lane; t < plan.length; t += 32) {
      d[t] = shares[t] * (d[t] - sum);
      total += d[t];
    }
    total = warp_sum(total);
    if (lane == 0) small()[padded + window] = total;
  }

  // Through weights, dropout and tanh: rows of the scores' gradients.
  __device__ __forceinline__ void back_to_scores() {
    const int feature = warp * 16 + lane / 4;
    const float low = parameter(work.offsets.weights)[feature];
    const float high = parameter(work.offsets.weights)[feature + 8];
    const Mask drop = scores_mask();
    float of_weights[2] = {0, 0};
    float of_bias[2] = {0, 0};
    float gradient[tiles][4];
#pragma unroll
    for (int i = 0; i < tiles; ++i) {
      const int first = i * 8 + (lane % 4) * 2;
      float factors[4];
      drop.four(factors, token(first) * units + feature, units);
      const uint2 two = reinterpret_cast<const uint2*>(
          work.tanhs)[((static_cast<long long>(blockIdx.x) * 8 + warp) * tiles + i) * 32 + lane];
      const float tanhs[4] = {low_bf16(two.x), high_bf16(two.x), low_bf16(two.y), high_bf16(two.y)};
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float d = small()[first + j % 2] * factors[j];
        of_weights[j / 2] += d * tanhs[j];
        gradient[i][j] = d * (j < 2 ? low : high) * (1.0F - tanhs[j] * tanhs[j]);
        of_bias[j / 2] += gradient[i][j];
      }
    }
    store_tokens(gradient, shared_address(scores()), scores_pitch, warp * 16);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float weight_sum = quad_sum(of_weights[half]);
      const float bias_sum = quad_sum(of_bias[half]);
      if (lane % 4 != 0) continue;
      sums()[plan.weights() + feature + half * 8] = weight_sum;
      sums()[plan.scores_bias() + feature + half * 8] = bias_sum;
    }
    if (threadIdx.x == 0) sums()[plan.weights_bias()] = small()[padded] + small()[padded + 1];
  }

  // wide = W^T scores.
  __device__ __forceinline__ void back_to_rows() {
    for (int i = threadIdx.x; i < padded * (units / 8); i += workers)
      reinterpret_cast<uint4*>(work.d_scores + own_row(0) * units)[i] = *reinterpret_cast<const uint4*>(
          scores() + (i / (units / 8)) * scores_pitch + (i % (units / 8)) * 16);
    float gradient[tiles][4];
    clear(gradient);
    const Word from = shared_address(scores());
#pragma unroll 1
    for (int chunk = 0; chunk < 2; ++chunk) {
      const uint4* weights = taker.wait();
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        TokenTiles<tiles> b;
        b.load(from, scores_pitch, (chunk * 4 + step) * 16);
        accumulate(gradient, weights[(step * worker_warps + warp) * 32 + lane], b);
      }
      taker.release();
    }
    const int feature = warp * 16 + lane / 4;
#pragma unroll
    for (int i = 0; i < tiles; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j)
        wide()[(i * 8 + (lane % 4) * 2 + j % 2) * end_wide_pitch + feature + (j / 2) * 8] = gradient[i][j];
  }

  __device__ __forceinline__ void back_through_norm() {
    const int all = (work.rows + group_rows - 1) / group_rows * group_rows;
    float of_weight[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    float of_bias[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    float* to = work.layers[plan.layers - 1].d_out;
    for (int place = warp; place < plan.tokens(); place += worker_warps) {
      const int window = place / plan.length;
      const float share = kept(blockIdx.x * 2 + window)[end_shares + place % plan.length];
      float d[8];
      float hat[8];
      End::load8(d, wide() + place * end_wide_pitch + lane * 8);
      End::unpack(hat, reinterpret_cast<const uint4*>(work.hat + own_row(place) * both)[lane]);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        d[j] = fmaf(share, of_window(window)[units + lane * 8 + j], d[j]);
        of_weight[j] = fmaf(d[j], hat[j], of_weight[j]);
        of_bias[j] += d[j];
      }
      this->back_through_hat(d, hat, work.roots[own_row(place)], parameter(work.offsets.norm));
      if (window_of(place) >= all) continue;
      float4* out = reinterpret_cast<float4*>(to + layer_row(place) * both + lane * 8);
      out[0] = make_float4(d[0], d[1], d[2], d[3]);
      out[1] = make_float4(d[4], d[5], d[6], d[7]);
    }
    // Sums over the warps, where the stream of weights has ended.
    float* parts = reinterpret_cast<float*>(memory) + warp * 2 * both;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      parts[lane * 8 + j] = of_weight[j];
      parts[both + lane * 8 + j] = of_bias[j];
    }
    wait_for_workers();
    float sum = 0;
#pragma unroll
    for (int i = 0; i < worker_warps; ++i)
      sum += reinterpret_cast<const float*>(memory)[i * 2 * both + threadIdx.x];
    sums()[plan.norm() + threadIdx.x] = sum;
  }
};

}  // namespace stoker::fused::sequence
