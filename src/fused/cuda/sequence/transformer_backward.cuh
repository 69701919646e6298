#pragma once

#include "fused/cuda/sequence/attention.cuh"
#include "fused/cuda/sequence/transformer_block.cuh"

namespace stoker::fused::sequence {

// From the gradients of the outputs to those of all products' results, which are kept in rows of tokens, and
// to the sums that are the gradients of biases and norms.
template <class Net>
struct TransformerBackward : TransformerBlock<Net> {
  using Block = TransformerBlock<Net>;
  using Block::feed;
  using Block::fetch_rows;
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
  using Block::sums;
  using Block::taker;
  using Block::tiles;
  using Block::token;
  using Block::warp;
  using Block::work;
  using Block::x;
  using Block::y;

  __device__ __forceinline__ TransformerBackward(char* shared, const TransformerWork& given)
      : Block(shared, given) {}

  static constexpr int feed2_steps =
      stage_bytes / (plan.feed_tiles() * 512) < 8 ? stage_bytes / (plan.feed_tiles() * 512) : 8;
  static constexpr int feed2_chunks = 8 / feed2_steps;
  static constexpr int first_sums = plan.layer(0);
  static constexpr int layer_sums = plan.layer_sums();
  static constexpr int feed1_steps = 4;
  static constexpr int feed1_chunks = plan.feed_tiles() / 2 / feed1_steps;

  static __device__ void ask(Asker asker) {
    for (int i = 0; i < plan.layers; ++i) {
      asker.ask(feed2_chunks, feed2_steps * plan.feed_tiles() * 512);
      asker.ask(feed1_chunks, feed1_steps * 8192);
      asker.ask(1, 32768);
      asker.ask(3, 32768);
    }
  }

  __device__ void run() {
    this->make_masks();
    wait_for_workers();
    begin();
    for (int i = plan.layers - 1; i >= 0; --i) {
      const TransformerLayerOffsets& at = work.offsets.layers[i];
      const TransformerLayerRows& kept = work.kept.layers[i];
      float* to = sums() + first_sums + i * layer_sums;
      drop_gradient(mask(layer_mask(i, 3)), kept.d_feed2, to + plan.feed2_bias());
      wait_for_workers();
      back_through_feed2(kept.slope, to + plan.feed1_bias());
      wait_for_workers();
      keep_rows(feed(), feed_pitch<Net>, kept.d_feed1, plan.feed);
      half_of_input<feed1_chunks, feed1_steps>(feed(), feed_pitch<Net>);
      wait_for_workers();
      back_through_norm<true>(parameter(at.norm2), kept.hat2, kept.root2, to + plan.norm2());
      wait_for_workers();
      drop_gradient(mask(layer_mask(i, 1)), kept.d_out, to + plan.out_bias());
      fetch_rows(qkv(), qkv_pitch, kept.qkv, 3 * hidden);
      wait_for_workers();
      back_through_out();
      wait_for_partner(warp / 2);
      back_through_attention(i);
      wait_for_workers();
      keep_rows(feed(), qkv_pitch, kept.d_qkv, 3 * hidden);
      add_columns(feed(), qkv_pitch, to + plan.qkv_bias());
      half_of_input<3, 4>(feed(), qkv_pitch);
      wait_for_workers();
      back_through_norm<true>(parameter(at.norm1), kept.hat1, kept.root1, to + plan.norm1());
      wait_for_workers();
    }
    enter();
  }

 private:
  __device__ __forceinline__ const float* head_kept(Word row) const {
    return work.kept.head + static_cast<long long>(row) * head_floats;
  }
  // Of a window: the gradient of what the head reads, and of the pooled values; then parts of sums.
  __device__ __forceinline__ float* of_window(int window) const {
    return small() + window * (3 * hidden + 4 * head_width);
  }

