#pragma once

#include "fused/cuda/experts/routing.cuh"
#include "kernels/row_losses.h"

// What the experts of a row answer together, its loss, and on the way back what each of them and the router
// hear of it. A row to a block: its first warp, and all of them where the router's hidden layer is told.
namespace stoker::fused::experts {

struct Mix {
  static constexpr int threads = 128;
  static constexpr int bytes = most_room * 4;

  __device__ __forceinline__ void operator()(const ExpertWork& work, char* memory) const {
    const int rows = rows_of(work);
    auto* of_scores = reinterpret_cast<float*>(memory);  // gradients, by expert
    for (int row = static_cast<int>(blockIdx.x); row < rows; row += static_cast<int>(gridDim.x)) {
      if (own_warp() == 0) answer_for(work, row, of_scores);
      if (!work.is_training) continue;
      __syncthreads();
      teach_router(work, row, of_scores);
      __syncthreads();
    }
  }

 private:
  __device__ __forceinline__ static const float* answer(const ExpertWork& work, std::int64_t choice) {
    const int stride = work.layout.last().outputs;
    return work.answers[work.layout.layer_count - 1] +
           static_cast<std::int64_t>(work.places[choice]) * stride;
  }

  __device__ __forceinline__ static void answer_for(const ExpertWork& work, int row, float* of_scores) {
    float loss = 0;
    if (work.losses.loss == Loss::cross_entropy && work.layout.last().outputs <= 32) {
      loss = lose_by_lanes(work, row);
    } else {
      for (int i = own_lane(); i < work.layout.last().outputs; i += 32)
        work.mixed[static_cast<std::int64_t>(row) * work.layout.last().outputs + i] = mixed(work, row, i);
      __syncwarp();
      if (own_lane() == 0) {
        loss = kernels::loss_of_row(work.losses, row);
        if (work.losses.hit_sums != nullptr && kernels::is_hit(work.losses, row))
          work.losses.hit_sums[row] += 1;
      }
      __syncwarp();
    }
    if (own_lane() == 0) {
      work.row_sums[row] += static_cast<double>(loss);
      if (work.term_sums != nullptr) work.term_sums[row] += static_cast<double>(loss);
    }
    if (!work.is_training) return;
    share_gradient(work, row, of_scores);
    if (has_losses_of_router(work)) add_losses_of_router(work, row, of_scores);
    __syncwarp();
    float* kept = work.score_deltas + static_cast<std::int64_t>(row) * work.layout.router[1].outputs;
    for (int i = own_lane(); i < work.layout.router[1].outputs; i += 32) kept[i] = of_scores[i];
  }

  __device__ __forceinline__ static float mixed(const ExpertWork& work, int row, int output) {
    const std::int64_t first = static_cast<std::int64_t>(row) * work.top_k;
    float sum = 0;
#pragma unroll 2
    for (int k = 0; k < work.top_k; ++k) sum += work.shares[first + k] * answer(work, first + k)[output];
    return sum;
  }

  // The cross-entropy of no more classes than a warp has lanes, each with one: as kernels::class_row() has
  // it, and no lane waits for what another one writes.
  __device__ __forceinline__ static float lose_by_lanes(const ExpertWork& work, int row) {
    const kernels::Losses& losses = work.losses;
    const int lane = own_lane(), width = static_cast<int>(losses.width), outputs = work.layout.last().outputs;
    const float weight = losses.row_weights == nullptr ? 1.0F : losses.row_weights[row];
    const int target = static_cast<int>(losses.class_targets[row]);
    const float logit = lane < width ? mixed(work, row, lane) : -INFINITY;
    float largest = logit;
    for (int away = 16; away > 0; away /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0U, largest, away));
    if (losses.hit_sums != nullptr) {
      // The lowest lane with the largest logit is the predicted class.
      const unsigned best = __ballot_sync(~0U, logit == largest);
      if (lane == 0 && (best & (0U - best)) == 1U << static_cast<unsigned>(target)) losses.hit_sums[row] += 1;
    }
    const float part = lane < width ? expf(logit - largest) : 0.0F;
    const float sum = sum_over_warp(part);
    const float even = losses.smoothing / static_cast<float>(width);
    if (losses.gradients != nullptr && lane < outputs) {
      const float scale = losses.factor * weight / static_cast<float>(rows_of(work));
      const float certain = (lane == target ? 1.0F - losses.smoothing : 0.0F) + even;
      losses.gradients[static_cast<std::int64_t>(row) * outputs + lane] =
          lane < width ? (part / sum - certain) * scale : 0.0F;
    }
    const float logarithm = logf(sum);
    const float of_target = logarithm - (__shfl_sync(~0U, logit, target) - largest);
    if (losses.smoothing == 0) return weight * of_target;
    const float of_all = sum_over_warp(lane < width ? logarithm - (logit - largest) : 0.0F);
    return weight * ((1.0F - losses.smoothing) * of_target + even * of_all);
  }

