#pragma once

#include "fused/cuda/experts/products.cuh"
#include "kernels/drawn_experts.h"

// Who answers for a row, and the rows in the order by experts. The same choices as
// model/experts/expert_routing.h makes on a CPU.
namespace stoker::fused::experts {

template <class T>
__device__ __forceinline__ T sum_over_warp(T value) {
  for (int away = 16; away > 0; away /= 2) value += __shfl_xor_sync(~0U, value, away);
  return value;
}

__device__ __forceinline__ bool has_losses_of_router(const ExpertWork& work) {
  return work.load_balance > 0 || work.router_z > 0;
}

// Shares that all living experts would have in a row, lane by lane of a warp.
struct AllShares {
  const float* scores;
  const std::int32_t* living;
  int count;
  float scale;
  float largest;
  float sum;

  __device__ __forceinline__ AllShares(const ExpertWork& work, const float* of)
      : scores(of), living(work.living), count(*work.living_count), scale(work.inverse_temperature) {
    largest = scores[living[0]];
    for (int i = own_lane(); i < count; i += 32) largest = fmaxf(largest, scores[living[i]]);
    for (int away = 16; away > 0; away /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0U, largest, away));
    sum = 0;
    for (int i = own_lane(); i < count; i += 32) sum += expf((scores[living[i]] - largest) * scale);
    sum = sum_over_warp(sum);
  }
  __device__ __forceinline__ float of(int expert) const {
    return expf((scores[expert] - largest) * scale) / sum;
  }
  __device__ __forceinline__ float logarithm() const { return largest * scale + logf(sum); }
  // The entropy, of 1 where all are equal; 0 of a single expert.
  __device__ __forceinline__ float hesitation() const {
    float entropy = 0;
    for (int i = own_lane(); i < count; i += 32) {
      const float share = of(living[i]);
      if (share > 0) entropy -= share * logf(share);
    }
    entropy = sum_over_warp(entropy);
    return count < 2 ? 0.0F : entropy / logf(static_cast<float>(count));
  }
};

// Scores of a row to a block; then one warp chooses.
struct Route {
  static constexpr int threads = 128;
  static constexpr int bytes = most_room * 4;

  __device__ __forceinline__ void operator()(const ExpertWork& work, char* memory) const {
    const int rows = rows_of(work);
    auto* scores = reinterpret_cast<float*>(memory);  // by expert
    for (int row = static_cast<int>(blockIdx.x); row < rows; row += static_cast<int>(gridDim.x)) {
      score(work, row, scores);
      __syncthreads();
      if (own_warp() == 0) choose(work, row, scores);
      __syncthreads();
    }
  }

