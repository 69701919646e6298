#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/field.h"
#include "model/network/layer_specs.h"

// What families that read windows of a series have in common.
namespace stoker {

// How the values of a window's moments become those of the window.
enum class Pooling : std::uint8_t { attention, mean, last };

struct WindowShape {
  std::int64_t length = 0;   // moments
  std::int64_t columns = 0;  // of each moment
};
// Refuses a network that reads something else.
WindowShape window_shape(const Network& network);

// A norm over the columns of a moment takes away its level and its size. Of many columns that is a small part
// of what they say, of one it is everything: with fewer than this, inputs are not normed.
inline constexpr std::int64_t least_normed_columns = 8;
inline bool norms_inputs(bool layer_norm, const WindowShape& window) {
  return layer_norm && window.columns >= least_normed_columns;
}

// The form of such a family: numbers, scaled as networks want them, a window at a time.
InputForm form_of_windows(const config::Value& settings);

// What a family takes that goes through every matrix once for each moment, but for the head.
std::int64_t multiply_adds_over_moments(const Network& network);

// What follows the moments of a window: they are pooled to one row of `width` values, by learnt weights where
// it is attention, and a hidden layer of half as many leads to the outputs.
// Parameters are pooling.scores and pooling.weights (attention), head.norm, head.hidden, head.hidden_norm and
// head.last; the norms where there are any.
struct SequenceEnd {
  std::int64_t width = 0;
  std::int64_t outputs = 1;
  Pooling pooling = Pooling::mean;
  bool layer_norm = true;

  std::int64_t half() const { return width > 1 ? width / 2 : 1; }
};
void add_sequence_end(const SequenceEnd& end, ParameterSpecs& specs);

// An error of the document about one of the settings, with its line where `written` has it.
void add_setting_error(const std::string& setting, std::string message, const std::string& path,
                       const config::Value* written, config::Diagnostics& diagnostics);

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 3> stoker::config::names<stoker::Pooling>{"attention", "mean",
                                                                                        "last"};

namespace stoker {

// Settings that several of these families have, in the same words.
inline config::Field hidden_size_field(std::int64_t& size) {
  return config::field("hidden_size", size,
                       "lstm, gru, transformer, cnn1d: number of values that stand for a moment of the "
                       "series; of lstm and gru in each direction")
      .within(1, 65536)
      .also_called("hidden_dim", "called hidden_size here");
}
inline config::Field layers_field(std::int64_t& layers) {
  return config::field("layers", layers, "lstm, gru, transformer, cnn1d: number of layers").within(1, 100);
}
inline config::Field layer_norm_field(bool& layer_norm) {
  return config::field(
      "layer_norm", layer_norm,
      "lstm, gru, cnn1d: whether what layers read is normed, each moment for itself; the columns of the "
      "series only where there are at least 8");
}
inline config::Field pooling_field(Pooling& pooling) {
  return config::field("pooling", pooling,
                       "lstm, gru, transformer, cnn1d: what of a window's moments leads to the prediction: a "
                       "mean with weights that are learnt (attention), the plain mean, or the last moment");
}
inline config::Field pooling_dropout_field(double& share) {
  return config::field("pooling_dropout", share,
                       "pooling attention: share of the values that its weights are made of which a training "
                       "step leaves out")
      .at_least(0)
      .below(1);
}
inline config::Field dropout_field(double& share) {
  return config::field("dropout", share,
                       "Share of each hidden layer's outputs that a training step leaves out")
      .at_least(0)
      .below(1);
}

}  // namespace stoker
