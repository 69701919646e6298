#include "pipeline/document/model_definition.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "model/network/sequence.h"
#include "train/loop/metric_stopping.h"

namespace stoker {
namespace {

using config::Described;
using config::Diagnostics;
using config::Fields;
using config::Value;

constexpr const char* default_solved = "linear_regression";
constexpr const char* default_trained = "neural_network";

config::Field type_field(std::string& type, bool are_solved) {
  config::Field field = config::field("model_type", type, "Family of the model");
  field.choices = family_names(are_solved);
  return field;
}

// The family that the settings ask for; the default where they name none that there is, which reading them
// tells.
const Family& chosen_family(const Value& config, bool is_solved) {
  const Value* type = config.find("model_type");
  const std::string* name = type == nullptr ? nullptr : type->get_if<std::string>();
  const Family* family = name == nullptr ? nullptr : find_family(*name);
  const bool is_usable = family != nullptr && family->is_solved() == is_solved;
  return is_usable ? *family : family_named(is_solved ? default_solved : default_trained);
}

void append(Fields& all, Fields more) {
  for (config::Field& each : more) all.push_back(std::move(each));
}

bool has_field(const Fields& fields, const std::string& name) {
  return std::any_of(fields.begin(), fields.end(),
                     [&](const config::Field& each) { return each.name == name; });
}

struct SolvedDefinition {
  std::string model_type = default_solved;
  Value hyperparameters{Value::Map{}};
};
Fields fields(SolvedDefinition& c) {
  return {type_field(c.model_type, true), config::field("hyperparameters", c.hyperparameters,
                                                        "Settings of that family; see the tables below")};
}

struct TrainedDefinition {
  std::string model_type = default_trained;
  TrainingSettings training;
  std::vector<Described> families;
};

std::vector<config::TitledSettings> settings_by_family(bool are_solved, const char* what) {
  std::vector<config::TitledSettings> all;
  for (const Family& family : families())
    if (family.is_solved() == are_solved)
      all.push_back({fmt::format("{} of `{}`", what, family.name), family.describe()});
  return all;
}

}  // namespace

Described describe_solved() {
  auto owner = std::make_shared<SolvedDefinition>();
  return {owner, fields(*owner)};
}

ModelSpec read_solved(const Value& config, const std::string& path, Diagnostics& diagnostics) {
  const auto definition = config::read<SolvedDefinition>(config, path, diagnostics);
  const Family& family = chosen_family(config, true);
  Value settings =
      checked_settings(family, definition.hyperparameters, path + ".hyperparameters", diagnostics);
  return {std::string(family.name), std::move(settings), {}};
}

std::vector<config::TitledSettings> settings_of_solved() {
  return settings_by_family(true, "Hyperparameters");
}

Described describe_trained() {
  auto owner = std::make_shared<TrainedDefinition>();
  Fields all{type_field(owner->model_type, false)};
  for (const Family& family : families()) {
    if (family.is_solved()) continue;
    const Described& own = owner->families.emplace_back(family.describe());
    for (const config::Field& each : own.fields)
      if (!has_field(all, each.name)) all.push_back(each);
  }
  append(all, fields(owner->training));
  return {owner, std::move(all)};
}

ModelSpec read_trained(const Value& config, const std::string& path, Diagnostics& diagnostics) {
  const Family& family = chosen_family(config, false);
  ModelSpec spec{std::string(family.name), {}, {}};
  std::string type = default_trained;
  const Described own = family.describe();
  Fields all{type_field(type, false)};
  append(all, own.fields);
  append(all, fields(spec.training));
  config::read_fields(all, config, path, diagnostics);
  spec.settings = config::write_fields(own.fields);
  if (family.check != nullptr) family.check(spec.settings, path, &config, diagnostics);
  check(spec.training, path, diagnostics, &config);
  if (const std::string problem = problem_with_stopping_metric(spec.training, family); !problem.empty())
    add_setting_error("early_stopping_metric", problem, path, &config, diagnostics);
  return spec;
}

std::vector<config::TitledSettings> settings_of_trained() {
  return settings_by_family(false, "Settings");
}

Value settings_of(const ModelSpec& spec) {
  Value all;
  all.set("model_type", spec.family);
  if (spec.is_solved()) {
    all.set("hyperparameters", spec.settings);
    return all;
  }
  for (const Value& part : {spec.settings, config::write(spec.training)})
    for (const config::Entry& entry : *part.get_if<Value::Map>()) all.set(entry.key, entry.value);
  return all;
}

nlohmann::json spec_to_json(const ModelSpec& spec) {
  return {{"family", spec.family}, {"settings", config::to_json(settings_of(spec))}};
}

ModelSpec spec_from_json(const nlohmann::json& json) {
  if (!json.is_object() || !json.contains("settings")) refuse("this is not a model specification");
  const Value settings = config::from_json(json.at("settings"));
  const Value* type = settings.find("model_type");
  const std::string* name = type == nullptr ? nullptr : type->get_if<std::string>();
  if (name == nullptr) refuse("this is not a model specification");
  Diagnostics diagnostics("model specification");
  ModelSpec spec = family_named(*name).is_solved() ? read_solved(settings, "settings", diagnostics)
                                                   : read_trained(settings, "settings", diagnostics);
  diagnostics.refuse_if_any();
  return spec;
}

}  // namespace stoker
