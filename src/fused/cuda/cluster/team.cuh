#pragma once

#include "fused/cuda/one_block/block.cuh"
#include "fused/cuda/one_block/block_backward.cuh"
#include "fused/cuda/one_block/block_data.cuh"
#include "fused/cuda/one_block/block_forward.cuh"

// Larger batches: the blocks of a cluster share a batch, 32 rows (times passes) each, and every block has all
// weights as fp16. After the backward pass each block owns a share of the tiles: it adds up that share of all
// blocks' gradients out of their shared memory, updates it and lays the new weights out for the others to
// fetch. Biases are few: every block updates all of them. Several clusters meet in device memory for one
// exchange of sums. The order of all additions is fixed. Data only ever moves by reading another block's
// memory, so that a cluster's barrier needs to order nothing but a block's own shared memory.
namespace stoker::fused {

template <class Net>
struct Team : Block<Net, Team<Net>> {
  using Base = Block<Net, Team<Net>>;
  static constexpr Plan P = Net::plan;
  static constexpr bool has_second = P.optimizer != number::sgd;
  static constexpr int size = P.team;
  using Base::base, Base::block, Base::factors, Base::floats, Base::group, Base::lane, Base::pair,
      Base::passes, Base::shared, Base::thread, Base::warp, Base::work;

  // Where four parameters belong: in the flat order, and in shared memory.
  struct Place {
    int flat;
    int second;  // flat distance of the third and fourth; 2 for a vector
    int to;
    int to_second;  // bytes; 0 for a vector
  };

  int rank;     // of the block in its cluster
  int cluster;  // of the model's clusters
  float4 w[P.thread_share()], m[P.thread_share()], v[P.thread_share()];
  Place places[P.thread_share()];
  bool adds = false;  // to the gradients of an earlier pass

  __device__ __forceinline__ Team(const ModelWork& of, char* memory) : Base(of, memory) {
    const int blocks = work.clusters * size;
    block = static_cast<int>(blockIdx.x) % blocks;
    passes = work.passes;
    rank = block % size;
    cluster = block / size;
  }

  // ---- gradients, four by four: those of a tile as its lanes hold them, then the vectors
  __device__ __forceinline__ void add(float& at, float value) const { at = adds ? at + value : value; }
  template <int L>
  __device__ __forceinline__ void settle_tile(int, int tile_row, int tile_column, const float (&c)[4], int) {
    float4& at = reinterpret_cast<float4*>(
        shared + P.gradients_at())[(P.tile_first(L) + tile_row * P.columns(L) + tile_column) * 32 + lane];
    at = adds ? make_float4(at.x + c[0], at.y + c[1], at.z + c[2], at.w + c[3])
              : make_float4(c[0], c[1], c[2], c[3]);
  }
  template <int L>
  __device__ __forceinline__ void settle_bias(int column, float one, float other) {
    float* at = floats(P.gradients_at()) + P.vector_first(L) * 4 + column;
    add(at[0], one);
    add(at[1], other);
  }
  __device__ __forceinline__ void settle_output(int row, float one, float other) {
    float* at = floats(P.gradients_at()) + P.vector_first(P.layers) * 4 + row;
    add(at[0], one);
    add(at[8], other);
  }
  __device__ __forceinline__ void first_operand(Word (&b)[2], int, int k, int tile_column) const {
    load_transposed(
        b, this->template down<P.w_stride(0)>() + P.w_at(0) + k * 16 * P.w_stride(0) * 2 + tile_column * 16);
  }

  template <int L>
  __device__ __forceinline__ static Place place_in(int four) {
    if constexpr (L < P.matrices()) {
      constexpr int first = P.tile_first(L) * 32, count = P.tiles(L) * 32;
      if (four >= first + count) return place_in<L + 1>(four);
      const int tile = (four - first) / 32, of_lane = (four - first) % 32;
      const int row = tile / P.columns(L) * 16 + of_lane / 4,
                column = tile % P.columns(L) * 8 + of_lane % 4 * 2;
      return {P.matrix_at(L) + row * P.breadth(L) + column, 8 * P.breadth(L),
              P.w_at(L) + (row * P.w_stride(L) + column) * 2, 8 * P.w_stride(L) * 2};
    } else {
      return vector_place<1>(four);
    }
  }
  template <int L>
  __device__ __forceinline__ static Place vector_place(int four) {
    if constexpr (L < P.layers) {
      if (four >= P.vector_first(L + 1)) return vector_place<L + 1>(four);
      const int at = (four - P.vector_first(L)) * 4;
      return {P.bias_at(L) + at, 2, P.b_at(L) + at * 4, 0};
    } else {
      const int at = (four - P.vector_first(P.layers)) * 4;
      return {P.matrix_at(P.hidden()) + at, 2, P.out_weights_at() + at * 4, 0};
    }
  }
  __device__ __forceinline__ static Place place(int four) { return place_in<0>(four); }

