#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/random.h"
#include "model/experts/experts.h"
#include "model/family.h"
#include "model/linear/linear_families.h"
#include "model/linear/logistic.h"
#include "model/network/cnn1d.h"
#include "model/network/mlp.h"
#include "model/network/node_graph_family.h"
#include "model/network/recurrent.h"
#include "model/network/residual_mlp.h"
#include "model/network/temporal_mlp.h"
#include "model/network/transformer.h"
#include "model/network/triangulation.h"

namespace stoker {
namespace {

Array initial(const ParameterSpec& spec, RandomKey key) {
  Array array(DType::float32, spec.shape);
  std::uint32_t index = 0;
  for (float& each : array.as<float>()) {
    double value = spec.value;
    if (spec.bound > 0) value = (2 * uniform(key, index++) - 1) * spec.bound;
    if (spec.deviation > 0) value = normal(key, index++) * spec.deviation;
    each = static_cast<float>(value);
  }
  if (spec.rows_begun >= 0) {
    const auto values = array.as<float>();
    const std::int64_t row = spec.size() / std::max<std::int64_t>(spec.shape.front(), 1);
    std::fill(values.begin() + spec.rows_begun * row, values.end(), 0.0F);
  }
  return array;
}

std::vector<Family>& table() {
  static std::vector<Family> all{
      linear_family(LinearKind::linear_regression),
      linear_family(LinearKind::ridge),
      linear_family(LinearKind::lasso),
      linear_family(LinearKind::ridge_cv),
      linear_family(LinearKind::lasso_cv),
      logistic_regression(),
      neural_network(),
      deep_neural_network(),
      residual_mlp(),
      lstm(),
      gru(),
      transformer(),
      temporal_mlp(),
      cnn1d(),
      triangulation(),
      mixture_of_experts(),
      node_graph(),
  };
  return all;
}

}  // namespace

std::span<const Family> families() {
  return table();
}

void add_family(const Family& family) {
  table().push_back(family);
}

const Family* find_family(std::string_view name) {
  const std::span<const Family> all = families();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Family& each) { return each.name == name; });
  return found == all.end() ? nullptr : &*found;
}

const Family& family_named(std::string_view name) {
  if (const Family* found = find_family(name)) return *found;
  refuse("this version of Stoker does not know the model '{}'", name);
}

std::vector<std::string> family_names(bool are_solved) {
  std::vector<std::string> names;
  for (const Family& each : families())
    if (each.is_solved() == are_solved) names.emplace_back(each.name);
  return names;
}

config::Value checked_settings(const Family& family, const config::Value& settings, const std::string& path,
                               config::Diagnostics& diagnostics) {
  const config::Described described = family.describe();
  config::read_fields(described.fields, settings, path, diagnostics);
  config::Value all = config::write_fields(described.fields);
  if (family.check != nullptr) family.check(all, path, &settings, diagnostics);
  return all;
}

InputForm form_of(const Family& family, const config::Value& settings) {
  if (family.form != nullptr) return family.form(settings);
  return family.is_solved() ? Scaling::none : Scaling::standard;
}

namespace {

// A network over cubes knows their wavelengths, where the document does not give others.
void set_wavelengths(const CubesRead& cubes, config::Value& settings) {
  const config::Value* given = settings.find("channel_wavelengths");
  const auto* list = given == nullptr ? nullptr : given->get_if<config::Value::List>();
  if (list == nullptr || !list->empty()) return;
  config::Value::List all;
  for (const double each : cubes.wavelengths) all.emplace_back(each);
  settings.set("channel_wavelengths", config::Value(std::move(all)));
}

}  // namespace

Network network_for(const Family& family, config::Value settings, const Preparation& preparation) {
  const std::int64_t outputs = outputs_for(family, settings, preparation);
  if (const CubesRead* cubes = preparation.cubes()) set_wavelengths(*cubes, settings);
  return {std::string(family.name), std::move(settings), preparation.inputs(family.type()), outputs};
}

std::int64_t outputs_for(const Family& family, const config::Value& settings,
                         const Preparation& preparation) {
  const bool many = preparation.task() == Task::multiclass;
  const std::int64_t of_task = many ? static_cast<std::int64_t>(preparation.classes().size())
                                    : preparation.steps() + (family.tells_variance ? 1 : 0);
  return of_task + (family.outputs_behind == nullptr ? 0 : family.outputs_behind(settings));
}

std::int64_t predicting_outputs(const Network& network) {
  const Family& family = family_of(network);
  return network.outputs - (family.outputs_behind == nullptr ? 0 : family.outputs_behind(network.settings));
}

std::string layout_of(const Network& network) {
  const Family& family = family_of(network);
  return family.layout == nullptr ? to_json(network).dump() : family.layout(network);
}

std::vector<ParameterSpec> parameter_specs(const Network& network) {
  return family_of(network).parameters(network);
}

std::vector<Phase> phases_of(const Network& network) {
  const Family& family = family_of(network);
  return family.phases == nullptr ? std::vector<Phase>{GradientPhase{}} : family.phases(network);
}

std::int64_t parameter_count(const Network& network) {
  std::int64_t count = 0;
  for (const ParameterSpec& spec : parameter_specs(network)) count += spec.size();
  return count;
}

std::int64_t multiply_adds(const Network& network) {
  const Family& family = family_of(network);
  if (family.multiply_adds != nullptr) return family.multiply_adds(network);
  std::int64_t count = 0;
  for (const ParameterSpec& spec : parameter_specs(network))
    if (spec.shape.size() > 1) count += spec.size();
  return count;
}

NamedArrays initial_parameters(const Network& network, std::uint64_t seed, const Dataset* training) {
  NamedArrays parameters;
  std::uint64_t number = 0;
  for (const ParameterSpec& spec : parameter_specs(network))
    parameters.push_back({spec.name, initial(spec, random_key(seed, Purpose::initialise, number++))});
  const Family& family = family_of(network);
  if (training != nullptr && family.learn_buffers != nullptr)
    family.learn_buffers(network, *training, seed, parameters);
  return parameters;
}

}  // namespace stoker
