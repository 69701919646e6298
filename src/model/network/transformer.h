#pragma once

#include <cstdint>

#include "config/field.h"
#include "model/family.h"
#include "model/network/activation.h"
#include "model/network/mlp.h"
#include "model/network/sequence.h"

namespace stoker {

// An encoder of pre-norm layers (self-attention, then two linear layers, each added to its input) over the
// moments of a window, whose places are told by sines; then what SequenceEnd says.
struct TransformerSettings {
  std::int64_t hidden_size = 128;
  std::int64_t layers = 3;
  std::int64_t heads = 8;
  std::int64_t feed_forward = 512;
  Activation activation = Activation::gelu;
  Pooling pooling = Pooling::mean;
  double dropout = 0.2;
  double input_dropout = 0.1;
  double attention_dropout = 0.2;
  double pooling_dropout = 0.2;
};

inline config::Fields fields(TransformerSettings& c) {
  return {
      hidden_size_field(c.hidden_size),
      layers_field(c.layers),
      config::field("heads", c.heads,
                    "transformer: number of heads of the attention; must divide hidden_size")
          .within(1, 1024),
      config::field("feed_forward", c.feed_forward, "transformer: width between the two linear layers of one")
          .within(1, 65536),
      config::field("activation", c.activation, "Non-linearity after each hidden layer"),
      pooling_field(c.pooling),
      dropout_field(c.dropout),
      config::field("input_dropout", c.input_dropout,
                    "transformer: share of the values of a moment that a training step leaves out")
          .at_least(0)
          .below(1),
      config::field("attention_dropout", c.attention_dropout,
                    "transformer: share of the attention's weights that a training step leaves out; at 0, "
                    "long windows take far less memory")
          .at_least(0)
          .below(1),
      pooling_dropout_field(c.pooling_dropout),
  };
}

// The row of the table of families. Parameters are input and input_norm, layers.N as torch.nn names those of
// a TransformerEncoderLayer, norm, and those of SequenceEnd.
Family transformer();

}  // namespace stoker
