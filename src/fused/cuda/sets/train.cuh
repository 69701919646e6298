#pragma once

#include "fused/cuda/sets/gradients.cuh"

// The steps of a launch. Every block makes gradients of all weights over its rows, adds up a sixteenth of
// them over the cluster, always in the same order, and updates that sixteenth; then all fetch what is new.
// Data moves by reading another block's memory, so that the cluster's barrier orders a block's own alone.
namespace stoker::fused::sets {

struct Trainer : WithGradients {
  const TrainSets& work;
  int rank;
  float2 w, m, v;  // of the two parameters that this thread updates
  double loss_sum;

  __device__ __forceinline__ Trainer(const TrainSets& of, char* memory)
      : WithGradients(of.sizes, memory), work(of), rank(static_cast<int>(blockIdx.x)) {
    dropping.threshold = work.dropout_threshold;
    dropping.scale = work.dropout_scale;
  }

  __device__ __forceinline__ bool updates() const { return thread < share / 2; }
  // Of the thread's two parameters, in pairs.
  __device__ __forceinline__ int own_pair() const { return rank * (share / 2) + thread; }
  __device__ __forceinline__ int own_sum() const { return rank * block_rows + warp; }

  __device__ __forceinline__ void load_state() {
    w = m = v = {0, 0};
    if (updates()) {
      w = reinterpret_cast<const float2*>(work.parameters)[own_pair()];
      m = reinterpret_cast<const float2*>(work.first_moment)[own_pair()];
      v = reinterpret_cast<const float2*>(work.second_moment)[own_pair()];
    }
    loss_sum = work.row_sums[own_sum()];
    load_weights(work.parameters);
  }

  __device__ __forceinline__ void save_state() const {
    if (updates()) {
      reinterpret_cast<float2*>(work.parameters)[own_pair()] = w;
      reinterpret_cast<float2*>(work.first_moment)[own_pair()] = m;
      reinterpret_cast<float2*>(work.second_moment)[own_pair()] = v;
    }
    if (lane == 0) work.row_sums[own_sum()] = loss_sum;
    if (rank == 0 && thread == 0) work.counters->step += work.step_count;
  }

  // Where the block's rows of a round begin in the batch.
  __device__ __forceinline__ std::int64_t first_row(int round) const {
    return static_cast<std::int64_t>(round) * sizes.team_rows() + rank * sizes.rows();
  }
  __device__ __forceinline__ std::int64_t rows_of_step(int step) const {
    const std::int64_t left = work.rows.rows - work.first_position - step * work.batch_size;
    return left < work.batch_size ? left : work.batch_size;
  }
  // The rows that the warps of the block have in a round, found by the lanes of one warp.
  __device__ __forceinline__ void find_rows(int step, int round) const {
    const std::int64_t place = first_row(round) + lane;
    const bool is_there = lane < sizes.rows() && step < work.step_count && place < rows_of_step(step);
    const std::int64_t position = work.first_position + step * work.batch_size + place;
    const std::int64_t row =
        is_there ? row_at(RowOrder(), work.seed, work.rows.rows, work.epoch, position) : -1;
    if (lane < warps) reinterpret_cast<int*>(shared + next_rows_at)[lane] = static_cast<int>(row);
  }
  __device__ __forceinline__ Fetched fetch_row() const {
    const int row = reinterpret_cast<const int*>(shared + next_rows_at)[warp];
    return fetch(work.rows, row, row >= 0);
  }

  __device__ __forceinline__ void update(float& value, float& first, float& second, float gradient,
                                         const UpdateStep& step) const {
    if (work.optimizer == number::adamw) {
      value *= step.keep;
    } else {
      gradient = fmaf(work.decay, value, gradient);
    }
    if (work.optimizer == number::sgd) {
      first = fmaf(work.beta1, first, gradient);
      value -= step.rate * first;
      return;
    }
    first = fmaf(work.beta1, first, (1.0F - work.beta1) * gradient);
    second = fmaf(work.beta2, second, (1.0F - work.beta2) * gradient * gradient);
    value -= step.step_size * first / fmaf(sqrtf(second), step.inverse_root, work.epsilon);
  }

  // What all gradients are multiplied with, so that their norm over the cluster is at most what was asked
  // for. To be called by all threads of all blocks.
  __device__ __forceinline__ float clip_factor(float2 gradient) const {
    float* squares = floats(squares_at);
    const float of_warp = sum_of_warp(fmaf(gradient.x, gradient.x, gradient.y * gradient.y));
    if (lane == 0) squares[4 + warp] = of_warp;
    __syncthreads();
    if (thread == 0) {
      float sum = 0;
      for (int i = 0; i < warps; ++i) sum += squares[4 + i];
      squares[0] = sum;
    }
    wait_for_cluster();
    float total = 0;
    for (int i = 0; i < team; ++i) total += load_from_block(base + squares_at, i).x;
    return fminf(1.0F, work.max_grad_norm / (sqrtf(total) + 1e-6F));
  }

