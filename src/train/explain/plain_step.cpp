#include "train/explain/plain_step.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/random.h"
#include "base/text/text.h"
#include "kernels/losses.h"

namespace stoker {
namespace {

constexpr std::int64_t most_step_parameters = 4'000'000;

std::size_t size(std::int64_t count) {
  return static_cast<std::size_t>(count);
}

double curve(Activation activation, double x) {
  switch (activation) {
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::tanh:
      return std::tanh(x);
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::gelu:
      return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    case Activation::silu:
      return x / (1 + std::exp(-x));
  }
  return x;
}

double slope_of_curve(Activation activation, double x) {
  const double sigmoid = 1 / (1 + std::exp(-x));
  switch (activation) {
    case Activation::relu:
      return x > 0 ? 1 : 0;
    case Activation::tanh:
      return 1 - std::tanh(x) * std::tanh(x);
    case Activation::sigmoid:
      return sigmoid * (1 - sigmoid);
    case Activation::gelu:
      return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)) +
             x * std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
    case Activation::silu:
      return sigmoid * (1 + x * (1 - sigmoid));
  }
  return 1;
}

StepParameter& parameter_named(StepNetwork& network, const std::string& name) {
  for (StepParameter& each : network.parameters)
    if (each.name == name) return each;
  fail("a network that is taken apart has no parameter {}", name);
}

StepParameter& part_of_layer(StepNetwork& network, std::size_t layer, const char* part) {
  return parameter_named(network, "layers." + std::to_string(layer) + "." + part);
}

// As arrays of the entrance, which knows how rows become inputs.
NamedArrays arrays_of(const StepNetwork& network) {
  NamedArrays arrays = network.buffers;
  for (const StepParameter& each : network.parameters) {
    Array array(DType::float32, each.shape);
    std::ranges::transform(each.values, array.as<float>().begin(),
                           [](double value) { return static_cast<float>(value); });
    arrays.push_back({each.name, std::move(array)});
  }
  return arrays;
}

void refuse_other_rows(const StepBatch& batch, const StepNetwork& network) {
  for (const ArraySpec& wanted : network.network.inputs) {
    const DatasetArray* found = batch.data.find(wanted.name);
    const std::int64_t has = found == nullptr             ? 0
                             : found->row_shape().empty() ? 1
                                                          : found->row_shape().front();
    const std::int64_t reads = wanted.shape.empty() ? 1 : wanted.shape.front();
    if (has != reads)
      refuse(
          "the model reads {} {} of a row, but the rows of the batch have {}; set input_size to {}, or "
          "connect "
          "the batch to the card that builds the model",
          reads, wanted.name, has, has);
  }
}

void let_rows_enter(const StepBatch& batch, const MlpShape& shape, StepNetwork& network) {
  const NamedArrays arrays = arrays_of(network);
  const EntranceRows entrance(shape.entrance, arrays, batch.data);
  std::vector<float> values(size(shape.inputs));
  network.entering.clear();
  for (std::int64_t row = 0; row < batch.rows(); ++row) {
    entrance.put(row, values.data());
    network.entering.insert(network.entering.end(), values.begin(), values.end());
  }
  network.codes.clear();
  const EnteringRows rows(shape.entrance, batch.data);
  for (std::int64_t row = 0; row < batch.rows() && !shape.entrance.categories.empty(); ++row)
    network.codes.insert(network.codes.end(), rows.codes_of(row),
                         rows.codes_of(row) + shape.entrance.categories.size());
}

void drop_values(const StepNetwork& network, const MlpShape& shape, std::size_t layer, StepLayer& made) {
  made.kept.assign(made.active.size(), 1.0);
  const auto probability = static_cast<float>(shape.dropout);
  if (probability <= 0) return;
  const RandomKey key =
      dropout_key(network.seed, static_cast<std::uint64_t>(network.steps), static_cast<std::uint32_t>(layer));
  for (std::size_t i = 0; i < made.active.size(); ++i) {
    const auto element = static_cast<std::uint32_t>(i);
    const bool goes = dropped(random_bits(key, element / 2), element, dropout_threshold(probability));
    made.kept[i] = goes ? 0 : 1 / (1.0 - static_cast<double>(probability));
    made.active[i] *= made.kept[i];
  }
}

