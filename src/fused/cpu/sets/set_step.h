#pragma once

#include <cstdint>

#include "fused/cpu/step.h"

// A step of the network of model/network/triangulation.h: sets of which any members may be absent. Those that
// are present lie packed, one behind the other, as the rows of all layers before the head; absent ones cost
// nothing.
namespace stoker::fused_cpu {

// Its linear layers, by their numbers in Network::layers.
enum SetLayer : int { receiver_inner, receiver_outer, projections, attended, head_inner, head_outer };
constexpr int set_layers = 6;

struct SetNetwork {
  const Network* network = nullptr;
  std::int64_t members = 0;  // that a set has room for
  std::int64_t width = 0;    // of a member, without the padding
  std::int64_t heads = 0;
  float norm_epsilon = 0;
  float least_variance = 0;  // added to that of a set's values
  float far_below = 0;       // added to values of members that are absent
  // Where they begin in the flat buffers, behind the layers.
  std::int64_t norm_weights = 0;
  std::int64_t norm_biases = 0;

  std::int64_t share() const { return width / heads; }  // of a head
  std::int64_t padded_width() const { return padded(width, panel); }
  // What each member takes of each, one head behind the other.
  std::int64_t shares_of_set() const { return heads * members * padded(members, panel); }
  std::int64_t scratch() const {
    const std::int64_t of_head = padded(share(), panel);
    return (members + 2 * of_head + 1) * padded(members, panel) + members * of_head;
  }
};

// What a slice of a batch goes through. Rows of members beyond those that are there have zeros as inputs and
// as deltas.
struct SetSlice {
  std::int64_t sets = 0;
  std::int64_t members = 0;               // of all sets
  const std::int32_t* firsts = nullptr;   // [sets + 1]: the first member of each
  const float* present = nullptr;         // [sets]: the share of the members that are present; where none is,
                                          // all of them are here
  const std::uint32_t* places = nullptr;  // [members]: each one's place in its set
  const std::uint32_t* numbers = nullptr;  // [padded members]: its number among all of the batch

  Workspace receivers;      // layers receiver_inner to projections; a row for each member
  Workspace attention;      // the layer attended, whose input is the context
  Workspace head;           // a row for each set; the first input is what a set has in common
  float* sum = nullptr;     // receivers and attended
  float* normed = nullptr;  // with its weights and biases
  float* means = nullptr;   // of the norm
  float* scales = nullptr;
  float* shares = nullptr;  // what each member takes of each
  float* taken = nullptr;   // the same with dropout
  float* scratch = nullptr;

  float* pooled_gradient = nullptr;
  float* normed_gradient = nullptr;
  float* context_gradient = nullptr;
};

}  // namespace stoker::fused_cpu
