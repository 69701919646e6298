#pragma once

#include <optional>

#include "config/usual_bounds.h"
#include "model/nodes/loss_node.h"

// Cross-entropy of logits with the marked pixels. Of .cpp files alone, as loss_node.h.
namespace stoker::nodes {

struct BceSettings {
  double weight = 1;
  std::optional<double> pos_weight;
  Reduction reduction = Reduction::mean;
};

inline config::Fields fields(BceSettings& s) {
  return {weight_field(s.weight),
          config::field("pos_weight", s.pos_weight, "How much a marked pixel counts; not set: as much as any")
              .within(0, config::largest_weight)
              .optional(),
          config::field("reduction", s.reduction, "Over the pixels")};
}

}  // namespace stoker::nodes