StepNumbers products(const StepNumbers& input, const StepParameter& weight, const StepParameter& bias,
                     std::size_t rows) {
  const std::size_t outputs = size(weight.shape[0]);
  const std::size_t inputs = size(weight.shape[1]);
  StepNumbers result(rows * outputs);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t o = 0; o < outputs; ++o) {
      double sum = bias.values[o];
      for (std::size_t i = 0; i < inputs; ++i) sum += weight.values[o * inputs + i] * input[row * inputs + i];
      result[row * outputs + o] = sum;
    }
  return result;
}

// Adds up the gradients of a layer's parameters, and returns those of what it read.
StepNumbers layer_backward(const StepNumbers& input, const StepNumbers& slopes, std::size_t rows,
                           StepParameter& weight, StepParameter& bias) {
  const std::size_t outputs = size(weight.shape[0]);
  const std::size_t inputs = size(weight.shape[1]);
  StepNumbers below(rows * inputs);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t o = 0; o < outputs; ++o) {
      const double slope = slopes[row * outputs + o];
      bias.gradients[o] += slope;
      for (std::size_t i = 0; i < inputs; ++i) {
        weight.gradients[o * inputs + i] += slope * input[row * inputs + i];
        below[row * inputs + i] += slope * weight.values[o * inputs + i];
      }
    }
  return below;
}

// What is learnt of categories stands behind everything else that the first layer reads.
void categories_backward(const MlpShape& shape, const StepNumbers& below, StepNetwork& network) {
  std::int64_t first = shape.inputs;
  for (const Entrance::Category& each : shape.entrance.categories) first -= each.width;
  for (std::size_t c = 0; c < shape.entrance.categories.size(); ++c) {
    const std::int64_t width = shape.entrance.categories[c].width;
    StepParameter& learnt = parameter_named(network, "entrance.categories." + std::to_string(c));
    for (std::int64_t row = 0; row < network.rows; ++row) {
      const std::int64_t code = network.codes[size(row) * shape.entrance.categories.size() + c];
      for (std::int64_t i = 0; i < width; ++i)
        learnt.gradients[size(code * width + i)] += below[size(row * shape.inputs + first + i)];
    }
    first += width;
  }
}

Loss kernel_of(StepLossKind kind, const StepBatch& batch, const LossTerm& term) {
  const bool has_classes = !batch.classes.empty();
  if (kind == StepLossKind::automatic)
    return !has_classes                ? term.kind
           : batch.classes.size() == 2 ? Loss::binary_cross_entropy
                                       : Loss::cross_entropy;
  if (has_classes)
    refuse("the loss {} is for quantities, but {} contains classes: leave it at auto", config::name_of(kind),
           batch.target);
  switch (kind) {
    case StepLossKind::huber:
      return Loss::huber;
    case StepLossKind::mae:
    case StepLossKind::quantile:
      return Loss::quantile;
    default:
      return Loss::mse;
  }
}

double norm_of_gradients(const StepNetwork& network) {
  double squares = 0;
  for (const StepParameter& each : network.parameters)
    for (const double value : each.gradients) squares += value * value;
  return std::sqrt(squares);
}

double sign(double x) {
  return x > 0 ? 1 : x < 0 ? -1 : 0;
}

// One weight: by its gradient and the moments of gradients before.
void update_weight(const StepOptimizer& optimizer, double gradient, double& weight, double* first,
                   double* second) {
  const OptimizerSettings& s = optimizer.settings;
  const double rate = optimizer.learning_rate;
  const auto number = static_cast<double>(optimizer.steps);
  const bool is_decoupled =
      optimizer.kind == StepOptimizerKind::adamw || optimizer.kind == StepOptimizerKind::lion;
  if (is_decoupled) {
    weight *= 1 - rate * s.weight_decay;
  } else {
    gradient += s.weight_decay * weight;
  }
  switch (optimizer.kind) {
    case StepOptimizerKind::sgd:
      if (first != nullptr) *first = s.momentum * *first + gradient;
      weight -= rate * (first != nullptr ? *first : gradient);
      return;
    case StepOptimizerKind::lion:
      weight -= rate * sign(s.beta1 * *first + (1 - s.beta1) * gradient);
      *first = s.beta2 * *first + (1 - s.beta2) * gradient;
      return;
    case StepOptimizerKind::rmsprop:
      *second = s.beta2 * *second + (1 - s.beta2) * gradient * gradient;
      weight -= rate * gradient / (std::sqrt(*second) + s.epsilon);
      return;
    case StepOptimizerKind::adam:
    case StepOptimizerKind::adamw:
      break;
  }
  *first = s.beta1 * *first + (1 - s.beta1) * gradient;
  *second = s.beta2 * *second + (1 - s.beta2) * gradient * gradient;
  const double mean = *first / (1 - std::pow(s.beta1, number));
  const double square = *second / (1 - std::pow(s.beta2, number));
  weight -= rate * mean / (std::sqrt(square) + s.epsilon);
}

}  // namespace

