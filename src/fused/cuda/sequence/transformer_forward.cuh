#pragma once

#include "fused/cuda/sequence/attention.cuh"
#include "fused/cuda/sequence/transformer_block.cuh"

namespace stoker::fused::sequence {

template <class Net>
struct TransformerForward : TransformerBlock<Net> {
  using Block = TransformerBlock<Net>;
  using Block::add_bias;
  using Block::feed;
  using Block::first_row;
  using Block::half_product;
  using Block::join_halves;
  using Block::keep_rows;
  using Block::lane;
  using Block::mask;
  using Block::narrow;
  using Block::padded;
  using Block::parameter;
  using Block::plan;
  using Block::qkv;
  using Block::small;
  using Block::taker;
  using Block::tiles;
  using Block::token;
  using Block::warp;
  using Block::work;
  using Block::x;
  using Block::y;

  __device__ __forceinline__ TransformerForward(char* shared, const TransformerWork& given)
      : Block(shared, given) {}

  // What the warp behind the others does.
  static __device__ void ask(Asker asker) {
    asker.ask(1, plan.input_steps() * 8192);
    for (int i = 0; i < plan.layers; ++i) {
      asker.ask(4, 24576);
      asker.ask(2, 16384);
      asker.ask(feed1_chunks, feed1_steps * plan.feed_tiles() * 512);
      asker.ask(feed2_chunks, feed2_steps * 8192);
    }
  }
  static constexpr int feed1_steps =
      stage_bytes / (plan.feed_tiles() * 512) < 8 ? stage_bytes / (plan.feed_tiles() * 512) : 8;
  static constexpr int feed1_chunks = 8 / feed1_steps;
  static constexpr int feed2_steps = 4;
  static constexpr int feed2_chunks = plan.feed_tiles() / 2 / feed2_steps;

  __device__ void run() {
    this->make_masks();
    read_windows();
    wait_for_workers();
    enter();
    for (int i = 0; i < plan.layers; ++i) {
      const TransformerLayerOffsets& at = work.offsets.layers[i];
      const TransformerLayerRows& kept = work.kept.layers[i];
      normalise(parameter(at.norm1), parameter(at.norm1_bias), kept.norm1, kept.hat1, kept.root1);
      wait_for_workers();
      project_qkv(parameter(at.qkv_bias));
      wait_for_partner(warp / 2);
      attend(i);
      wait_for_workers();
      if (work.trains) {
        keep_rows(qkv(), qkv_pitch, kept.qkv, 3 * hidden);
        keep_rows(feed(), narrow_pitch, kept.context, hidden);
      }
      add_product<2, 2>(feed(), narrow_pitch, feed() + padded * narrow_pitch, parameter(at.out_bias),
                        mask(layer_mask(i, 1)));
      wait_for_workers();
      normalise(parameter(at.norm2), parameter(at.norm2_bias), kept.norm2, kept.hat2, kept.root2);
      wait_for_workers();
      feed_forward(parameter(at.feed1_bias), mask(layer_mask(i, 2)), kept.slope);
      wait_for_workers();
      if (work.trains) keep_rows(feed(), feed_pitch<Net>, kept.feed, plan.feed);
      add_product<feed2_chunks, feed2_steps>(feed(), feed_pitch<Net>, qkv(), parameter(at.feed2_bias),
                                             mask(layer_mask(i, 3)));
      wait_for_workers();
    }
    finish();
  }

 private:
  // The windows in bfloat16, where weights of the input layer meet them.
  __device__ __forceinline__ void read_windows() {
    constexpr int columns = plan.padded_columns();
    constexpr int pitch = (columns + 8) * 2;
    for (int i = threadIdx.x; i < padded * columns; i += workers) {
      const int place = i / columns;
      const int column = i % columns;
      const Word row = blockIdx.x * plan.windows + place / plan.length;
      const bool is_there = place < plan.tokens() && column < plan.columns && row < work.rows;
      const float value =
          is_there ? work.windows[static_cast<long long>(token(place)) * plan.columns + column] : 0.0F;
      const Half half = static_cast<Half>(pack_bf16(value, 0));
      *reinterpret_cast<Half*>(feed() + place * pitch + column * 2) = half;
      if (work.trains) work.kept.input[static_cast<long long>(first_row() + place) * columns + column] = half;
    }
  }

