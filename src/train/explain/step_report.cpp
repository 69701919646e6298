#include "train/explain/step_report.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/nan_sign.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr std::size_t most_numbers_told = 1'024;
constexpr std::size_t corner_size = 8;

// As many digits as a float has: more would be noise, and long.
double shown_number(double number) {
  return std::isfinite(number) ? std::strtod(fmt::format("{:.9g}", number).c_str(), nullptr)
                               : without_nan_sign(number);
}

json numbers_told(std::span<const double> numbers) {
  json list = json::array();
  for (const double each : numbers) list.push_back(shown_number(each));
  return list;
}

json rows_told(std::span<const double> numbers, std::size_t width, std::size_t rows, std::size_t columns) {
  json list = json::array();
  for (std::size_t row = 0; row < rows; ++row)
    list.push_back(numbers_told(numbers.subspan(row * width, columns)));
  return list;
}

double norm_of(std::span<const double> numbers) {
  double squares = 0;
  for (const double each : numbers) squares += each * each;
  return std::sqrt(squares);
}

json array_told(std::span<const double> numbers, const Shape& shape) {
  json told{{"shape", shape}};
  if (numbers.empty()) return told;
  const auto [lowest, highest] = std::ranges::minmax_element(numbers);
  double mean = 0;
  for (const double each : numbers) mean += each / static_cast<double>(numbers.size());
  told.update({{"lowest", shown_number(*lowest)},
               {"highest", shown_number(*highest)},
               {"mean", shown_number(mean)},
               {"norm", shown_number(norm_of(numbers))}});
  const std::size_t width = shape.empty() ? 1 : static_cast<std::size_t>(shape.back());
  const std::size_t rows = numbers.size() / width;
  const bool is_whole = numbers.size() <= most_numbers_told;
  const std::size_t shown_rows = is_whole ? rows : std::min(rows, corner_size);
  const std::size_t shown_columns = is_whole ? width : std::min(width, corner_size);
  told[is_whole ? "values" : "corner"] = shape.size() < 2
                                             ? numbers_told(numbers.first(shown_columns))
                                             : rows_told(numbers, width, shown_rows, shown_columns);
  return told;
}

json step_told(const char* name, const char* title, std::string text, json numbers) {
  numbers.update({{"step", name}, {"title", title}, {"text", std::move(text)}});
  return numbers;
}

StepNumbers as_numbers(const Array& array) {
  if (array.type() == DType::int64) {
    const auto whole = array.as<std::int64_t>();
    return {whole.begin(), whole.end()};
  }
  const auto floats = array.as<float>();
  return {floats.begin(), floats.end()};
}

StepNumbers in_real_units(const StepBatch& batch, StepNumbers targets) {
  for (double& each : targets) each = each * batch.target_scale + batch.target_shift;
  return targets;
}

std::string name_of_layer(std::size_t layer) {
  return fmt::format("layers.{}", layer);
}

std::string name_of_loss(const StepLoss& loss) {
  return loss.kind == StepLossKind::mae ? "mae" : std::string(config::name_of(loss.term.kind));
}

const char* meaning_of(Loss loss, StepLossKind kind) {
  if (kind == StepLossKind::mae) return "The loss of a row is how far its prediction is off.";
  switch (loss) {
    case Loss::huber:
      return "The loss of a row is half the square of how far its prediction is off, and linear far out, so "
             "that few "
             "strange rows do not decide everything.";
    case Loss::quantile:
      return "The loss of a row is how far its prediction is off, weighed differently above and below the "
             "target.";
    case Loss::binary_cross_entropy:
    case Loss::cross_entropy:
      return "The loss of a row is the negative logarithm of the probability that the model gives to its "
             "class.";
    default:
      return "The loss of a row is the square of how far its prediction is off.";
  }
}

