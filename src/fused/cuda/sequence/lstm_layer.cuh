#pragma once

#include "fused/cuda/sequence/lstm_plan.h"
#include "fused/cuda/sequence/token_block.cuh"

// A layer of an LSTM. A fragment of 16 rows holds two gates of eight units: input and forget gates in the
// first, cell and output gates in the second, so that a lane has all four gates of a unit in two windows.
namespace stoker::fused::sequence {

__device__ __forceinline__ Mask mask_of(const LstmWork& work, int layer, float probability) {
  const float p = work.trains ? probability : 0.0F;
  return {dropout_key(work.seed, work.step == nullptr ? 0 : static_cast<std::uint64_t>(*work.step),
                      static_cast<Word>(layer)),
          dropout_threshold(p), 1.0F / (1.0F - p)};
}

// The row of the gates' matrix at a fragment's row.
__device__ __forceinline__ int gate_row(int tile, int warp, int row) {
  return (tile * 2 + row / 8) * units + warp * 8 + row % 8;
}

// before = W x + b for all moments of eight windows; blockIdx.y is direction and tile.
template <class Net, int Columns>
struct LstmProjection {
  static constexpr auto plan = Net::plan;
  static constexpr int steps = Columns / 16;
  static constexpr int pitch = (Columns + 8) * 2;

  const LstmWork& work;
  int layer;
  char* memory;
  int lane = threadIdx.x % 32;
  int warp = threadIdx.x / 32;

  __device__ __forceinline__ void run() {
    const int direction = blockIdx.y / 2;
    const int tile = blockIdx.y % 2;
    const LstmLayerRows& at = work.layers[layer];
    uint4 weights[steps];
    const uint4* from = at.input_weights + ((blockIdx.y * 16 + warp) * steps) * 32 + lane;
#pragma unroll
    for (int i = 0; i < steps; ++i) weights[i] = from[i * 32];
    const LstmDirectionOffsets& offsets = work.offsets.layers[layer][direction];
    const int low_row = gate_row(tile, warp, lane / 4);
    const int high_row = low_row + units;
    const float low =
        work.parameters[offsets.input_bias + low_row] + work.parameters[offsets.recurrent_bias + low_row];
    const float high =
        work.parameters[offsets.input_bias + high_row] + work.parameters[offsets.recurrent_bias + high_row];
    const Word rows = shared_address(memory);
    for (int first = 0; first < plan.length; first += project_moments) {
      const int count = min(project_moments, plan.length - first);
      if (first > 0) __syncthreads();
      read_rows(first, count);
      __syncthreads();
      for (int t = 0; t < count; ++t) {
        float sums[2][4] = {{low, low, high, high}, {0, 0, 0, 0}};
        const Word of_moment = rows + t * group_rows * pitch;
#pragma unroll
        for (int k = 0; k < steps; k += 2) {
          Word four[4];
          load_matrices(four, of_moment + (lane & 7) * pitch + (k * 16 + (lane >> 3) * 8) * 2);
          multiply_add_bf16(sums[0], weights[k], four[0], four[1]);
          if (k + 1 < steps) multiply_add_bf16(sums[1], weights[k + 1], four[2], four[3]);
        }
        const long long place = ((blockIdx.x * 2 + direction) * plan.length + first + t) * 16 + warp;
        at.before[(place * 2 + tile) * 32 + lane] =
            make_float4(sums[0][0] + sums[1][0], sums[0][1] + sums[1][1], sums[0][2] + sums[1][2],
                        sums[0][3] + sums[1][3]);
      }
    }
  }