  // The head; x is the gradient behind the last layer.
  __device__ __forceinline__ void begin() {
    for (int window = warp; window < plan.windows; window += worker_warps) back_through_outputs(window);
    wait_for_workers();
    // Of the head's hidden layer: inputs by columns of its weight.
    for (int i = threadIdx.x; i < plan.windows * hidden; i += workers) {
      const float* d = of_window(i / hidden);
      const float* weight = parameter(work.offsets.head) + i % hidden;
      float sum = 0;
#pragma unroll 32
      for (int o = 0; o < head_width; ++o) sum = fmaf(d[o], weight[o * hidden], sum);
      of_window(i / hidden)[head_width + i % hidden] = sum;
    }
    wait_for_workers();
    for (int window = warp; window < plan.windows; window += worker_warps) back_to_pooled(window);
    wait_for_workers();
    add_windows();
    const float share = 1.0F / plan.length;
    for (int i = threadIdx.x; i < padded * hidden; i += workers) {
      const int place = i / hidden;
      const bool is_there = place < plan.tokens();
      y()[place * wide_pitch + i % hidden] =
          is_there ? of_window(place / plan.length)[head_width + i % hidden] * share : 0.0F;
    }
    wait_for_workers();
    back_through_norm<false>(parameter(work.offsets.norm), work.kept.hat_last, work.kept.root_last,
                             sums() + plan.last_norm());
    wait_for_workers();
  }

  // Layout of of_window(): gradient of the hidden layer's sums [head_width], that of pooled values [hidden],
  // then terms of the norms' gradients: hidden norm weight, bias [head_width each], norm weight, bias
  // [hidden each], and last its inputs of the output layer [head_width].
  __device__ __forceinline__ void back_through_outputs(int window) {
    const Word row = blockIdx.x * plan.windows + window;
    const bool is_there = row < static_cast<Word>(work.rows);
    const float* kept = head_kept(row);
    float2 d = make_float2(0, 0);
    for (int o = 0; o < plan.outputs && is_there; ++o) {
      const float gradient = work.d_outputs[static_cast<long long>(row) * plan.outputs + o];
      const float2 w = reinterpret_cast<const float2*>(parameter(work.offsets.output) + o * head_width)[lane];
      d.x = fmaf(gradient, w.x, d.x);
      d.y = fmaf(gradient, w.y, d.y);
    }
    const float2 factor = mask(head_mask(plan.layers, 1)).pair(row * head_width + lane * 2);
    d.x *= factor.x;
    d.y *= factor.y;
    const float2 hat = reinterpret_cast<const float2*>(kept + head_hidden_hat)[lane];
    const float2 weight = reinterpret_cast<const float2*>(parameter(work.offsets.head_hidden_norm))[lane];
    float* to = of_window(window);
    reinterpret_cast<float2*>(to + head_width + hidden)[lane] = make_float2(d.x * hat.x, d.y * hat.y);
    reinterpret_cast<float2*>(to + 2 * head_width + hidden)[lane] = d;
    const float2 e = make_float2(d.x * weight.x, d.y * weight.y);
    const float mean = warp_sum(e.x + e.y) * (1.0F / head_width);
    const float slant = warp_sum(e.x * hat.x + e.y * hat.y) * (1.0F / head_width);
    const float root = kept[head_roots + 1];
    const float2 slope = reinterpret_cast<const float2*>(kept + head_slope)[lane];
    const float2 out = make_float2(root * (e.x - mean - hat.x * slant) * slope.x,
                                   root * (e.y - mean - hat.y * slant) * slope.y);
    reinterpret_cast<float2*>(to)[lane] = out;
    reinterpret_cast<Word*>(work.kept.d_head + static_cast<long long>(row) * head_width)[lane] =
        pack_bf16(out.x, out.y);
  }

  __device__ __forceinline__ void back_to_pooled(int window) {
    const Word row = blockIdx.x * plan.windows + window;
    const float* kept = head_kept(row);
    float* to = of_window(window);
    float4 d;
    float4 hat;
    const Mask drop = mask(head_mask(plan.layers, 0));
    float* at = to + head_width + lane * 4;
    const float2 first = drop.pair(row * hidden + lane * 4);
    const float2 second = drop.pair(row * hidden + lane * 4 + 2);
    d = make_float4(at[0] * first.x, at[1] * first.y, at[2] * second.x, at[3] * second.y);
    const float2* hats = reinterpret_cast<const float2*>(kept + head_hat) + lane * 2;
    hat = make_float4(hats[0].x, hats[0].y, hats[1].x, hats[1].y);
    float* norm = to + 3 * head_width + hidden + lane * 4;
    norm[0] = d.x * hat.x;
    norm[1] = d.y * hat.y;
    norm[2] = d.z * hat.z;
    norm[3] = d.w * hat.w;
    float* bias = norm + hidden;
    bias[0] = d.x;
    bias[1] = d.y;
    bias[2] = d.z;
    bias[3] = d.w;
    const float4 out = normed_gradient(d, hat, kept[head_roots], parameter(work.offsets.head_norm));
    at[0] = out.x;
    at[1] = out.y;
    at[2] = out.z;
    at[3] = out.w;
  }

