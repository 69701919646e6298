#pragma once

#include <cstdint>
#include <string>

#include "device/array.h"
#include "fused/cpu/step.h"
#include "model/experts/expert_shape.h"

namespace stoker::fused_cpu {

// Where the numbers of a mixture of experts lie in a flat buffer: the router, one expert after the other, and
// behind them what is no parameter.
struct ExpertLayout {
  explicit ExpertLayout(const ExpertShape& shape);

  ExpertShape shape;
  Network router;  // buffers not set; places count from the router's
  Network expert;  // places count from the expert's
  std::int64_t alive = 0;
  std::int64_t activations = 0;
  std::int64_t idle_steps = 0;
  std::int64_t followers = 0;
  std::int64_t hesitation = 0;
  std::int64_t size = 0;
  std::int64_t router_transposed = 0;  // numbers of its transposes
  std::int64_t expert_transposed = 0;

  std::int64_t expert_at(std::int64_t number) const { return router.size + number * expert.size; }
  // All of it as one, for what every engine on a CPU has in common.
  Network whole() const;
  // A part of it, over the buffers of the whole.
  Network router_in(const Network& whole) const;
  Network expert_in(const Network& whole, std::int64_t number) const;
};

// Named arrays to their places and back. Moments are those of parameters alone.
void pack_experts(const ExpertLayout& layout, const NamedArrays& arrays, const std::string& prefix,
                  Array& flat);
void append_unpacked_experts(const ExpertLayout& layout, const Array& flat, const std::string& prefix,
                             NamedArrays& arrays);

}  // namespace stoker::fused_cpu