  // x = dropout(norm(W window + b)) + position.
  __device__ __forceinline__ void enter() {
    float sums[tiles][4];
    clear(sums);
    half_product<1, plan.input_steps()>(sums, feed(), (plan.padded_columns() + 8) * 2);
    if (join_halves(sums, qkv())) {
      const int feature = warp * 16 + lane / 4;
      const float* bias = parameter(work.offsets.input_bias);
#pragma unroll
      for (int i = 0; i < tiles; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int f = feature + (j / 2) * 8;
          x()[(i * 8 + (lane % 4) * 2 + j % 2) * wide_pitch + f] = sums[i][j] + bias[f];
        }
    }
    wait_for_workers();
    const float4 weight = reinterpret_cast<const float4*>(parameter(work.offsets.input_norm))[lane];
    const float4 bias = reinterpret_cast<const float4*>(parameter(work.offsets.input_norm_bias))[lane];
    const Mask drop = mask(input_mask);
    for (int place = warp; place < padded; place += worker_warps) {
      float4& at = reinterpret_cast<float4*>(x() + place * wide_pitch)[lane];
      float root;
      const float4 hat = hat_of(at, root);
      if (work.trains) keep_hat(work.kept.hat0, work.kept.root0, place, hat, root);
      const Word index = token(place) * hidden + lane * 4;
      const float2 first = drop.pair(index);
      const float2 second = drop.pair(index + 2);
      const int moment = place % plan.length;
      const float4 position = reinterpret_cast<const float4*>(work.positions + moment * hidden)[lane];
      at.x = fmaf(hat.x, weight.x, bias.x) * first.x + position.x;
      at.y = fmaf(hat.y, weight.y, bias.y) * first.y + position.y;
      at.z = fmaf(hat.z, weight.z, bias.z) * second.x + position.z;
      at.w = fmaf(hat.w, weight.w, bias.w) * second.y + position.w;
    }
    wait_for_workers();
  }

  static __device__ __forceinline__ float4 hat_of(const float4& v, float& root) {
    const float mean = warp_sum(v.x + v.y + v.z + v.w) * (1.0F / hidden);
    const float4 d = make_float4(v.x - mean, v.y - mean, v.z - mean, v.w - mean);
    const float square = warp_sum(d.x * d.x + d.y * d.y + d.z * d.z + d.w * d.w) * (1.0F / hidden);
    root = rsqrtf(square + norm_epsilon);
    return make_float4(d.x * root, d.y * root, d.z * root, d.w * root);
  }
  __device__ __forceinline__ void keep_hat(unsigned short* hats, float* roots, int place, const float4& hat,
                                           float root) const {
    const long long row = first_row() + place;
    reinterpret_cast<uint2*>(hats + row * hidden)[lane] =
        make_uint2(pack_bf16(hat.x, hat.y), pack_bf16(hat.z, hat.w));
    if (lane == 0) roots[row] = root;
  }

  // Rows of `narrow` are the normed rows of x.
  __device__ __forceinline__ void normalise(const float* weights, const float* biases, unsigned short* kept,
                                            unsigned short* hats, float* roots) {
    const float4 weight = reinterpret_cast<const float4*>(weights)[lane];
    const float4 bias = reinterpret_cast<const float4*>(biases)[lane];
#pragma unroll
    for (int round = 0; round < (padded + worker_warps - 1) / worker_warps; ++round) {
      const int place = warp + round * worker_warps;
      if (place >= padded) break;
      float root;
      const float4 hat = hat_of(reinterpret_cast<const float4*>(x() + place * wide_pitch)[lane], root);
      const uint2 normed =
          make_uint2(pack_bf16(fmaf(hat.x, weight.x, bias.x), fmaf(hat.y, weight.y, bias.y)),
                     pack_bf16(fmaf(hat.z, weight.z, bias.z), fmaf(hat.w, weight.w, bias.w)));
      reinterpret_cast<uint2*>(narrow() + place * narrow_pitch)[lane] = normed;
      if (!work.trains) continue;
      keep_hat(hats, roots, place, hat, root);
      reinterpret_cast<uint2*>(kept + static_cast<long long>(first_row() + place) * hidden)[lane] = normed;
    }
  }