  __device__ __forceinline__ float4 normed_gradient(const float4& d, const float4& hat, float root,
                                                    const float* weights) const {
    const float4 w = reinterpret_cast<const float4*>(weights)[lane];
    const float4 e = make_float4(d.x * w.x, d.y * w.y, d.z * w.z, d.w * w.w);
    const float mean = warp_sum(e.x + e.y + e.z + e.w) * (1.0F / hidden);
    const float slant = warp_sum(e.x * hat.x + e.y * hat.y + e.z * hat.z + e.w * hat.w) * (1.0F / hidden);
    return make_float4(root * (e.x - mean - hat.x * slant), root * (e.y - mean - hat.y * slant),
                       root * (e.z - mean - hat.z * slant), root * (e.w - mean - hat.w * slant));
  }

  // Gradients of the head that are sums over the block's windows.
  __device__ __forceinline__ void add_windows() {
    const auto sum_of = [&](int place) {
      float sum = 0;
      for (int window = 0; window < plan.windows; ++window) sum += of_window(window)[place];
      return sum;
    };
    for (int i = threadIdx.x; i < head_width; i += workers) {
      sums()[plan.head_bias() + i] = sum_of(i);
      sums()[plan.head_hidden_norm() + i] = sum_of(head_width + hidden + i);
      sums()[plan.head_hidden_norm() + head_width + i] = sum_of(2 * head_width + hidden + i);
    }
    for (int i = threadIdx.x; i < hidden; i += workers) {
      sums()[plan.head_norm() + i] = sum_of(3 * head_width + hidden + i);
      sums()[plan.head_norm() + hidden + i] = sum_of(3 * head_width + 2 * hidden + i);
    }
    for (int i = threadIdx.x; i < plan.outputs * (head_width + 1); i += workers) {
      const int output = i / (head_width + 1);
      const int input = i % (head_width + 1);
      float sum = 0;
      for (int window = 0; window < plan.windows; ++window) {
        const Word row = blockIdx.x * plan.windows + window;
        if (row >= static_cast<Word>(work.rows)) break;
        const float gradient = work.d_outputs[static_cast<long long>(row) * plan.outputs + output];
        sum += gradient * (input == head_width ? 1.0F : head_kept(row)[head_dropped + input]);
      }
      sums()[input == head_width ? plan.output_bias() + output
                                 : plan.output_weight() + output * head_width + input] = sum;
    }
  }

  // From y, the gradient of normed rows, to that of the rows: added to x, or in its place. The gradients of
  // weight and bias go to `to`.
  template <bool Adds>
  __device__ __forceinline__ void back_through_norm(const float* weights, const unsigned short* hats,
                                                    const float* roots, float* to) {
    float of_weight[4] = {0, 0, 0, 0};
    float of_bias[4] = {0, 0, 0, 0};
#pragma unroll
    for (int round = 0; round < (padded + worker_warps - 1) / worker_warps; ++round) {
      const int place = warp + round * worker_warps;
      if (place >= padded) break;
      const float4 d = reinterpret_cast<const float4*>(y() + place * wide_pitch)[lane];
      const long long row = first_row() + place;
      const uint2 two = reinterpret_cast<const uint2*>(hats + row * hidden)[lane];
      const float4 hat = make_float4(low_bf16(two.x), high_bf16(two.x), low_bf16(two.y), high_bf16(two.y));
      of_weight[0] = fmaf(d.x, hat.x, of_weight[0]);
      of_weight[1] = fmaf(d.y, hat.y, of_weight[1]);
      of_weight[2] = fmaf(d.z, hat.z, of_weight[2]);
      of_weight[3] = fmaf(d.w, hat.w, of_weight[3]);
      of_bias[0] += d.x;
      of_bias[1] += d.y;
      of_bias[2] += d.z;
      of_bias[3] += d.w;
      const float4 out = normed_gradient(d, hat, roots[row], weights);
      float4& at = reinterpret_cast<float4*>(x() + place * wide_pitch)[lane];
      if constexpr (Adds) {
        at = make_float4(at.x + out.x, at.y + out.y, at.z + out.z, at.w + out.w);
      } else {
        at = out;
      }
    }
    float4* parts = reinterpret_cast<float4*>(feed()) + warp * (norm_sums / 4) + lane;
    parts[0] = make_float4(of_weight[0], of_weight[1], of_weight[2], of_weight[3]);
    parts[hidden / 4] = make_float4(of_bias[0], of_bias[1], of_bias[2], of_bias[3]);
    wait_for_workers();
    if (threadIdx.x < 2 * hidden) {
      float sum = 0;
#pragma unroll
      for (int i = 0; i < worker_warps; ++i)
        sum += reinterpret_cast<const float*>(feed())[i * norm_sums + threadIdx.x];
      to[threadIdx.x] = sum;
    }
  }

