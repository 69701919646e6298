#include "train/explain/step_arrays.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr const char* about_name = "about";
constexpr const char* buffers_prefix = "buffers.";

void add_about(const json& about, NamedArrays& arrays) {
  const std::string text = about.dump(-1, ' ', false, json::error_handler_t::replace);
  const std::vector<std::uint8_t> bytes(text.begin(), text.end());
  arrays.push_back({about_name, Array::from<std::uint8_t>(bytes, {std::ssize(bytes)})});
}

json about_of(const NamedArrays& arrays, const char* what) {
  const auto found = std::ranges::find(arrays, about_name, &NamedArray::name);
  json about;
  if (found != arrays.end() && found->array.type() == DType::uint8) {
    const auto bytes = found->array.as<std::uint8_t>();
    about = json::parse(bytes.begin(), bytes.end(), nullptr, false);
  }
  if (!about.is_object() || about.value("what", "") != what)
    refuse("these arrays are no {} of a training step", what);
  return about;
}

void add_numbers(const std::string& name, const StepNumbers& numbers, NamedArrays& arrays) {
  arrays.push_back({name, Array::from<double>(numbers, {std::ssize(numbers)})});
}

StepNumbers numbers_named(const NamedArrays& arrays, const std::string& name) {
  const auto values = find_array(arrays, name).as<double>();
  return {values.begin(), values.end()};
}

json term_told(const LossTerm& term) {
  return {{"kind", config::name_of(term.kind)},
          {"huber_delta", term.huber_delta},
          {"quantile", term.quantile},
          {"label_smoothing", term.label_smoothing}};
}

template <class Enum>
Enum value_named(const json& name) {
  for (std::size_t i = 0; i < config::names<Enum>.size(); ++i)
    if (config::names<Enum>[i] == name.get<std::string>()) return static_cast<Enum>(i);
  refuse("'{}' is none of the names that a training step has", name.get<std::string>());
}

}  // namespace

NamedArrays to_arrays(const StepBatch& batch) {
  NamedArrays arrays;
  json roles = json::array();
  for (const DatasetArray& each : batch.data.arrays) {
    roles.push_back({{"name", each.name}, {"role", static_cast<int>(each.role)}});
    arrays.push_back({"data." + each.name, each.array});
  }
  add_about({{"what", "batch"},
             {"arrays", std::move(roles)},
             {"row_numbers", batch.row_numbers},
             {"columns", batch.columns},
             {"target", batch.target},
             {"classes", batch.classes},
             {"target_shift", batch.target_shift},
             {"target_scale", batch.target_scale}},
            arrays);
  return arrays;
}

StepBatch batch_from(const NamedArrays& arrays) {
  const json about = about_of(arrays, "batch");
  StepBatch batch;
  for (const json& each : about.at("arrays")) {
    const std::string name = each.at("name");
    batch.data.arrays.push_back(
        {name, static_cast<Role>(each.at("role").get<int>()), find_array(arrays, "data." + name)});
  }
  batch.row_numbers = about.at("row_numbers").get<std::vector<std::int64_t>>();
  batch.columns = about.at("columns").get<std::vector<std::string>>();
  batch.target = about.at("target");
  batch.classes = about.at("classes").get<std::vector<std::string>>();
  batch.target_shift = about.at("target_shift");
  batch.target_scale = about.at("target_scale");
  return batch;
}

NamedArrays to_arrays(const StepNetwork& network) {
  NamedArrays arrays;
  json parameters = json::array();
  for (const StepParameter& each : network.parameters) {
    parameters.push_back({{"name", each.name}, {"shape", each.shape}});
    add_numbers("values." + each.name, each.values, arrays);
    add_numbers("gradients." + each.name, each.gradients, arrays);
  }
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const std::string layer = "layers." + std::to_string(i);
    add_numbers(layer + ".linear", network.layers[i].linear, arrays);
    add_numbers(layer + ".kept", network.layers[i].kept, arrays);
    add_numbers(layer + ".active", network.layers[i].active, arrays);
  }
  add_numbers("entering", network.entering, arrays);
  arrays.push_back({"codes", Array::from<std::int64_t>(network.codes, {std::ssize(network.codes)})});
  for (const NamedArray& each : network.buffers) arrays.push_back({buffers_prefix + each.name, each.array});
  add_about({{"what", "network"},
             {"network", to_json(network.network)},
             {"seed", network.seed},
             {"steps", network.steps},
             {"rows", network.rows},
             {"layers", network.layers.size()},
             {"parameters", std::move(parameters)}},
            arrays);
  return arrays;
}

