#pragma once

#include <cstdint>
#include <string>

#include "config/field.h"
#include "model/family.h"
#include "model/network/sequence.h"

namespace stoker {

// Recurrent layers over the moments of a window, each in one or both directions, then what SequenceEnd says.
struct RecurrentSettings {
  std::int64_t hidden_size = 128;
  std::int64_t layers = 2;
  bool bidirectional = true;
  bool layer_norm = true;
  Pooling pooling = Pooling::attention;
  double dropout = 0.4;
  double pooling_dropout = 0.2;

  std::int64_t directions() const { return bidirectional ? 2 : 1; }
  std::int64_t width() const { return directions() * hidden_size; }  // of a layer's outputs
};

inline config::Fields fields(RecurrentSettings& c) {
  return {
      hidden_size_field(c.hidden_size),
      layers_field(c.layers),
      config::field("bidirectional", c.bidirectional,
                    "lstm, gru: whether each layer goes through the window from both ends"),
      layer_norm_field(c.layer_norm),
      pooling_field(c.pooling),
      dropout_field(c.dropout),
      pooling_dropout_field(c.pooling_dropout),
  };
}

// The rows of the table of families. Parameters are those of torch.nn.LSTM and torch.nn.GRU under their names
// there, behind "recurrent."; input_norm and norm before and behind them; and those of SequenceEnd.
Family lstm();
Family gru();

// Of layer `layer` in one direction, in the order of torch.nn: weight_ih, weight_hh, bias_ih, bias_hh.
std::vector<std::string> recurrent_names(std::int64_t layer, bool is_reverse);

}  // namespace stoker