 private:
  __device__ __forceinline__ void read_rows(int first, int count) {
    const long long row = (static_cast<long long>(blockIdx.x) * plan.length + first) * group_rows;
    if (layer == 0) {
      for (int i = warp; i < count * group_rows; i += 16)
        norm_inputs(blockIdx.x * group_rows + i % group_rows, first + i / group_rows, row + i,
                    memory + i * pitch);
      return;
    }
    const uint4* from = reinterpret_cast<const uint4*>(work.layers[layer - 1].out + row * both);
    for (int i = threadIdx.x; i < count * group_rows * (both / 8); i += workers)
      *reinterpret_cast<uint4*>(memory + (i / (both / 8)) * pitch + (i % (both / 8)) * 16) = from[i];
  }

  // One moment of one window, by a warp.
  __device__ __forceinline__ void norm_inputs(int window, int moment, long long row, char* to) {
    constexpr int each = (Columns + 31) / 32;
    const float* from = work.windows + (static_cast<long long>(window) * plan.length + moment) * plan.columns;
    float values[each];
    float sum = 0;
#pragma unroll
    for (int i = 0; i < each; ++i) {
      const int column = lane + i * 32;
      values[i] = column < plan.columns && window < work.rows ? from[column] : 0.0F;
      sum += values[i];
    }
    const float mean = warp_sum(sum) / plan.columns;
    sum = 0;
#pragma unroll
    for (int i = 0; i < each; ++i) {
      values[i] = lane + i * 32 < plan.columns ? values[i] - mean : 0.0F;
      sum += values[i] * values[i];
    }
    const float root = rsqrtf(warp_sum(sum) / plan.columns + norm_epsilon);
#pragma unroll
    for (int i = 0; i < each; ++i) {
      const int column = lane + i * 32;
      if (column >= Columns) continue;
      const float hat = values[i] * root;
      const bool is_there = column < plan.columns;
      const float normed = is_there ? fmaf(hat, work.parameters[work.offsets.input_norm + column],
                                           work.parameters[work.offsets.input_norm_bias + column])
                                    : 0.0F;
      reinterpret_cast<Half*>(to)[column] = static_cast<Half>(pack_bf16(normed, 0));
      if (work.trains && blockIdx.y == 0)
        work.input_hat[row * Columns + column] = static_cast<Half>(pack_bf16(hat, 0));
    }
  }
};

__device__ __forceinline__ float sigmoid(float x) {
  return __fdividef(1.0F, 1.0F + __expf(-x));
}
// By the exponential function: the instruction for tanh is good for ten bits only.
__device__ __forceinline__ float hyperbolic(float x) {
  const float e = __expf(-2.0F * fabsf(x));
  return copysignf(__fdividef(1.0F - e, 1.0F + e), x);
}

// Eight windows through all moments; blockIdx.y is the direction.
template <class Net>
__device__ __forceinline__ void recur(const LstmWork& work, int layer, char* memory) {
  constexpr auto plan = Net::plan;
  const LstmLayerRows& at = work.layers[layer];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int direction = blockIdx.y;
  uint4 weights[2][8];
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int k = 0; k < 8; ++k)
      weights[i][k] = at.recurrent_weights[(((direction * 16 + warp) * 2 + i) * 8 + k) * 32 + lane];
  for (int i = threadIdx.x; i < recur_bytes / 4; i += workers) reinterpret_cast<Word*>(memory)[i] = 0;
  const bool drops = layer + 1 < plan.layers;
  const Mask drop = mask_of(work, layer, drops ? work.dropout : 0.0F);
  float cells[2] = {0, 0};
  const long long block = blockIdx.x * 2 + direction;
  const auto moment_of = [&](int step) { return direction == 0 ? step : plan.length - 1 - step; };
  const float4* before = at.before + (block * plan.length * 16 + warp) * 64 + lane;
  float4 next[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) next[i] = before[moment_of(0) * 16 * 64 + i * 32];
  __syncthreads();
#pragma unroll 1
  for (int step = 0; step < plan.length; ++step) {
    const int moment = moment_of(step);
    float sums[2][2][4];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      sums[i][0][0] = next[i].x;
      sums[i][0][1] = next[i].y;
      sums[i][0][2] = next[i].z;
      sums[i][0][3] = next[i].w;
#pragma unroll
      for (int j = 0; j < 4; ++j) sums[i][1][j] = 0;
    }
    if (step + 1 < plan.length) {
#pragma unroll
      for (int i = 0; i < 2; ++i) next[i] = before[moment_of(step + 1) * 16 * 64 + i * 32];
    }
    const Word state = shared_address(memory + (step & 1) * group_rows * state_pitch);
#pragma unroll
    for (int k = 0; k < 8; k += 2) {
      Word four[4];
      load_matrices(four, state + (lane & 7) * state_pitch + (k * 16 + (lane >> 3) * 8) * 2);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        multiply_add_bf16(sums[i][0], weights[i][k], four[0], four[1]);
        multiply_add_bf16(sums[i][1], weights[i][k + 1], four[2], four[3]);
      }
    }
    char* after = memory + ((step + 1) & 1) * group_rows * state_pitch;
    float gate[4][2];