StepNetwork network_from(const NamedArrays& arrays) {
  const json about = about_of(arrays, "network");
  StepNetwork network{.network = network_from_json(about.at("network")), .parameters = {}};
  network.seed = about.at("seed");
  network.steps = about.at("steps");
  network.rows = about.at("rows");
  for (const json& each : about.at("parameters")) {
    const std::string name = each.at("name");
    network.parameters.push_back({name, each.at("shape").get<Shape>(),
                                  numbers_named(arrays, "values." + name),
                                  numbers_named(arrays, "gradients." + name)});
  }
  for (std::size_t i = 0; i < about.at("layers").get<std::size_t>(); ++i) {
    const std::string layer = "layers." + std::to_string(i);
    network.layers.push_back({numbers_named(arrays, layer + ".linear"),
                              numbers_named(arrays, layer + ".kept"),
                              numbers_named(arrays, layer + ".active")});
  }
  network.entering = numbers_named(arrays, "entering");
  const auto codes = find_array(arrays, "codes").as<std::int64_t>();
  network.codes.assign(codes.begin(), codes.end());
  for (const NamedArray& each : arrays)
    if (each.name.starts_with(buffers_prefix))
      network.buffers.push_back({each.name.substr(std::string(buffers_prefix).size()), each.array});
  return network;
}

NamedArrays to_arrays(const StepOptimizer& optimizer) {
  NamedArrays arrays;
  json names = json::array();
  for (const StepOptimizer::State& each : optimizer.states) {
    names.push_back(each.parameter);
    add_numbers("first." + each.parameter, each.first, arrays);
    add_numbers("second." + each.parameter, each.second, arrays);
  }
  const OptimizerSettings& s = optimizer.settings;
  add_about({{"what", "optimizer"},
             {"kind", config::name_of(optimizer.kind)},
             {"learning_rate", optimizer.learning_rate},
             {"steps", optimizer.steps},
             {"is_cleared", optimizer.is_cleared},
             {"momentum", s.momentum},
             {"weight_decay", s.weight_decay},
             {"beta1", s.beta1},
             {"beta2", s.beta2},
             {"epsilon", s.epsilon},
             {"max_grad_norm", s.max_grad_norm},
             {"parameters", std::move(names)}},
            arrays);
  return arrays;
}

StepOptimizer optimizer_from(const NamedArrays& arrays) {
  const json about = about_of(arrays, "optimizer");
  StepOptimizer optimizer{
      .kind = value_named<StepOptimizerKind>(about.at("kind")), .settings = {}, .states = {}};
  optimizer.learning_rate = about.at("learning_rate");
  optimizer.steps = about.at("steps");
  optimizer.is_cleared = about.at("is_cleared");
  OptimizerSettings& s = optimizer.settings;
  s.momentum = about.at("momentum");
  s.weight_decay = about.at("weight_decay");
  s.beta1 = about.at("beta1");
  s.beta2 = about.at("beta2");
  s.epsilon = about.at("epsilon");
  s.max_grad_norm = about.at("max_grad_norm");
  for (const json& each : about.at("parameters")) {
    const std::string name = each;
    optimizer.states.push_back(
        {name, numbers_named(arrays, "first." + name), numbers_named(arrays, "second." + name)});
  }
  return optimizer;
}

NamedArrays to_arrays(const StepLoss& loss) {
  NamedArrays arrays;
  add_numbers("of_rows", loss.of_rows, arrays);
  add_numbers("slopes", loss.slopes, arrays);
  add_about({{"what", "loss"},
             {"kind", config::name_of(loss.kind)},
             {"term", term_told(loss.term)},
             {"mean", loss.mean}},
            arrays);
  return arrays;
}

StepLoss loss_from(const NamedArrays& arrays) {
  const json about = about_of(arrays, "loss");
  StepLoss loss{.kind = value_named<StepLossKind>(about.at("kind")),
                .term = {},
                .of_rows = numbers_named(arrays, "of_rows"),
                .slopes = numbers_named(arrays, "slopes")};
  const json& term = about.at("term");
  loss.term.kind = value_named<Loss>(term.at("kind"));
  loss.term.huber_delta = term.at("huber_delta");
  loss.term.quantile = term.at("quantile");
  loss.term.label_smoothing = term.at("label_smoothing");
  loss.mean = about.at("mean").is_number() ? about.at("mean").get<double>() : 0;
  return loss;
}

}  // namespace stoker