  // The two warps of a head make its queries, keys and values.
  __device__ __forceinline__ void project_qkv(const float* bias) {
    constexpr int half_tiles = (tiles + 1) / 2;
    const int head = warp / 2;
    const int half = warp % 2;
    float own[tiles][4];  // queries of the first warp, keys of the second
    float value[half_tiles][4];
    clear(own);
    clear(value);
    const Word rows = shared_address(narrow());
#pragma unroll 1
    for (int chunk = 0; chunk < 4; ++chunk) {
      const uint4* weights = taker.wait();
#pragma unroll
      for (int step = 0; step < 2; ++step) {
        const uint4* at = weights + (step * 3 * heads + head * 3) * 32 + lane;
        TokenTiles<tiles> b;
        b.load(rows, narrow_pitch, (chunk * 2 + step) * 16);
        accumulate(own, at[half * 32], b);
        const uint4 of_value = at[2 * 32];
#pragma unroll
        for (int i = 0; i < half_tiles; ++i) {
          const int tile = half == 0 ? i : i + half_tiles;
          if (tile < tiles) {
            const Word b0 = half == 0 ? b.at[i][0] : b.at[i + half_tiles < tiles ? i + half_tiles : 0][0];
            const Word b1 = half == 0 ? b.at[i][1] : b.at[i + half_tiles < tiles ? i + half_tiles : 0][1];
            multiply_add_bf16(value[i], of_value, b0, b1);
          }
        }
      }
      taker.release();
    }
    const int feature = head * head_size;
    add_bias(own, bias + half * hidden + feature);
    add_bias(value, bias + 2 * hidden + feature);
    store_tokens(own, shared_address(qkv()), qkv_pitch, half * hidden + feature);
    if (half == 0) {
      store_tokens(value, shared_address(qkv()), qkv_pitch, 2 * hidden + feature);
    } else {
      constexpr int rest = tiles - half_tiles;
      float second[rest > 0 ? rest : 1][4];
#pragma unroll
      for (int i = 0; i < rest; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) second[i][j] = value[i][j];
      if constexpr (rest > 0)
        store_tokens(second, shared_address(qkv() + half_tiles * 8 * qkv_pitch), qkv_pitch,
                     2 * hidden + feature);
    }
  }

  // One warp, one head of one window; its context goes where the feed-forward layer will lie. Pairs of warps
  // share a head, so windows beyond the second take turns.
  __device__ __forceinline__ void attend(int layer) {
    using Head = AttentionHead<plan.length>;
    const int head = warp / 2;
    for (int window = warp % 2; window < plan.windows; window += 2) {
      const int base = window * plan.length;
      Head at{shared_address(qkv()), base, head, lane, padded};
      typename Head::Weights weights;
      at.weigh(weights);
      const Word row = blockIdx.x * plan.windows + window;
      at.drop(weights, mask(layer_mask(layer, 0)), (row * heads + head) * plan.length * plan.length);
      at.mix(weights, feed(), narrow_pitch);
    }
    // Rows that are no tokens.
    for (int i = threadIdx.x; i < (padded - plan.tokens()) * (hidden / 2); i += workers)
      *reinterpret_cast<Word*>(feed() + (plan.tokens() + i / (hidden / 2)) * narrow_pitch +
                               (i % (hidden / 2)) * 4) = 0;
  }

  // x += dropout(W rows + b).
  template <int Chunks, int Steps>
  __device__ __forceinline__ void add_product(const char* rows, int pitch, char* scratch, const float* bias,
                                              const Mask& drop) {
    float sums[tiles][4];
    clear(sums);
    half_product<Chunks, Steps>(sums, rows, pitch);
    if (!join_halves(sums, scratch)) return;
    const int feature = warp * 16 + lane / 4;
    add_bias(sums, bias + warp * 16);
#pragma unroll
    for (int i = 0; i < tiles; ++i) {
      const int first = i * 8 + (lane % 4) * 2;
      float factors[4];
      drop.four(factors, token(first) * hidden + feature, hidden);
#pragma unroll
      for (int j = 0; j < 4; ++j)
        if (first + j % 2 < plan.tokens())
          x()[(first + j % 2) * wide_pitch + feature + (j / 2) * 8] += sums[i][j] * factors[j];
    }
  }