  // From the gradient of what was mixed to those of answers and scores.
  __device__ __forceinline__ static void share_gradient(const ExpertWork& work, int row, float* of_scores) {
    const Layer& last = work.layout.last();
    const int lane = own_lane();
    const float* gradient = work.mixed_gradients + static_cast<std::int64_t>(row) * last.outputs;
    for (int i = lane; i < work.layout.router[1].outputs; i += 32) of_scores[i] = 0;
    __syncwarp();
    const std::int64_t first = static_cast<std::int64_t>(row) * work.top_k;
    float mean = 0;
    for (std::int64_t choice = first; choice < first + work.top_k; ++choice) {
      const float share = work.shares[choice];
      const float* answered = answer(work, choice);
      float* delta = work.deltas[work.layout.layer_count - 1] +
                     static_cast<std::int64_t>(work.places[choice]) * last.outputs;
      float worth = 0;
      for (int i = lane; i < last.outputs; i += 32) {
        const float each = i < last.width ? gradient[i] : 0.0F;
        delta[i] = share * each;
        worth += each * answered[i];
      }
      worth = sum_over_warp(worth);
      mean += share * worth;
      if (lane == 0) of_scores[work.chosen[choice]] = worth;
    }
    __syncwarp();
    for (std::int64_t choice = first + lane; choice < first + work.top_k; choice += 32) {
      float& delta = of_scores[work.chosen[choice]];
      delta = work.inverse_temperature * work.shares[choice] * (delta - mean);
    }
    __syncwarp();
  }

  // Those that keep experts equally busy and scores small, as the module of the family has them.
  __device__ __forceinline__ static void add_losses_of_router(const ExpertWork& work, int row,
                                                              float* of_scores) {
    const int living = *work.living_count, lane = own_lane(), rows = rows_of(work);
    const AllShares shares(work,
                           work.scores + static_cast<std::int64_t>(row) * work.layout.router[1].outputs);
    const float logarithm = shares.logarithm();
    const float weight = work.losses.row_weights == nullptr ? 1.0F : work.losses.row_weights[row];
    const float of_row = weight * work.inverse_temperature / static_cast<float>(rows);
    const float of_choice =
        static_cast<float>(living) / static_cast<float>(static_cast<std::int64_t>(rows) * work.top_k);
    float balance = 0;
    for (int i = lane; i < living; i += 32)
      balance += shares.of(work.living[i]) * (static_cast<float>(work.groups[i].liked) * of_choice);
    balance = sum_over_warp(balance);
    const float by_balance = work.load_balance * of_row, by_z = work.router_z * of_row * 2 * logarithm;
    for (int i = lane; i < living; i += 32) {
      const float busy = static_cast<float>(work.groups[i].liked) * of_choice;
      of_scores[work.living[i]] += shares.of(work.living[i]) * (by_balance * (busy - balance) + by_z);
    }
    if (lane != 0) return;
    int term = 1;
    if (work.load_balance > 0) tell(work, row, term++, work.load_balance, weight * balance);
    if (work.router_z > 0) tell(work, row, term, work.router_z, weight * (logarithm * logarithm));
  }
  __device__ __forceinline__ static void tell(const ExpertWork& work, int row, int term, float factor,
                                              float value) {
    work.term_sums[term * work.batch + row] += static_cast<double>(value);
    work.row_sums[row] += static_cast<double>(factor) * static_cast<double>(value);
  }

  // The deltas of the router's hidden layer. Without losses of its own only the chosen ones have told it
  // something.
  __device__ __forceinline__ static void teach_router(const ExpertWork& work, int row,
                                                      const float* of_scores) {
    const Layer& outer = work.layout.router[1];
    const bool hears_all = has_losses_of_router(work);
    const std::int32_t* who =
        hears_all ? work.living : work.chosen + static_cast<std::int64_t>(row) * work.top_k;
    const int count = hears_all ? *work.living_count : work.top_k;
    const std::int64_t at = static_cast<std::int64_t>(row) * outer.inputs;
    for (int i = 4 * static_cast<int>(threadIdx.x); i < outer.inputs; i += 4 * threads) {
      float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll 2
      for (int each = 0; each < count; ++each) {
        const float delta = of_scores[who[each]];
        const float4 weight = four_at(work.parameters + outer.weights +
                                      static_cast<std::int64_t>(who[each]) * outer.inputs + i);
        sum.x += delta * weight.x;
        sum.y += delta * weight.y;
        sum.z += delta * weight.z;
        sum.w += delta * weight.w;
      }
      const float4 inner = four_at(work.inner + at + i);
      *reinterpret_cast<float4*>(work.inner_deltas + at + i) =
          make_float4(inner.x > 0 ? sum.x : 0.0F, inner.y > 0 ? sum.y : 0.0F, inner.z > 0 ? sum.z : 0.0F,
                      inner.w > 0 ? sum.w : 0.0F);
    }
  }
};

}  // namespace stoker::fused::experts