  // narrow = x times the masks: the gradient of a product's result. Its sum over the tokens is that of the
  // bias.
  __device__ __forceinline__ void drop_gradient(const Mask& drop, unsigned short* kept, float* bias) {
    const int pair = threadIdx.x % (hidden / 2);
    constexpr int groups = workers / (hidden / 2);
    float2 sum = make_float2(0, 0);
    for (int place = threadIdx.x / (hidden / 2); place < padded; place += groups) {
      const float2 factor = drop.pair(token(place) * hidden + pair * 2);
      const float2 d = reinterpret_cast<const float2*>(x() + place * wide_pitch)[pair];
      const float2 out = make_float2(d.x * factor.x, d.y * factor.y);
      sum.x += out.x;
      sum.y += out.y;
      const Word packed = pack_bf16(out.x, out.y);
      reinterpret_cast<Word*>(narrow() + place * narrow_pitch)[pair] = packed;
      reinterpret_cast<Word*>(kept + static_cast<long long>(first_row() + place) * hidden)[pair] = packed;
    }
    float2* parts = reinterpret_cast<float2*>(y());
    parts[threadIdx.x] = sum;
    wait_for_workers();
    if (threadIdx.x < hidden) {
      float total = 0;
#pragma unroll
      for (int i = 0; i < groups; ++i) total += reinterpret_cast<const float*>(y())[i * hidden + threadIdx.x];
      bias[threadIdx.x] = total;
    }
  }

  __device__ __forceinline__ void add_columns(const char* rows, int pitch, float* to) const {
    if (threadIdx.x >= 3 * hidden / 2) return;
    float2 sum = make_float2(0, 0);
    for (int place = 0; place < plan.tokens(); ++place) {
      const Word two = reinterpret_cast<const Word*>(rows + place * pitch)[threadIdx.x];
      sum.x += low_bf16(two);
      sum.y += high_bf16(two);
    }
    to[threadIdx.x * 2] = sum.x;
    to[threadIdx.x * 2 + 1] = sum.y;
  }

  // feed = W2^T narrow, times the slopes that the forward pass kept.
  __device__ __forceinline__ void back_through_feed2(const unsigned* slopes, float* bias) {
    constexpr int each = plan.feed_tiles() / worker_warps;
    float gradient[each][tiles][4];
#pragma unroll
    for (int m = 0; m < each; ++m) clear(gradient[m]);
    const Word rows = shared_address(narrow());
#pragma unroll 1
    for (int chunk = 0; chunk < feed2_chunks; ++chunk) {
      const uint4* weights = taker.wait();
#pragma unroll
      for (int step = 0; step < feed2_steps; ++step) {
        TokenTiles<tiles> b;
        b.load(rows, narrow_pitch, (chunk * feed2_steps + step) * 16);
#pragma unroll
        for (int m = 0; m < each; ++m)
          accumulate(gradient[m], weights[(step * plan.feed_tiles() + warp * each + m) * 32 + lane], b);
      }
      taker.release();
    }
#pragma unroll
    for (int m = 0; m < each; ++m) {
      const int tile = warp * each + m;
      const uint2* slope = reinterpret_cast<const uint2*>(slopes) +
                           (static_cast<long long>(blockIdx.x) * plan.feed_tiles() + tile) * tiles * 32 +
                           lane;
      float low = 0;
      float high = 0;
#pragma unroll
      for (int i = 0; i < tiles; ++i) {
        const uint2 s = slope[i * 32];
        gradient[m][i][0] *= low_bf16(s.x);
        gradient[m][i][1] *= high_bf16(s.x);
        gradient[m][i][2] *= low_bf16(s.y);
        gradient[m][i][3] *= high_bf16(s.y);
        low += gradient[m][i][0] + gradient[m][i][1];
        high += gradient[m][i][2] + gradient[m][i][3];
      }
      low = quad_sum(low);
      high = quad_sum(high);
      if (lane % 4 == 0) {
        bias[tile * 16 + lane / 4] = low;
        bias[tile * 16 + lane / 4 + 8] = high;
      }
      store_tokens(gradient[m], shared_address(feed()), feed_pitch<Net>, tile * 16);
    }
  }