  __device__ __forceinline__ void exchange(int step) {
    const UpdateStep numbers = work.steps[step];
    const float unscale = 1.0F / (gradient_scale * static_cast<float>(rows_of_step(step)));
    wait_for_cluster();
    find_place();
    float2 gradient{0, 0};
    if (updates()) {
      // From the own block on, so that not all read the same one at a time; of a parameter, always so.
      uint2 found[team];
#pragma unroll
      for (int i = 0; i < team; ++i)
        found[i] = load_pair_from_block(base + tokens_at + own_pair() * 8, (rank + i) % team);
#pragma unroll
      for (int i = 0; i < team; ++i) {
        gradient.x += __uint_as_float(found[i].x);
        gradient.y += __uint_as_float(found[i].y);
      }
      gradient.x *= unscale;
      gradient.y *= unscale;
    }
    if (work.max_grad_norm > 0) {
      const float factor = clip_factor(gradient);
      gradient.x *= factor;
      gradient.y *= factor;
    }
    if (updates()) {
      update(w.x, m.x, v.x, gradient.x, numbers);
      update(w.y, m.y, v.y, gradient.y, numbers);
      reinterpret_cast<float2*>(shared + outbox_at)[thread] = w;
    }
    wait_for_cluster();
    constexpr int turns = divide_up(fours, threads), of_block = share / 4;
    find_place();
    float4 fresh[turns];
#pragma unroll
    for (int turn = 0; turn < turns; ++turn) {
      const int four = thread + (turn + rank / 2) % turns * threads;
      if (four < fours)
        fresh[turn] = load_from_block(base + outbox_at + four % of_block * 16, four / of_block);
    }
#pragma unroll
    for (int turn = 0; turn < turns; ++turn) {
      const int four = thread + (turn + rank / 2) % turns * threads;
      if (four < fours) settle(four, fresh[turn]);
    }
    __syncthreads();
  }

  // One round of a batch: its gradients lie in shared memory after the last. Fetches what comes next.
  __device__ __forceinline__ void make_round(Fetched& row, int step, int round) {
    find_place();
    if (has_row()) go_through_members(row, first_row(round) + warp);
    __syncthreads();
    const bool is_last = round == work.rounds - 1;
    head_layer(first_row(round));
    if (warp == warps - 1) find_rows(is_last ? step + 1 : step, is_last ? 0 : round + 1);
    __syncthreads();
    if (has_row()) loss_sum += static_cast<double>(judge(row));
    __syncthreads();
    pooled_deltas();
    __syncthreads();
    find_place();
    if (has_row()) go_back_through_members();
    find_place();
    row = fetch_row();
    __syncthreads();
    const Gradients made = make_gradients();
    __syncthreads();
    find_place();
    if (work.rounds == 1)
      lay_out(made);
    else
      add_up(made, work.unfinished + rank * parameters, round == 0, is_last);
  }

  __device__ __forceinline__ void run() {
    load_state();
    if (warp == 0) find_rows(0, 0);
    __syncthreads();
    Fetched row = fetch_row();
#pragma unroll 1
    for (int step = 0; step < work.step_count; ++step) {
      dropping.take_step(work.seed, work.first_step + step);
#pragma unroll 1
      for (int round = 0; round < work.rounds; ++round) make_round(row, step, round);
      exchange(step);
    }
    save_state();
    wait_for_cluster();  // others may still read this block's memory
  }
};

// The loss of a block's rows, without dropout.
struct Judge : Backward {
  using Backward::Backward;

  __device__ __forceinline__ void run(const ValidateSets& work) {
    dropping.threshold = 0;
    dropping.scale = 1;
    load_weights(work.parameters);
    const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x) * sizes.rows();
    const bool is_there = has_row() && first_row + warp < work.rows.rows;
    const Fetched row = fetch(work.rows, is_there ? first_row + warp : 0, is_there);
    if (has_row()) go_through_members(row, 0);
    __syncthreads();
    head_layer(0);
    __syncthreads();
    double* losses = reinterpret_cast<double*>(shared + statistics_at);  // nobody reads those any more
    float outputs[most_outputs], unused[most_outputs];
    outputs_of(hidden_values(), outputs);
    const float loss = loss_of(row, outputs, 0, unused);
    if (lane == 0) losses[warp] = static_cast<double>(loss);
    __syncthreads();
    if (thread != 0) return;
    double sum = 0;
    for (int i = 0; i < warps; ++i) sum += losses[i];
    work.sums[blockIdx.x] = sum;
  }
};

}  // namespace stoker::fused::sets