 private:
  __device__ __forceinline__ static void score(const ExpertWork& work, int row, float* scores) {
    const Layer& outer = work.layout.router[1];
    const float* inner = work.inner + static_cast<std::int64_t>(row) * outer.inputs;
    const int living = *work.living_count, lane = own_lane();
    constexpr int warps = threads / 32, at_once = 4;  // experts of a warp, so that no sum waits for another
    for (int base = own_warp(); base < living; base += warps * at_once) {
      const float* weights[at_once];
      float sums[at_once] = {};
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const int number = base + warps * i;
        const std::int64_t expert = work.living[number < living ? number : base];
        weights[i] = work.parameters + outer.weights + expert * outer.inputs;
      }
      for (int at = 4 * lane; at < outer.inputs; at += 128) {
        const float4 value = four_at(inner + at);
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
          const float4 weight = four_at(weights[i] + at);
          sums[i] += value.x * weight.x + value.y * weight.y + (value.z * weight.z + value.w * weight.w);
        }
      }
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        sums[i] = sum_over_warp(sums[i]);
        const int number = base + warps * i;
        if (lane != 0 || number >= living) continue;
        const int expert = work.living[number];
        scores[expert] = sums[i] + work.parameters[outer.biases + expert];
      }
    }
  }

  // A score that is not a number is below all others.
  __device__ __forceinline__ static float held(float score) {
    return score == score ? score : -INFINITY;
  }

  __device__ __forceinline__ static void choose(const ExpertWork& work, int row, float* scores) {
    const int living = *work.living_count, lane = own_lane();
    if (work.is_training && work.noise > 0) {
      const RandomKey key =
          random_key(work.seed, Purpose::noise, static_cast<std::uint64_t>(work.counters->current_step));
      for (int i = lane; i < living; i += 32) {
        const int expert = work.living[i];
        const auto element =
            static_cast<std::uint32_t>(static_cast<std::int64_t>(row) * work.layout.room + expert);
        scores[expert] += work.noise * static_cast<float>(normal(key, element));
      }
      __syncwarp();
    }
    const std::int64_t first = static_cast<std::int64_t>(row) * work.top_k;
    float best = 0, largest = 0, sum = 0;
    int who = -1;
    for (int k = 0; k < work.top_k; ++k) {
      next_best(
          work, [&](int expert) { return held(scores[expert]); }, k == 0, best, who);
      if (k == 0) largest = best;
      const float share = expf((best - largest) * work.inverse_temperature);
      sum += share;
      if (lane != 0) continue;
      work.chosen[first + k] = who;
      work.shares[first + k] = share;
      if (draws_experts(work)) work.liked[first + k] = who;
    }
    __syncwarp();
    for (int k = lane; k < work.top_k; k += 32) work.shares[first + k] /= sum;
    if (!work.is_training) return;
    if (draws_experts(work)) draw(work, row, scores);
    const float hesitation = AllShares(work, scores).hesitation();
    if (lane == 0) work.hesitation[row] = hesitation;
    if (!has_losses_of_router(work)) return;
    float* kept = work.scores + static_cast<std::int64_t>(row) * work.layout.router[1].outputs;
    for (int i = lane; i < living; i += 32) kept[work.living[i]] = scores[work.living[i]];
  }

  // Of some rows others than the router likes answer, by what it thinks of each of them. Unrolled, its loops
  // would cost registers that are missed where none are drawn.
  __device__ __forceinline__ static void draw(const ExpertWork& work, int row, const float* scores) {
    const kernels::RowDraws draws(work.seed, work.counters->current_step, row, work.layout.room);
    if (!draws.is_of(kernels::drawn_share(work.exploration, work.counters->current_step, work.planned_steps)))
      return;
    const int lane = own_lane();
    const std::int64_t first = static_cast<std::int64_t>(row) * work.top_k;
    float last = 0, largest = 0, sum = 0;
    int who = -1;
#pragma unroll 1
    for (int k = 0; k < work.top_k; ++k) {
      next_best(
          work, [&](int expert) { return draws.of(expert); }, k == 0, last, who);
      largest = k == 0 ? scores[who] : fmaxf(largest, scores[who]);
      if (lane == 0) work.chosen[first + k] = who;
    }
    __syncwarp();
#pragma unroll 1
    for (int k = lane; k < work.top_k; k += 32) {
      const float share = expf((scores[work.chosen[first + k]] - largest) * work.inverse_temperature);
      work.shares[first + k] = share;
      sum += share;
    }
    sum = sum_over_warp(sum);
#pragma unroll 1
    for (int k = lane; k < work.top_k; k += 32) work.shares[first + k] /= sum;
  }

  // Of those behind (best, who), in the order by falling values and, of equals, by experts.
  template <class ValueOf>
  __device__ __forceinline__ static void next_best(const ExpertWork& work, ValueOf value_of, bool is_first,
                                                   float& best, int& who) {
    const int living = *work.living_count;
    float found = -INFINITY;
    int finder = most_room;
    for (int i = own_lane(); i < living; i += 32) {
      const int expert = work.living[i];
      const float value = value_of(expert);
      const bool is_left = is_first || value < best || (value == best && expert > who);
      if (!is_left || value < found || (value == found && expert > finder)) continue;
      found = value;
      finder = expert;
    }
    for (int away = 16; away > 0; away /= 2) {
      const float other = __shfl_xor_sync(~0U, found, away);
      const int others = __shfl_xor_sync(~0U, finder, away);
      if (other > found || (other == found && others < finder)) {
        found = other;
        finder = others;
      }
    }
    best = found;
    who = finder;
  }
};

// Counts the rows of each expert, finds where each begins and puts every row in its place, in the order of
// the batch: all of it without adding up floats in an order that may change. One block.
struct Sort {
  static constexpr int threads = 1024;
  static constexpr int most_near = 4096;  // choices that lie in the block's own memory
  static constexpr int bytes = (most_room + most_near) * 4 + 32 * 8;

  __device__ __forceinline__ void operator()(const ExpertWork& work, char* memory) const {
    auto* counts = reinterpret_cast<std::int32_t*>(memory);
    auto* near = counts + most_room;
    auto* sums = reinterpret_cast<double*>(near + most_near);
    const int living = *work.living_count, pairs = rows_of(work) * work.top_k;
    const int warp = own_warp(), lane = own_lane();
    const std::int32_t* chosen = work.chosen;
    if (pairs <= most_near) {
      for (int i = static_cast<int>(threadIdx.x); i < pairs; i += threads) near[i] = chosen[i];
      chosen = near;
      __syncthreads();
    }
    for (int i = warp; i < living; i += threads / 32) {
      const int count = walk(work, chosen, work.living[i], pairs, 0, false);
      if (lane == 0) counts[i] = count;
      if (!draws_experts(work)) continue;
      const int liked = walk(work, work.liked, work.living[i], pairs, 0, false);
      if (lane == 0) work.groups[i].liked = liked;
    }
    __syncthreads();
    if (warp == 0) lay_out(work, living, counts);
    __syncthreads();
    for (int i = warp; i < living; i += threads / 32)
      walk(work, chosen, work.living[i], pairs, counts[i], true);
    if (!work.is_training) return;
    if (warp == threads / 32 - 1) add_hesitation(work, sums);
    count_followers(work, draws_experts(work) ? work.liked : chosen);
  }

