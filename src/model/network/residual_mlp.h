#pragma once

#include <cstdint>
#include <string>

#include "config/field.h"
#include "model/family.h"
#include "model/network/activation.h"
#include "model/network/mlp.h"

namespace stoker {

// Blocks of batch norm, linear, activation, dropout, linear, each added to its input (Gorishniy et al. 2021,
// "Revisiting deep learning models for tabular data"), between a linear layer and a last batch norm,
// activation and linear layer.
struct ResidualMlpSettings {
  std::int64_t width = 128;
  std::int64_t blocks = 2;
  std::int64_t block_width = 256;
  Activation activation = Activation::relu;
  double dropout = 0.2;
};

inline config::Fields fields(ResidualMlpSettings& c) {
  return {
      config::field("width", c.width, "residual_mlp: number of values passed from block to block")
          .within(1, 65536),
      config::field("blocks", c.blocks, "residual_mlp: number of blocks").within(1, 100),
      config::field("block_width", c.block_width, "residual_mlp: number of values inside a block")
          .within(1, 65536),
      config::field("activation", c.activation, "Non-linearity after each hidden layer"),
      config::field("dropout", c.dropout,
                    "Share of each hidden layer's outputs that a training step leaves out")
          .at_least(0)
          .below(1),
  };
}

// The row of the table of families. Parameters are first, blocks.N.norm, blocks.N.inner, blocks.N.outer, norm
// and last, each with weight and bias; a norm also has running_mean and running_variance, which are buffers.
Family residual_mlp();

}  // namespace stoker
