#pragma once

#include <map>
#include <tuple>

#include "engine/engine.h"
#include "fused/cuda/own_stream.h"
#include "fused/cuda/plan.h"

namespace stoker::fused {

// Rows as kernels read them, in device memory. Copies share it.
struct Rows {
  Array half_features;  // of training rows, for kernels with fp16 operands
  Array targets;
};

// Refuses classes that a network with so many outputs does not know. Once, before a kernel takes them for the
// places of outputs.
void check_classes(const Dataset& dataset, std::int64_t outputs, Device device, const OwnStream& stream);

// Makes them, each once: models of a group that train on the same data share it.
class GroupRows {
 public:
  // `as_half`: with features for fp16 operands. Those that these cannot hold set `has_large_feature`.
  Rows convert(const EngineRequest& request, const Dataset& dataset, const Plan& plan, bool as_half,
               const OwnStream& stream);
  bool has_large_feature() const { return has_large_feature_; }

 private:
  std::map<std::tuple<const void*, const void*, const void*, bool>, Rows> shared_;
  bool has_large_feature_ = false;
};

}  // namespace stoker::fused