  // feed = dropout(gelu(W narrow + b)); the slope of it is kept where this lane finds it again.
  __device__ __forceinline__ void feed_forward(const float* bias, const Mask& drop, unsigned* slopes) {
    constexpr int each = plan.feed_tiles() / worker_warps;
    float sums[each][tiles][4];
#pragma unroll
    for (int m = 0; m < each; ++m) clear(sums[m]);
    const Word rows = shared_address(narrow());
#pragma unroll 1
    for (int chunk = 0; chunk < feed1_chunks; ++chunk) {
      const uint4* weights = taker.wait();
#pragma unroll
      for (int step = 0; step < feed1_steps; ++step) {
        TokenTiles<tiles> b;
        b.load(rows, narrow_pitch, (chunk * feed1_steps + step) * 16);
#pragma unroll
        for (int m = 0; m < each; ++m)
          accumulate(sums[m], weights[(step * plan.feed_tiles() + warp * each + m) * 32 + lane], b);
      }
      taker.release();
    }
#pragma unroll
    for (int m = 0; m < each; ++m) {
      const int tile = warp * each + m;
      add_bias(sums[m], bias + tile * 16);
      uint2* slope = reinterpret_cast<uint2*>(slopes) +
                     (static_cast<long long>(blockIdx.x) * plan.feed_tiles() + tile) * tiles * 32 + lane;
#pragma unroll
      for (int i = 0; i < tiles; ++i) {
        float slope_of[4];
        float factors[4];
        drop.four(factors, token(i * 8 + (lane % 4) * 2) * plan.feed + tile * 16 + lane / 4, plan.feed);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const Gelu g = gelu(sums[m][i][j]);
          slope_of[j] = g.slope * factors[j];
          sums[m][i][j] = g.value * factors[j];
        }
        if (work.trains)
          slope[i * 32] =
              make_uint2(pack_bf16(slope_of[0], slope_of[1]), pack_bf16(slope_of[2], slope_of[3]));
      }
      store_tokens(sums[m], shared_address(feed()), feed_pitch<Net>, tile * 16);
    }
  }

  // The last norm, the mean over the moments, and the head.
  __device__ __forceinline__ void finish() {
    {
      const float4 weight = reinterpret_cast<const float4*>(parameter(work.offsets.norm))[lane];
      const float4 bias = reinterpret_cast<const float4*>(parameter(work.offsets.norm_bias))[lane];
      for (int place = warp; place < padded; place += worker_warps) {
        float4& at = reinterpret_cast<float4*>(x() + place * wide_pitch)[lane];
        float root;
        const float4 hat = hat_of(at, root);
        if (work.trains) keep_hat(work.kept.hat_last, work.kept.root_last, place, hat, root);
        at = make_float4(fmaf(hat.x, weight.x, bias.x), fmaf(hat.y, weight.y, bias.y),
                         fmaf(hat.z, weight.z, bias.z), fmaf(hat.w, weight.w, bias.w));
      }
    }
    wait_for_workers();
    for (int i = threadIdx.x; i < plan.windows * hidden; i += workers) {
      float sum = 0;
#pragma unroll
      for (int t = 0; t < plan.length; ++t)
        sum += x()[((i / hidden) * plan.length + t) * wide_pitch + i % hidden];
      pooled(i / hidden)[i % hidden] = sum / plan.length;
    }
    wait_for_workers();
    for (int window = warp; window < plan.windows; window += worker_warps) norm_pooled(window);
    wait_for_workers();
#pragma unroll 8
    for (int i = warp; i < plan.windows * head_width; i += worker_warps) {
      const int window = i / head_width;
      const float4 in = reinterpret_cast<const float4*>(pooled(window))[lane];
      const float4 w =
          reinterpret_cast<const float4*>(parameter(work.offsets.head) + (i % head_width) * hidden)[lane];
      const float sum = warp_sum(in.x * w.x + in.y * w.y + in.z * w.z + in.w * w.w);
      if (lane == 0)
        small()[window * (hidden + 2 * head_width) + hidden + i % head_width] =
            sum + parameter(work.offsets.head_bias)[i % head_width];
    }
    wait_for_workers();
    for (int window = warp; window < plan.windows; window += worker_warps) put_out(window);
  }
  __device__ __forceinline__ float* pooled(int window) {
    return small() + window * (hidden + 2 * head_width);
  }
  __device__ __forceinline__ float* head_kept(Word row) {
    return work.kept.head + static_cast<long long>(row) * head_floats;
  }

