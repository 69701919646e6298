#pragma once

#include <cstdint>

#include "config/field.h"
#include "model/family.h"
#include "model/network/activation.h"
#include "model/network/mlp.h"
#include "model/network/sequence.h"

namespace stoker {

// Convolutions over the moments of a window that look back only, each layer twice as far apart as the one
// before (Bai et al. 2018, "An empirical evaluation of generic convolutional and recurrent networks"): norm,
// convolution, activation, convolution, added to the layer's input; then what SequenceEnd says.
struct Cnn1dSettings {
  std::int64_t hidden_size = 64;
  std::int64_t layers = 4;
  std::int64_t kernel_size = 3;
  bool layer_norm = true;
  Activation activation = Activation::relu;
  Pooling pooling = Pooling::last;
  double dropout = 0.2;
  double pooling_dropout = 0.2;
};

inline config::Fields fields(Cnn1dSettings& c) {
  return {
      hidden_size_field(c.hidden_size),
      layers_field(c.layers),
      config::field("kernel_size", c.kernel_size,
                    "cnn1d: how many moments a convolution looks at; they lie 1, 2, 4, … apart from layer to "
                    "layer")
          .within(1, 1024),
      layer_norm_field(c.layer_norm),
      config::field("activation", c.activation, "Non-linearity after each hidden layer"),
      pooling_field(c.pooling),
      dropout_field(c.dropout),
      pooling_dropout_field(c.pooling_dropout),
  };
}

// The row of the table of families. Parameters are input_norm, input, layers.N.norm, layers.N.first,
// layers.N.second, norm, and those of SequenceEnd; the norms where there are any.
Family cnn1d();

// How far apart the moments lie that a layer's convolutions look at.
std::int64_t dilation_of(std::int64_t layer);

}  // namespace stoker
