#pragma once

#include <cstdint>
#include <vector>

#include "config/field.h"
#include "model/family.h"
#include "model/network/activation.h"
#include "model/network/mlp.h"
#include "model/network/sequence.h"

namespace stoker {

// A multi-layer perceptron over the last moments of a window, one behind the other: batch norm of the inputs,
// layers of linear, batch norm, activation and dropout, and a gate by which each value of the last is
// multiplied, a sigmoid of a small network over all of them ("squeeze and excitation", Hu et al. 2018).
struct TemporalMlpSettings {
  std::vector<std::int64_t> hidden_layers{128, 96, 64, 32};
  std::int64_t moments = 1;
  Activation activation = Activation::relu;
  double dropout = 0.2;

  std::int64_t gate_width() const { return hidden_layers.back() > 1 ? hidden_layers.back() / 2 : 1; }
};

inline config::Fields fields(TemporalMlpSettings& c) {
  return {
      config::field("hidden_layers", c.hidden_layers, "Width of each hidden layer")
          .within(1, 65536)
          .not_empty(),
      config::field("moments", c.moments,
                    "temporal_mlp: how many moments of the window it reads, up to the last")
          .within(1, 1'000'000),
      config::field("activation", c.activation, "Non-linearity after each hidden layer"),
      dropout_field(c.dropout),
  };
}

// The row of the table of families. Parameters are input_norm, layers.N.linear, layers.N.norm, gate.inner,
// gate.outer and last.
Family temporal_mlp();

}  // namespace stoker