json settings_told(const StepOptimizer& optimizer) {
  const OptimizerSettings& s = optimizer.settings;
  json told{{"weight_decay", s.weight_decay}, {"max_grad_norm", s.max_grad_norm}};
  switch (optimizer.kind) {
    case StepOptimizerKind::sgd:
      told["momentum"] = s.momentum;
      break;
    case StepOptimizerKind::rmsprop:
      told.update({{"beta2", s.beta2}, {"epsilon", s.epsilon}});
      break;
    case StepOptimizerKind::lion:
      told.update({{"beta1", s.beta1}, {"beta2", s.beta2}});
      break;
    default:
      told.update({{"beta1", s.beta1}, {"beta2", s.beta2}, {"epsilon", s.epsilon}});
  }
  return told;
}

json states_told(const StepOptimizer& optimizer) {
  json states = json::array();
  for (const StepOptimizer::State& each : optimizer.states) {
    json state{{"parameter", each.parameter}};
    const auto length = [](const StepNumbers& numbers) { return Shape{std::ssize(numbers)}; };
    if (!each.first.empty()) state["first_moment"] = array_told(each.first, length(each.first));
    if (!each.second.empty()) state["second_moment"] = array_told(each.second, length(each.second));
    states.push_back(std::move(state));
  }
  return states;
}

}  // namespace

json batch_report(const StepBatch& batch) {
  json told{{"rows", batch.rows()}, {"row_numbers", batch.row_numbers}, {"target", batch.target}};
  for (const DatasetArray& each : batch.data.arrays) {
    if (each.role != Role::features) continue;
    json array = array_told(as_numbers(each.array), each.array.shape());
    if (each.name == "features") array["columns"] = batch.columns;
    told["inputs"][each.name] = std::move(array);
  }
  const StepNumbers targets = as_numbers(batch.data.targets());
  told["targets"] = numbers_told(targets);
  if (batch.classes.empty()) {
    told["real_targets"] = numbers_told(in_real_units(batch, targets));
  } else {
    told["classes"] = batch.classes;
  }
  if (const Array* weights = batch.data.find(Role::weights))
    told["weights"] = numbers_told(as_numbers(*weights));
  return step_told(
      "prepare_batch", "Prepare a batch",
      fmt::format("{} rows are taken, and their columns become numbers of about the same size. The "
                  "model is to predict {} for each of them.",
                  batch.rows(), batch.target),
      std::move(told));
}

json network_report(const StepNetwork& network) {
  const MlpShape shape = network.shape();
  json layers = json::array();
  for (std::size_t i = 0; i < shape.layer_count(); ++i) {
    json layer{
        {"name", name_of_layer(i)}, {"inputs", shape.layer_inputs(i)}, {"outputs", shape.layer_outputs(i)}};
    if (i + 1 < shape.layer_count()) {
      layer["activation"] = config::name_of(shape.activation);
      layer["dropout"] = shape.dropout;
    }
    layers.push_back(std::move(layer));
  }
  json parameters = json::array();
  for (const StepParameter& each : network.parameters) {
    json parameter = array_told(each.values, each.shape);
    parameter["name"] = each.name;
    parameters.push_back(std::move(parameter));
  }
  return step_told(
      "build_model", "Build the model",
      fmt::format("{} layers with {} weights, which begin as small random numbers (seed {}). They are "
                  "all that the model will learn.",
                  shape.layer_count(), network.parameter_count(), network.seed),
      {{"family", network.network.family},
       {"parameter_count", network.parameter_count()},
       {"seed", network.seed},
       {"layers", std::move(layers)},
       {"parameters", std::move(parameters)}});
}

json optimizer_report(const StepOptimizer& optimizer) {
  return step_told(
      "init_optimizer", "Begin with the optimizer",
      fmt::format("{} will change the weights, with a learning rate of {:.6g}. What it remembers of earlier "
                  "gradients is still 0.",
                  config::name_of(optimizer.kind), optimizer.learning_rate),
      {{"optimizer", config::name_of(optimizer.kind)},
       {"learning_rate", optimizer.learning_rate},
       {"steps", optimizer.steps},
       {"settings", settings_told(optimizer)},
       {"states", states_told(optimizer)}});
}

