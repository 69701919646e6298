#pragma once

#include "fused/cuda/plan.h"

// How a network of three hidden layers lies in the shared memory of a block whose warpgroups divide the work:
// see duet.cuh. Matrices are [units, rows of the batch] or [from, to], in blocks of 8 x 8 halves.
namespace stoker::fused {

struct DuetPlan {
  Plan plan;

  static constexpr int tall = 64;   // rows of a product
  static constexpr int places = 8;  // for batches: the one trained on, four to come, and some that were,
                                    // since whoever fetches does not wait until all have done with them
  static constexpr int ahead = 4;
  constexpr int input_tiles() const { return plan.depth(0) / 16; }
  constexpr int first_blocks() const { return divide_up(plan.width[1], tall); }  // 1 or 2
  constexpr int first() const { return first_blocks() * tall; }
  static constexpr int second() { return tall; }
  constexpr int third_tiles() const { return divide_up(plan.width[3], 16); }
  constexpr int third() const { return third_tiles() * 16; }
  constexpr int units(int h) const { return h == 1 ? first() : h == 2 ? second() : third(); }  // with padding

  // Whether the kernel has a form for the network.
  constexpr bool fits() const {
    return plan.layers == 4 && plan.scalar() && plan.width[1] <= 2 * tall && plan.width[2] <= tall &&
           plan.width[3] <= 32 && input_tiles() == 1;
  }

  // Bytes from a block to the one below it.
  constexpr int x_down() const { return plan.depth(0) / 8 * 128; }
  static constexpr int batch_down() { return rows / 8 * 128; }
  static constexpr int second_down() { return second() / 8 * 128; }
  constexpr int third_down() const { return third() / 8 * 128; }

  constexpr int x_bytes() const { return rows * plan.depth(0) * 2; }
  constexpr int a1_bytes() const { return first() * rows * 2; }
  static constexpr int a2_bytes() { return second() * rows * 2; }
  constexpr int a3_bytes() const { return third() * rows * 2; }
  constexpr int w2_bytes() const { return first() * second() * 2; }
  constexpr int w3_bytes() const { return second() * third() * 2; }

  // What is read while its successor is written exists twice.
  constexpr int x_at() const { return 0; }
  constexpr int a1_at() const { return x_at() + places * x_bytes(); }
  constexpr int w2_at() const { return a1_at() + 2 * a1_bytes(); }
  constexpr int a2_at() const { return w2_at() + 2 * w2_bytes(); }
  constexpr int slope2_at() const { return a2_at() + 2 * a2_bytes(); }
  constexpr int d2_at() const { return slope2_at() + (plan.is_relu() ? 0 : a2_bytes()); }
  constexpr int w3_at() const { return d2_at() + a2_bytes(); }
  constexpr int a3_at() const { return w3_at() + w3_bytes(); }
  constexpr int d3_at() const { return a3_at() + a3_bytes(); }
  constexpr int out_delta_at() const { return d3_at() + a3_bytes(); }  // half [rows]
  constexpr int target_at() const { return out_delta_at() + rows * 2; }
  constexpr int factors_at() const { return target_at() + places * rows * 8; }
  constexpr int b3_at() const { return factors_at() + places * 16; }
  constexpr int out_weights_at() const { return b3_at() + third() * 4; }
  constexpr int out_bias_at() const { return out_weights_at() + third() * 4; }
  // Dropout: a word for each unit, a bit for each row of the batch.
  constexpr int mask_at(int h) const {
    return (h > 1 ? first() : 0) + (h > 2 ? second() : 0) + (h > 3 ? third() : 0);
  }
  constexpr int masks_at() const { return out_bias_at() + 16; }
  constexpr int mask_words() const { return plan.has_dropout ? mask_at(4) : 0; }
  constexpr int shared_bytes() const { return masks_at() + 2 * mask_words() * 4; }
};

}  // namespace stoker::fused