  // This thread's fours: of the block's share of the tiles, and behind it of the vectors.
  template <class Visit>
  __device__ __forceinline__ void each_four(Visit&& visit) {
#pragma unroll
    for (int i = 0; i < P.thread_share(); ++i) {
      const int within = thread + i * threads;
      if (within < P.share()) {
        const int four = rank * P.share() + within;
        if (four < P.tile_fours()) visit(i, within, four);
      } else if (within < P.share() + P.vector_fours()) {
        visit(i, within, P.tile_fours() + within - P.share());
      }
    }
  }
  __device__ __forceinline__ static float4 fetched(const float* from, const Place& at) {
    return make_float4(from[at.flat], from[at.flat + 1], from[at.flat + at.second],
                       from[at.flat + at.second + 1]);
  }
  __device__ __forceinline__ static void stored(float* to, const Place& at, const float4& value) {
    to[at.flat] = value.x, to[at.flat + 1] = value.y;
    to[at.flat + at.second] = value.z, to[at.flat + at.second + 1] = value.w;
  }

  __device__ __forceinline__ void load_state() {
    this->clear_shared();
    this->template fill_shared<0>();
    this->template each_vector<1>([&](int from, int to, int count, int) {
      for (int i = thread; i < count; i += threads) floats(to)[i] = work.parameters[from + i];
    });
    each_four([&](int i, int, int four) {
      const Place at = places[i] = place(four);
      w[i] = fetched(work.parameters, at);
      m[i] = fetched(work.first_moment, at);
      if constexpr (has_second) v[i] = fetched(work.second_moment, at);
    });
    for (int i = thread; i < rows; i += threads)
      reinterpret_cast<double*>(shared + P.sums_at())[i] = work.row_sums[block * rows + i];
  }
  __device__ __forceinline__ void save_state() {
    // All clusters hold the same; all have read the state before the first exchange.
    if (cluster == 0) {
      each_four([&](int i, int, int) {
        const Place at = places[i];
        stored(work.parameters, at, w[i]);
        stored(work.first_moment, at, m[i]);
        if constexpr (has_second) stored(work.second_moment, at, v[i]);
      });
    }
    for (int i = thread; i < rows; i += threads)
      work.row_sums[block * rows + i] = reinterpret_cast<const double*>(shared + P.sums_at())[i];
  }

  // ---- the exchange
  static constexpr int slots = P.share() + P.vector_fours();  // of a block
  __device__ __forceinline__ float4* meeting(int step, int of_cluster) const {
    return work.exchange +
           static_cast<std::int64_t>((step & 1) * work.clusters + of_cluster) * (slots * size) + rank * slots;
  }
  __device__ __forceinline__ void add_clusters(float4 (&sums)[P.thread_share()], int step) {
    float4* mine = meeting(step, cluster);
    each_four([&](int i, int within, int) { __stcg(mine + within, sums[i]); });
    __threadfence();
    __syncthreads();
    if (thread == 0) {
      const Word wanted = static_cast<Word>(work.clusters) * static_cast<Word>(step + 1);
      announce(work.arrivals + rank);
      while (announced(work.arrivals + rank) < wanted) {
      }
    }
    __syncthreads();
    const float4* all = meeting(step, 0);
    each_four([&](int i, int within, int) {
      float4 sum = make_float4(0, 0, 0, 0);
      // Eight at a time on their way; the order of the additions stays that of the clusters.
      for (int first = 0; first < work.clusters; first += 8) {
        float4 parts[8];
#pragma unroll
        for (int k = 0; k < 8; ++k)
          parts[k] = first + k < work.clusters
                         ? __ldcg(all + static_cast<std::int64_t>(first + k) * (slots * size) + within)
                         : make_float4(0, 0, 0, 0);
#pragma unroll
        for (int k = 0; k < 8; ++k)
          sum.x += parts[k].x, sum.y += parts[k].y, sum.z += parts[k].z, sum.w += parts[k].w;
      }
      sums[i] = sum;
    });
  }