  // y = W^T rows, in fp32.
  template <int Chunks, int Steps>
  __device__ __forceinline__ void half_of_input(const char* rows, int pitch) {
    float gradient[tiles][4];
    clear(gradient);
    half_product<Chunks, Steps>(gradient, rows, pitch);
    if (!join_halves(gradient, qkv())) return;
    const int feature = warp * 16 + lane / 4;
#pragma unroll
    for (int i = 0; i < tiles; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j)
        y()[(i * 8 + (lane % 4) * 2 + j % 2) * wide_pitch + feature + (j / 2) * 8] = gradient[i][j];
  }

  // The gradient of the context, into rows of bfloat16 where y lies: a head's two warps share its tokens.
  __device__ __forceinline__ void back_through_out() {
    constexpr int half_tiles = (tiles + 1) / 2;
    const int head = warp / 2;
    const int first = (warp % 2) * half_tiles;
    float gradient[half_tiles][4];
    clear(gradient);
    const Word rows = shared_address(narrow() + first * 8 * narrow_pitch);
    const uint4* weights = taker.wait();
#pragma unroll
    for (int step = 0; step < 8; ++step) {
      TokenTiles<half_tiles> b;  // one tile more than there is at the end of an odd number: it is not stored
      b.load(rows, narrow_pitch, step * 16);
      accumulate(gradient, weights[(step * heads + head) * 32 + lane], b);
    }
    taker.release();
    const Word to = shared_address(reinterpret_cast<char*>(y()) + first * 8 * narrow_pitch);
    if (first + half_tiles <= tiles) {
      store_tokens(gradient, to, narrow_pitch, head * head_size);
    } else if constexpr (half_tiles > 1) {
      float fewer[half_tiles - 1][4];
#pragma unroll
      for (int i = 0; i + 1 < half_tiles; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) fewer[i][j] = gradient[i][j];
      store_tokens(fewer, to, narrow_pitch, head * head_size);
    }
  }

  __device__ __forceinline__ void back_through_attention(int layer) {
    const int head = warp / 2;
    for (int window = warp % 2; window < plan.windows; window += 2) {
      const Word row = blockIdx.x * plan.windows + window;
      const AttentionHead<plan.length> at{shared_address(qkv()), window * plan.length, head, lane, padded};
      at.backward(mask(layer_mask(layer, 0)), (row * heads + head) * plan.length * plan.length,
                  shared_address(y()), narrow_pitch, feed(), qkv_pitch);
    }
    for (int i = threadIdx.x; i < (padded - plan.tokens()) * (3 * hidden / 2); i += workers)
      *reinterpret_cast<Word*>(feed() + (plan.tokens() + i / (3 * hidden / 2)) * qkv_pitch +
                               (i % (3 * hidden / 2)) * 4) = 0;
  }

  // The input layer: its norm, and the gradient of its product.
  __device__ __forceinline__ void enter() {
    const Mask drop = mask(input_mask);
    for (int i = threadIdx.x; i < padded * (hidden / 2); i += workers) {
      const int place = i / (hidden / 2);
      const int pair = i % (hidden / 2);
      const float2 factor = drop.pair(token(place) * hidden + pair * 2);
      const float2 d = reinterpret_cast<const float2*>(x() + place * wide_pitch)[pair];
      reinterpret_cast<float2*>(y() + place * wide_pitch)[pair] =
          place < plan.tokens() ? make_float2(d.x * factor.x, d.y * factor.y) : make_float2(0, 0);
    }
    wait_for_workers();
    back_through_norm<false>(parameter(work.offsets.input_norm), work.kept.hat0, work.kept.root0,
                             sums() + plan.input_norm());
    wait_for_workers();
    const Mask none{{0, 0}, 0, 1};
    drop_gradient(none, work.kept.d_input, sums() + plan.input_bias());
  }
};

}  // namespace stoker::fused::sequence