#pragma unroll
    for (int w = 0; w < 2; ++w) {
      gate[0][w] = sigmoid(sums[0][0][w] + sums[0][1][w]);
      gate[1][w] = sigmoid(sums[0][0][2 + w] + sums[0][1][2 + w]);
      gate[2][w] = hyperbolic(sums[1][0][w] + sums[1][1][w]);
      gate[3][w] = sigmoid(sums[1][0][2 + w] + sums[1][1][2 + w]);
      cells[w] = fmaf(gate[1][w], cells[w], gate[0][w] * gate[2][w]);
      const float h = gate[3][w] * hyperbolic(cells[w]);
      *reinterpret_cast<Half*>(after + ((lane % 4) * 2 + w) * state_pitch + (warp * 8 + lane / 4) * 2) =
          static_cast<Half>(pack_bf16(h, 0));
    }
    if (work.trains) {
      const long long place = ((block * plan.length + moment) * 16 + warp) * 32 + lane;
      at.gates[place] = make_uint4(pack_bf16(gate[0][0], gate[0][1]), pack_bf16(gate[1][0], gate[1][1]),
                                   pack_bf16(gate[2][0], gate[2][1]), pack_bf16(gate[3][0], gate[3][1]));
      at.cells[place] = make_float2(cells[0], cells[1]);
    }
    __syncthreads();
    // The state leaves for others: 16 bytes a thread.
    if (threadIdx.x < 256) {
      const int i = threadIdx.x % 128;
      const int row = i / 16;
      const int column = (i % 16) * 8;
      uint4 eight = *reinterpret_cast<const uint4*>(after + row * state_pitch + column * 2);
      const long long group = static_cast<long long>(blockIdx.x) * plan.length;
      if (threadIdx.x < 128) {
        const Word first =
            ((blockIdx.x * group_rows + row) * plan.length + moment) * both + direction * units + column;
        if (drop.threshold != 0) {
          Word* pairs = &eight.x;
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            const float2 factors = drop.pair(first + j * 2);
            pairs[j] = pack_bf16(low_bf16(pairs[j]) * factors.x, high_bf16(pairs[j]) * factors.y);
          }
        }
        *reinterpret_cast<uint4*>(at.out + ((group + moment) * group_rows + row) * both + direction * units +
                                  column) = eight;
      } else if (work.trains && step + 1 < plan.length) {
        *reinterpret_cast<uint4*>(at.previous[direction] +
                                  ((group + moment_of(step + 1)) * group_rows + row) * units + column) =
            eight;
      }
    }
  }
}