  // As torch.nn.utils.clip_grad_norm_: the factor for all gradients.
  __device__ __forceinline__ float clip_factor(const float4 (&sums)[P.thread_share()]) {
    float squares = 0;
    each_four([&](int i, int within, int) {
      // The vectors, which all blocks have, are counted by the first.
      if (within < P.share() || rank == 0)
        squares +=
            sums[i].x * sums[i].x + sums[i].y * sums[i].y + sums[i].z * sums[i].z + sums[i].w * sums[i].w;
    });
#pragma unroll
    for (int away = 16; away > 0; away /= 2) squares += __shfl_xor_sync(~0U, squares, away);
    float* norms = floats(P.norms_at());
    if (lane == 0) norms[4 + warp] = squares;
    __syncthreads();
    if (thread == 0) {
      float sum = 0;
      for (int i = 0; i < warps; ++i) sum += norms[4 + i];
      norms[0] = sum;
    }
    wait_for_cluster();
    float total = 0;
#pragma unroll
    for (int i = 0; i < size; ++i) total += load_from_block(base + P.norms_at(), i).x;
    const float norm = sqrtf(total) * factors.unscale;
    return fminf(1.0F, work.max_grad_norm / (norm + 1e-6F));
  }

  __device__ __forceinline__ void exchange(int step) {
    wait_for_cluster();
    float4 sums[P.thread_share()];
    each_four([&](int i, int, int four) {
      float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll
      for (int other = 0; other < size; ++other) {
        const float4 part = load_from_block(base + P.gradients_at() + four * 16, other);
        sum.x += part.x, sum.y += part.y, sum.z += part.z, sum.w += part.w;
      }
      sums[i] = sum;
    });
    if (work.clusters > 1) add_clusters(sums, step);
    float factor = 1;
    if (work.max_grad_norm > 0) factor = clip_factor(sums);
    // Two outboxes in turn: a slower block may still fetch from the last one.
    const int outbox = P.outbox_at() + (step & 1) * P.share() * 8;
    each_four([&](int i, int within, int) {
      update<Net>(w[i].x, m[i].x, v[i].x, sums[i].x * factor, factors);
      update<Net>(w[i].y, m[i].y, v[i].y, sums[i].y * factor, factors);
      update<Net>(w[i].z, m[i].z, v[i].z, sums[i].z * factor, factors);
      update<Net>(w[i].w, m[i].w, v[i].w, sums[i].w * factor, factors);
      if (within < P.share())
        reinterpret_cast<uint2*>(shared + outbox)[within] =
            make_uint2(pack(w[i].x, w[i].y), pack(w[i].z, w[i].w));
      else
        *reinterpret_cast<float4*>(shared + places[i].to) = w[i];
    });
    wait_for_cluster();
    constexpr int rounds = divide_up(P.tile_fours(), threads);
    uint2 fresh[rounds];
#pragma unroll
    for (int round = 0; round < rounds; ++round) {
      const int four = thread + round * threads;
      if (four < P.tile_fours())
        fresh[round] = load_pair_from_block(base + outbox + four % P.share() * 8, four / P.share());
    }
#pragma unroll
    for (int round = 0; round < rounds; ++round) {
      const int four = thread + round * threads;
      if (four >= P.tile_fours()) continue;
      const Place at = place(four);
      *reinterpret_cast<Word*>(shared + at.to) = fresh[round].x;
      *reinterpret_cast<Word*>(shared + at.to + at.to_second) = fresh[round].y;
    }
    __syncthreads();
  }

  __device__ __forceinline__ void run() {
    load_state();
    this->take_settings();
    this->begin();
    const int last_pass = passes - 1;
#pragma unroll 1
    for (int step = 0; step < work.steps * passes; ++step) {
      if (step > 0) {
        this->take_masks(step);
        this->forward_first(step);
        __syncthreads();
      }
      this->template forward_up_to_last<2>(step);
      this->output(step);
      __syncthreads();
      adds = this->pass_of(step) > 0;
      this->template deltas_from<P.top() - 1>(step);
      this->delta_first(step);
      this->gradient_first(step);
      this->template gradients_up_from<1>(step);
      if (this->pass_of(step) == last_pass) {
        this->take_factors(step);
        exchange(this->step_of(step));
      } else {
        __syncthreads();
      }
    }
    save_state();
    wait_for_cluster();
  }
};

}  // namespace stoker::fused