std::int64_t StepBatch::outputs() const {
  if (classes.size() > 2) return std::ssize(classes);
  return data.targets().shape().size() > 1 ? data.targets().dimension(1) : 1;
}

std::int64_t StepNetwork::parameter_count() const {
  std::int64_t count = 0;
  for (const StepParameter& each : parameters) count += std::ssize(each.values);
  return count;
}

std::string step_refusal(const Network& network) {
  const auto shape = mlp_shape(network);
  if (!shape)
    return fmt::format(
        "a training step can be looked into for neural_network and deep_neural_network, whose layers follow "
        "each "
        "other; {} is built otherwise",
        network.family);
  if (shape->entrance.kind == NumberEmbedding::periodic)
    return "number_embedding periodic has learnt waves before the first layer, which are not taken apart; a "
           "training "
           "step can be looked into with none or piecewise_linear";
  if (const std::int64_t count = parameter_count(network); count > most_step_parameters)
    return fmt::format("the network has {} parameters; a training step is looked into with at most {}",
                       human_count(static_cast<std::uint64_t>(count)),
                       human_count(static_cast<std::uint64_t>(most_step_parameters)));
  return "";
}

StepNetwork built_network(const Network& network, std::uint64_t seed, const Dataset* training) {
  if (const std::string refusal = step_refusal(network); !refusal.empty()) refuse("{}", refusal);
  StepNetwork built{.network = network, .seed = seed, .parameters = {}};
  const NamedArrays initial = initial_parameters(network, seed, training);
  for (const ParameterSpec& spec : parameter_specs(network)) {
    const Array array = find_array(initial, spec.name);
    if (!spec.is_trained) {
      built.buffers.push_back({spec.name, array});
      continue;
    }
    const auto values = array.as<float>();
    built.parameters.push_back({spec.name, spec.shape, StepNumbers(values.begin(), values.end())});
  }
  return built;
}

StepOptimizer begun_optimizer(StepOptimizerKind kind, const OptimizerSettings& settings, double learning_rate,
                              const StepNetwork& network) {
  StepOptimizer optimizer{.kind = kind, .settings = settings, .learning_rate = learning_rate, .states = {}};
  const bool has_second = kind != StepOptimizerKind::sgd && kind != StepOptimizerKind::lion;
  const bool has_first =
      kind == StepOptimizerKind::sgd ? settings.momentum > 0 : kind != StepOptimizerKind::rmsprop;
  for (const StepParameter& each : network.parameters)
    optimizer.states.push_back({each.name, StepNumbers(has_first ? each.values.size() : 0),
                                StepNumbers(has_second ? each.values.size() : 0)});
  return optimizer;
}

void clear_gradients(StepOptimizer& optimizer) {
  optimizer.is_cleared = true;
}

void pass_forward(const StepBatch& batch, StepNetwork& network) {
  refuse_other_rows(batch, network);
  const MlpShape shape = network.shape();
  network.rows = batch.rows();
  for (StepParameter& each : network.parameters) each.gradients.clear();
  let_rows_enter(batch, shape, network);
  network.layers.clear();
  for (std::size_t layer = 0; layer < shape.layer_count(); ++layer) {
    const StepNumbers& input = layer == 0 ? network.entering : network.layers.back().active;
    StepLayer made;
    made.linear = products(input, part_of_layer(network, layer, "weight"),
                           part_of_layer(network, layer, "bias"), size(network.rows));
    made.active = made.linear;
    if (layer + 1 < shape.layer_count()) {
      for (double& value : made.active) value = curve(shape.activation, value);
      drop_values(network, shape, layer, made);
    }
    network.layers.push_back(std::move(made));
  }
}