 private:
  // All choices in their order, a warp for one expert: how many there are, and their places from `first` on.
  __device__ __forceinline__ static int walk(const ExpertWork& work, const std::int32_t* chosen, int expert,
                                             int pairs, int first, bool places) {
    const int lane = own_lane();
    int count = 0;
#pragma unroll 4
    for (int base = 0; base < pairs; base += 32) {
      const int pair = base + lane;
      const bool is_it = pair < pairs && chosen[pair] == expert;
      const unsigned those = __ballot_sync(~0U, is_it);
      if (places && is_it) {
        const int place = first + count + __popc(those & ((1U << lane) - 1U));
        work.places[pair] = place;
        work.sources[place] = pair / work.top_k;
      }
      count += __popc(those);
    }
    return count;
  }

  __device__ __forceinline__ static int sum_up_to(int value) {
    const int lane = own_lane();
    for (int away = 1; away < 32; away *= 2) {
      const int other = __shfl_sync(~0U, value, (lane - away) & 31);
      if (lane >= away) value += other;
    }
    return value;
  }

  // From counts to where each begins.
  __device__ __forceinline__ static void lay_out(const ExpertWork& work, int living, std::int32_t* counts) {
    int rows_before = 0, tiles_before = 0;
    for (int base = 0; base < living; base += 32) {
      const int i = base + own_lane();
      const int rows = i < living ? counts[i] : 0;
      const int tiles = (rows + rows_of_tile - 1) / rows_of_tile;
      const int rows_to_here = sum_up_to(rows), tiles_to_here = sum_up_to(tiles);
      if (i < living) {
        const int expert = work.living[i], first = rows_before + rows_to_here - rows;
        counts[i] = first;
        const int liked = draws_experts(work) ? work.groups[i].liked : rows;
        work.groups[i] = {expert, first, rows, liked};
        RowTile* to = work.tiles + tiles_before + tiles_to_here - tiles;
        for (int at = 0; at < rows; at += rows_of_tile)
          *to++ = {expert, first + at, rows - at < rows_of_tile ? rows - at : rows_of_tile};
        if (work.is_training) count_usage(work, expert, static_cast<std::uint32_t>(liked));
      }
      rows_before += __shfl_sync(~0U, rows_to_here, 31);
      tiles_before += __shfl_sync(~0U, tiles_to_here, 31);
    }
    if (own_lane() == 0) *work.tile_count = tiles_before;
  }

  __device__ __forceinline__ static std::uint32_t* counts_at(const ExpertWork& work, std::int64_t place) {
    return reinterpret_cast<std::uint32_t*>(work.parameters + place);
  }
  __device__ __forceinline__ static void count_usage(const ExpertWork& work, int expert, std::uint32_t rows) {
    counts_at(work, work.layout.activations)[expert] += rows;
    std::uint32_t& idle = counts_at(work, work.layout.idle_steps)[expert];
    idle = rows > 0 ? 0 : idle + 1;
  }
  __device__ __forceinline__ static void count_followers(const ExpertWork& work,
                                                         const std::int32_t* choices) {
    std::uint32_t* followers = counts_at(work, work.layout.followers);
    const int rows = rows_of(work);
    for (int row = static_cast<int>(threadIdx.x); row < rows; row += threads) {
      const std::int32_t* chosen = choices + static_cast<std::int64_t>(row) * work.top_k;
      for (int k = 1; k < work.top_k; ++k)
        atomicAdd(followers + static_cast<std::int64_t>(chosen[0]) * work.layout.room + chosen[k], 1U);
    }
  }
  __device__ __forceinline__ static void add_hesitation(const ExpertWork& work, double* sums) {
    const int lane = own_lane(), rows = rows_of(work);
    double sum = 0;
    for (int row = lane; row < rows; row += 32) sum += static_cast<double>(work.hesitation[row]);
    sums[lane] = sum;
    __syncwarp();
    if (lane != 0) return;
    for (int i = 1; i < 32; ++i) sum += sums[i];
    float* total = work.parameters + work.layout.hesitation;
    total[0] += static_cast<float>(sum);
    total[1] += static_cast<float>(rows);
  }
};

}  // namespace stoker::fused::experts