template <class Net>
__device__ __forceinline__ void recur_back(const LstmWork& work, int layer, char* memory) {
  constexpr auto plan = Net::plan;
  const LstmLayerRows& at = work.layers[layer];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int direction = blockIdx.y;
  // Half of the gates for sixteen units; the neighbouring warp has the other half.
  uint4 weights[16];
#pragma unroll
  for (int k = 0; k < 16; ++k) weights[k] = at.recurrent_back[((direction * 16 + warp) * 16 + k) * 32 + lane];
  float2* exchanged = reinterpret_cast<float2*>(memory + 2 * group_rows * gates_pitch);
  const long long block = blockIdx.x * 2 + direction;
  const long long group = static_cast<long long>(blockIdx.x) * plan.length;
  const auto moment_of = [&](int step) { return direction == 0 ? step : plan.length - 1 - step; };
  const auto place_of = [&](int step) {
    return ((block * plan.length + moment_of(step)) * 16 + warp) * 32 + lane;
  };
  const int unit = direction * units + warp * 8 + lane / 4;
  const auto d_out = [&](int step, int window) {
    return at.d_out[((group + moment_of(step)) * group_rows + (lane % 4) * 2 + window) * both + unit];
  };
  float d_state[2] = {0, 0};  // what later moments say
  float d_cell[2] = {0, 0};
  float bias[4] = {0, 0, 0, 0};
  uint4 kept = at.gates[place_of(plan.length - 1)];
  float2 cell = at.cells[place_of(plan.length - 1)];
  float from_above[2] = {d_out(plan.length - 1, 0), d_out(plan.length - 1, 1)};
#pragma unroll 1
  for (int step = plan.length - 1; step >= 0; --step) {
    const float2 earlier = step > 0 ? at.cells[place_of(step - 1)] : make_float2(0, 0);
    const uint4 next_kept = step > 0 ? at.gates[place_of(step - 1)] : kept;
    float next_above[2] = {0, 0};
    if (step > 0) {
      next_above[0] = d_out(step - 1, 0);
      next_above[1] = d_out(step - 1, 1);
    }
    char* buffer = memory + (step & 1) * group_rows * gates_pitch;
#pragma unroll
    for (int w = 0; w < 2; ++w) {
      const float i = w == 0 ? low_bf16(kept.x) : high_bf16(kept.x);
      const float f = w == 0 ? low_bf16(kept.y) : high_bf16(kept.y);
      const float g = w == 0 ? low_bf16(kept.z) : high_bf16(kept.z);
      const float o = w == 0 ? low_bf16(kept.w) : high_bf16(kept.w);
      const float c = hyperbolic(w == 0 ? cell.x : cell.y);
      const float before = w == 0 ? earlier.x : earlier.y;
      const float dh = from_above[w] + d_state[w];
      const float dc = fmaf(dh * o, 1.0F - c * c, d_cell[w]);
      const float d[4] = {dc * g * i * (1.0F - i), dc * before * f * (1.0F - f), dc * i * (1.0F - g * g),
                          dh * c * o * (1.0F - o)};
      d_cell[w] = dc * f;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        bias[j] += d[j];
        *reinterpret_cast<Half*>(buffer + ((lane % 4) * 2 + w) * gates_pitch +
                                 (j * units + warp * 8 + lane / 4) * 2) =
            static_cast<Half>(pack_bf16(d[j], 0));
      }
    }
    kept = next_kept;
    cell = earlier;
    from_above[0] = next_above[0];
    from_above[1] = next_above[1];
    __syncthreads();
    {
      const int row = threadIdx.x / 64;
      const int column = (threadIdx.x % 64) * 8;
      *reinterpret_cast<uint4*>(at.d_gates + ((group + moment_of(step)) * group_rows + row) * (2 * gates) +
                                direction * gates + column) =
          *reinterpret_cast<const uint4*>(buffer + row * gates_pitch + column * 2);
    }
    float sums[2][4];
    clear(sums);
    const Word rows =
        shared_address(buffer) + (lane & 7) * gates_pitch + ((warp % 2) * 256 + (lane >> 3) * 8) * 2;
#pragma unroll
    for (int k = 0; k < 16; k += 2) {
      Word four[4];
      load_matrices(four, rows + k * 32);
      multiply_add_bf16(sums[0], weights[k], four[0], four[1]);
      multiply_add_bf16(sums[1], weights[k + 1], four[2], four[3]);
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) sums[0][j] += sums[1][j];
    // The first warp of a pair has the lower eight units, the second the upper ones.
    const bool is_first = warp % 2 == 0;
    exchanged[warp * 32 + lane] =
        is_first ? make_float2(sums[0][2], sums[0][3]) : make_float2(sums[0][0], sums[0][1]);
    wait_for_partner(warp / 2);
    const float2 other = exchanged[(warp ^ 1) * 32 + lane];
    d_state[0] = (is_first ? sums[0][0] : sums[0][2]) + other.x;
    d_state[1] = (is_first ? sums[0][1] : sums[0][3]) + other.y;
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const float sum = quad_sum(bias[j]);
    if (lane % 4 == 0) at.sums[block * gates + j * units + warp * 8 + lane / 4] = sum;
  }
}

