#pragma once

#include "fused/cuda/sequence/lstm_layer.cuh"

// What follows the recurrent layers: norm, pooling by learnt weights, head. A block takes two windows.
namespace stoker::fused::sequence {

template <class Net>
struct LstmEnd : TokenBlock<Net::plan.tiles()> {
  static constexpr auto plan = Net::plan;
  using Block = TokenBlock<plan.tiles()>;
  using Block::lane;
  using Block::taker;
  using Block::tiles;
  using Block::warp;
  static constexpr LstmEndMemory at = memory_of(plan);
  static constexpr int padded = plan.padded();

  const LstmWork& work;
  char* memory;

  __device__ __forceinline__ LstmEnd(char* shared, const LstmWork& given)
      : Block({reinterpret_cast<Barriers*>(shared + at.barriers), shared, {}}), work(given), memory(shared) {}

  __device__ __forceinline__ char* rows() const { return memory + at.rows; }
  __device__ __forceinline__ float* wide() const { return reinterpret_cast<float*>(memory + at.wide); }
  __device__ __forceinline__ float* small() const { return reinterpret_cast<float*>(memory + at.small); }
  __device__ __forceinline__ const float* parameter(int offset) const { return work.parameters + offset; }
  __device__ __forceinline__ int window_of(int place) const { return blockIdx.x * 2 + place / plan.length; }
  // The row of a token among those of the layers.
  __device__ __forceinline__ long long layer_row(int place) const {
    const int window = window_of(place);
    return (static_cast<long long>(window / group_rows) * plan.length + place % plan.length) * group_rows +
           window % group_rows;
  }
  __device__ __forceinline__ long long own_row(int place) const {
    return static_cast<long long>(blockIdx.x) * padded + place;
  }
  __device__ __forceinline__ float* kept(int window) const {
    return work.end + static_cast<long long>(window) * end_floats(plan.length);
  }
  __device__ __forceinline__ Mask scores_mask() const {
    return mask_of(work, plan.layers - 1, work.pooling_dropout);
  }
  __device__ __forceinline__ Mask head_mask_of(int which) const {
    return mask_of(work, plan.layers + which, work.dropout);
  }
  // The token of a mask's index; places behind the windows' have any.
  __device__ __forceinline__ Word token(int place) const { return blockIdx.x * plan.tokens() + place; }

  static __device__ __forceinline__ void unpack(float (&eight)[8], const uint4& words) {
    const Word pairs[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      eight[j * 2] = low_bf16(pairs[j]);
      eight[j * 2 + 1] = high_bf16(pairs[j]);
    }
  }
  static __device__ __forceinline__ uint4 packed(const float (&eight)[8]) {
    return make_uint4(pack_bf16(eight[0], eight[1]), pack_bf16(eight[2], eight[3]),
                      pack_bf16(eight[4], eight[5]), pack_bf16(eight[6], eight[7]));
  }
  static __device__ __forceinline__ void load8(float (&eight)[8], const float* from) {
    const float4 a = reinterpret_cast<const float4*>(from)[0];
    const float4 b = reinterpret_cast<const float4*>(from)[1];
    eight[0] = a.x;
    eight[1] = a.y;
    eight[2] = a.z;
    eight[3] = a.w;
    eight[4] = b.x;
    eight[5] = b.y;
    eight[6] = b.z;
    eight[7] = b.w;
  }
  // Normed in place, over a warp's 256 values.
  static __device__ __forceinline__ float to_hat(float (&eight)[8]) {
    float sum = 0;
#pragma unroll
    for (float each : eight) sum += each;
    const float mean = warp_sum(sum) * (1.0F / both);
    sum = 0;
#pragma unroll
    for (float& each : eight) {
      each -= mean;
      sum += each * each;
    }
    const float root = rsqrtf(warp_sum(sum) * (1.0F / both) + norm_epsilon);
#pragma unroll
    for (float& each : eight) each *= root;
    return root;
  }
  // From the gradient of normed values to that of the values.
  __device__ __forceinline__ void back_through_hat(float (&d)[8], const float (&hat)[8], float root,
                                                   const float* weights) const {
    float weight[8];
    load8(weight, weights + lane * 8);
    float sum = 0;
    float slant = 0;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      d[j] *= weight[j];
      sum += d[j];
      slant += d[j] * hat[j];
    }
    sum = warp_sum(sum) * (1.0F / both);
    slant = warp_sum(slant) * (1.0F / both);
#pragma unroll
    for (int j = 0; j < 8; ++j) d[j] = root * (d[j] - sum - hat[j] * slant);
  }
};

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
