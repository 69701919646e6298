#include "model/network/sequence.h"

#include "base/error.h"

namespace stoker {

WindowShape window_shape(const Network& network) {
  if (network.inputs.size() != 1 || network.inputs.front().shape.size() != 2)
    refuse(
        "{} reads windows of a series, but is given rows of a table; put a card 'windows' between the data "
        "and the training, or choose a model that reads tables, for example neural_network",
        network.family);
  const Shape& shape = network.inputs.front().shape;
  return {shape[0], shape[1]};
}

InputForm form_of_windows(const config::Value&) {
  InputForm form(Scaling::standard);
  form.reads_windows = true;
  return form;
}

std::int64_t multiply_adds_over_moments(const Network& network) {
  const std::int64_t length = window_shape(network).length;
  std::int64_t count = 0;
  for (const ParameterSpec& spec : parameter_specs(network))
    if (spec.shape.size() > 1) count += spec.size() * (spec.name.starts_with("head.") ? 1 : length);
  return count;
}

void add_sequence_end(const SequenceEnd& end, ParameterSpecs& specs) {
  if (end.pooling == Pooling::attention) {
    add_linear("pooling.scores", end.width, end.half(), specs);
    add_linear("pooling.weights", end.half(), 1, specs);
  }
  if (end.layer_norm) add_layer_norm("head.norm", end.width, specs);
  add_linear("head.hidden", end.width, end.half(), specs);
  if (end.layer_norm) add_layer_norm("head.hidden_norm", end.half(), specs);
  add_linear("head.last", end.half(), end.outputs, specs);
}

void add_setting_error(const std::string& setting, std::string message, const std::string& path,
                       const config::Value* written, config::Diagnostics& diagnostics) {
  const config::Value* value = written != nullptr ? written->find(setting) : nullptr;
  const int line = value != nullptr ? value->line() : written != nullptr ? written->line() : 0;
  diagnostics.add(line, path.empty() ? setting : path + "." + setting, std::move(message));
}

}  // namespace stoker