// From the gates' gradients to those of the layer before: d_out of it, with its dropout.
template <class Net>
struct LstmBack : TokenBlock<back_tiles> {
  static constexpr auto plan = Net::plan;
  static constexpr int pitch = back_pitch;
  static constexpr int rows_at = ring_stages * stage_bytes;

  const LstmWork& work;
  int layer;  // that the gradients are of
  char* memory;

  __device__ __forceinline__ LstmBack(char* shared, const LstmWork& given, int of_layer)
      : TokenBlock<back_tiles>({reinterpret_cast<Barriers*>(shared + back_barriers), shared, {}}),
        work(given),
        layer(of_layer),
        memory(shared) {}

  static __device__ void ask(Asker asker) { asker.ask(16, 32768); }

  __device__ __forceinline__ void run() {
    const int all = (work.rows + group_rows - 1) / group_rows * plan.length;  // tiles of eight rows
    const int first = blockIdx.x * back_tiles;
    const uint4* from = reinterpret_cast<const uint4*>(
        work.layers[layer].d_gates + static_cast<long long>(first) * group_rows * 2 * gates);
    const int count = min(back_tiles, all - first) * group_rows;
    for (int i = threadIdx.x; i < back_tiles * 8 * (2 * gates / 8); i += workers) {
      const int row = i / (2 * gates / 8);
      *reinterpret_cast<uint4*>(memory + rows_at + row * pitch + (i % (2 * gates / 8)) * 16) =
          row < count ? from[i] : make_uint4(0, 0, 0, 0);
    }
    wait_for_workers();
    float sums[back_tiles][4];
    clear(sums);
    const Word rows = shared_address(memory + rows_at);
#pragma unroll 1
    for (int chunk = 0; chunk < 16; ++chunk) {
      const uint4* weights = taker.wait();
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        TokenTiles<back_tiles> b;
        b.load(rows, pitch, (chunk * 4 + step) * 16);
        accumulate(sums, weights[(step * worker_warps + warp) * 32 + lane], b);
      }
      taker.release();
    }
    const Mask drop = mask_of(work, layer - 1, work.dropout);
    const int feature = warp * 16 + lane / 4;
    float* to = work.layers[layer - 1].d_out;
#pragma unroll
    for (int i = 0; i < back_tiles; ++i) {
      const int tile = first + i;
      if (tile >= all) break;
      const int moment = tile % plan.length;
      const Word window = tile / plan.length * group_rows + (lane % 4) * 2;
      float factors[4];
      drop.four(factors, (window * plan.length + moment) * both + feature, plan.length * both);
#pragma unroll
      for (int j = 0; j < 4; ++j)
        to[(static_cast<long long>(tile) * group_rows + (lane % 4) * 2 + j % 2) * both + feature +
           (j / 2) * 8] = sums[i][j] * factors[j];
    }
  }
};

}  // namespace stoker::fused::sequence