  __device__ __forceinline__ void norm_pooled(int window) {
    const Word row = blockIdx.x * plan.windows + window;
    float4& at = reinterpret_cast<float4*>(pooled(window))[lane];
    float root;
    const float4 hat = hat_of(at, root);
    const float4 weight = reinterpret_cast<const float4*>(parameter(work.offsets.head_norm))[lane];
    const float4 bias = reinterpret_cast<const float4*>(parameter(work.offsets.head_norm_bias))[lane];
    const Mask drop = mask(head_mask(plan.layers, 0));
    const float2 first = drop.pair(row * hidden + lane * 4);
    const float2 second = drop.pair(row * hidden + lane * 4 + 2);
    at = make_float4(fmaf(hat.x, weight.x, bias.x) * first.x, fmaf(hat.y, weight.y, bias.y) * first.y,
                     fmaf(hat.z, weight.z, bias.z) * second.x, fmaf(hat.w, weight.w, bias.w) * second.y);
    if (!work.trains) return;
    reinterpret_cast<float2*>(head_kept(row) + head_hat)[lane * 2] = make_float2(hat.x, hat.y);
    reinterpret_cast<float2*>(head_kept(row) + head_hat)[lane * 2 + 1] = make_float2(hat.z, hat.w);
    if (lane == 0) head_kept(row)[head_roots] = root;
    reinterpret_cast<uint2*>(work.kept.head_input + static_cast<long long>(row) * hidden)[lane] =
        make_uint2(pack_bf16(at.x, at.y), pack_bf16(at.z, at.w));
  }

  __device__ __forceinline__ void put_out(int window) {
    const Word row = blockIdx.x * plan.windows + window;
    const float2 before = reinterpret_cast<const float2*>(pooled(window) + hidden)[lane];
    const Gelu first = gelu(before.x);
    const Gelu second = gelu(before.y);
    const float mean = warp_sum(first.value + second.value) * (1.0F / head_width);
    const float2 d = make_float2(first.value - mean, second.value - mean);
    const float root = rsqrtf(warp_sum(d.x * d.x + d.y * d.y) * (1.0F / head_width) + norm_epsilon);
    const float2 hat = make_float2(d.x * root, d.y * root);
    const float2 weight = reinterpret_cast<const float2*>(parameter(work.offsets.head_hidden_norm))[lane];
    const float2 bias = reinterpret_cast<const float2*>(parameter(work.offsets.head_hidden_norm_bias))[lane];
    const float2 factor = mask(head_mask(plan.layers, 1)).pair(row * head_width + lane * 2);
    const float2 in =
        make_float2(fmaf(hat.x, weight.x, bias.x) * factor.x, fmaf(hat.y, weight.y, bias.y) * factor.y);
    for (int o = 0; o < plan.outputs; ++o) {
      const float2 w = reinterpret_cast<const float2*>(parameter(work.offsets.output) + o * head_width)[lane];
      const float sum = warp_sum(in.x * w.x + in.y * w.y);
      if (lane == 0 && row < static_cast<Word>(work.rows))
        work.outputs[static_cast<long long>(row) * plan.outputs + o] =
            sum + parameter(work.offsets.output_bias)[o];
    }
    if (!work.trains) return;
    float* kept = head_kept(row);
    reinterpret_cast<float2*>(kept + head_hidden_hat)[lane] = hat;
    reinterpret_cast<float2*>(kept + head_slope)[lane] = make_float2(first.slope, second.slope);
    reinterpret_cast<float2*>(kept + head_dropped)[lane] = in;
    if (lane == 0) kept[head_roots + 1] = root;
  }
};

}  // namespace stoker::fused::sequence