json cleared_report(const StepOptimizer& optimizer) {
  json parameters = json::array();
  for (const StepOptimizer::State& each : optimizer.states)
    parameters.push_back({{"name", each.parameter}, {"gradient_norm", 0.0}});
  return step_told(
      "zero_grad", "Clear the gradients",
      "Gradients of the step before are set to 0: otherwise those of this one would be added to them.",
      {{"parameters", std::move(parameters)}});
}

json forward_report(const StepBatch& batch, const StepNetwork& network) {
  const MlpShape shape = network.shape();
  json layers = json::array();
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const StepLayer& made = network.layers[i];
    const Shape size{network.rows, shape.layer_outputs(i)};
    json layer{{"name", name_of_layer(i)},
               {"linear", array_told(made.linear, size)},
               {"active", array_told(made.active, size)}};
    if (!made.kept.empty()) layer["dropped"] = std::ranges::count(made.kept, 0.0);
    layers.push_back(std::move(layer));
  }
  json told{{"layers", std::move(layers)},
            {"predictions", array_told(network.outputs(), {network.rows, shape.outputs})}};
  if (batch.classes.empty()) told["real_predictions"] = numbers_told(in_real_units(batch, network.outputs()));
  return step_told(
      "forward", "Pass forward",
      "Each layer multiplies what it reads by its weights and adds its biases; between layers the "
      "activation bends the result, and dropout leaves some of it out. The last layer's outputs are the "
      "predictions.",
      std::move(told));
}

json loss_report(const StepBatch& batch, const StepNumbers& outputs, const StepLoss& loss) {
  return step_told("loss", "Calculate the loss",
                   fmt::format("{} Its mean over the rows, {:.6g}, is what training makes small.",
                               meaning_of(loss.term.kind, loss.kind), without_nan_sign(loss.mean)),
                   {{"loss", name_of_loss(loss)},
                    {"mean", shown_number(loss.mean)},
                    {"of_rows", numbers_told(loss.of_rows)},
                    {"slopes", array_told(loss.slopes, {batch.rows(), std::ssize(outputs) / batch.rows()})}});
}

json backward_report(const StepNetwork& network) {
  json gradients = json::array();
  StepNumbers norms;
  for (const StepParameter& each : network.parameters) {
    json gradient = array_told(each.gradients, each.shape);
    gradient["name"] = each.name;
    norms.push_back(norm_of(each.gradients));
    gradients.push_back(std::move(gradient));
  }
  return step_told(
      "backward", "Pass backward",
      "From the loss back to the first layer: how much the loss would grow with each weight. That is its "
      "gradient.",
      {{"gradient_norm", shown_number(norm_of(norms))}, {"gradients", std::move(gradients)}});
}

json change_report(const StepChange& change, const StepNetwork& network, const StepOptimizer& optimizer) {
  json parameters = json::array();
  for (std::size_t p = 0; p < network.parameters.size(); ++p) {
    const StepParameter& each = network.parameters[p];
    StepNumbers difference(each.values.size());
    std::ranges::transform(each.values, change.before[p], difference.begin(), std::minus<>());
    parameters.push_back({{"name", each.name},
                          {"before", array_told(change.before[p], each.shape)},
                          {"after", array_told(each.values, each.shape)},
                          {"change", array_told(difference, each.shape)}});
  }
  std::string text = fmt::format(
      "{} moves every weight a little against its gradient, so that the loss of these rows "
      "falls.",
      config::name_of(optimizer.kind));
  if (change.factor < 1)
    text += fmt::format(" Together the gradients were longer than {:.6g}, and were shortened to it.",
                        optimizer.settings.max_grad_norm);
  return step_told("optimizer_step", "Take the step", std::move(text),
                   {{"optimizer", config::name_of(optimizer.kind)},
                    {"steps", optimizer.steps},
                    {"learning_rate", optimizer.learning_rate},
                    {"gradient_norm", shown_number(change.gradient_norm)},
                    {"shortened_by", shown_number(change.factor)},
                    {"parameters", std::move(parameters)},
                    {"states", states_told(optimizer)}});
}

}  // namespace stoker