StepLoss loss_of(const StepBatch& batch, const StepNumbers& outputs, StepLossKind kind,
                 const LossTerm& term) {
  const std::int64_t rows = batch.rows();
  if (std::ssize(outputs) != rows * batch.outputs())
    refuse(
        "there are {} predictions for {} rows with {} each; build the model for this target, with the batch "
        "connected to the card that builds it",
        outputs.size(), rows, batch.outputs());
  StepLoss loss{.kind = kind, .term = term, .of_rows = {}, .slopes = {}};
  loss.term.kind = kernel_of(kind, batch, term);
  // Half the distance is the loss of the median.
  const double factor = kind == StepLossKind::mae ? 2 : 1;
  if (kind == StepLossKind::mae) loss.term.quantile = 0.5;
  const std::vector<float> given(outputs.begin(), outputs.end());
  std::vector<float> slopes(given.size());
  std::vector<double> sums(size(rows));
  const float is_stopped = 0;
  kernels::Losses work;
  work.stopped = &is_stopped;
  work.loss = loss.term.kind;
  work.shape = static_cast<float>(loss.term.shape());
  work.smoothing = static_cast<float>(loss.term.label_smoothing);
  work.factor = static_cast<float>(factor);
  work.outputs = given.data();
  if (loss.term.kind == Loss::cross_entropy) {
    work.class_targets = batch.data.targets().as<std::int64_t>().data();
  } else {
    work.float_targets = batch.data.targets().as<float>().data();
  }
  if (const Array* weights = batch.data.find(Role::weights)) work.row_weights = weights->as<float>().data();
  work.rows = rows;
  work.width = batch.outputs();
  work.row_sums = sums.data();
  work.gradients = slopes.data();
  kernels::losses(work);
  for (double& each : sums) each *= factor;
  loss.of_rows = std::move(sums);
  for (const double each : loss.of_rows) loss.mean += each / static_cast<double>(rows);
  loss.slopes.assign(slopes.begin(), slopes.end());
  return loss;
}

void pass_backward(const StepLoss& loss, StepNetwork& network) {
  if (network.layers.empty()) refuse("the model has not been passed forward: connect it from that card");
  if (loss.slopes.size() != network.outputs().size())
    refuse("the loss is of {} outputs, but the model has put out {}: both must come from the same batch",
           loss.slopes.size(), network.outputs().size());
  const MlpShape shape = network.shape();
  for (StepParameter& each : network.parameters) each.gradients.assign(each.values.size(), 0.0);
  StepNumbers slopes = loss.slopes;
  for (std::size_t layer = network.layers.size(); layer-- > 0;) {
    const StepNumbers& input = layer == 0 ? network.entering : network.layers[layer - 1].active;
    slopes = layer_backward(input, slopes, size(network.rows), part_of_layer(network, layer, "weight"),
                            part_of_layer(network, layer, "bias"));
    if (layer == 0) break;
    const StepLayer& below = network.layers[layer - 1];
    for (std::size_t i = 0; i < slopes.size(); ++i)
      slopes[i] *= below.kept[i] * slope_of_curve(shape.activation, below.linear[i]);
  }
  categories_backward(shape, slopes, network);
}

StepChange take_step(StepOptimizer& optimizer, StepNetwork& network) {
  if (optimizer.states.size() != network.parameters.size())
    refuse("the optimizer was made for another model: it knows {} parameters, and the model has {}",
           optimizer.states.size(), network.parameters.size());
  if (std::ranges::any_of(network.parameters, [](const auto& each) { return each.gradients.empty(); }))
    refuse("the model has no gradients: connect it from the card of the backward pass");
  StepChange change;
  change.gradient_norm = norm_of_gradients(network);
  const double limit = optimizer.settings.max_grad_norm;
  if (limit > 0) change.factor = std::min(1.0, limit / (change.gradient_norm + 1e-6));
  ++optimizer.steps;
  for (std::size_t p = 0; p < network.parameters.size(); ++p) {
    StepParameter& parameter = network.parameters[p];
    StepOptimizer::State& state = optimizer.states[p];
    change.before.push_back(parameter.values);
    for (std::size_t i = 0; i < parameter.values.size(); ++i)
      update_weight(optimizer, parameter.gradients[i] * change.factor, parameter.values[i],
                    state.first.empty() ? nullptr : &state.first[i],
                    state.second.empty() ? nullptr : &state.second[i]);
  }
  ++network.steps;
  optimizer.is_cleared = false;
  return change;
}

}  // namespace stoker
