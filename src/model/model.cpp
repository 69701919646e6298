#include "model/model.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/hashed_file.h"
#include "model/linear.h"
#include "model/safetensors.h"

namespace stoker {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* model_format = "stoker-model";
constexpr std::int64_t format_version = 1;
constexpr std::size_t most_description_bytes = std::size_t{64} << 20;

json network_to_json(const MlpShape& shape) {
  return {{"inputs", shape.inputs},
          {"hidden_layers", shape.hidden_layers},
          {"outputs", shape.outputs},
          {"activation", config::name_of(shape.activation)},
          {"dropout", shape.dropout}};
}

Activation activation_from(const std::string& name) {
  const auto& known = config::names<Activation>;
  const auto found = std::find(known.begin(), known.end(), name);
  if (found == known.end()) refuse("its activation is '{}', which is not one of this version", name);
  return static_cast<Activation>(found - known.begin());
}

MlpShape network_from_json(const json& text) {
  MlpShape shape;
  shape.inputs = text.at("inputs").get<std::int64_t>();
  shape.hidden_layers = text.at("hidden_layers").get<std::vector<std::int64_t>>();
  shape.outputs = text.at("outputs").get<std::int64_t>();
  shape.activation = activation_from(text.at("activation").get<std::string>());
  shape.dropout = text.at("dropout").get<double>();
  return shape;
}

json to_json(const Model& model) {
  json text = {{"format", model_format},
               {"version", format_version},
               {"type", model.type},
               {"task", config::name_of(model.preparation.task())},
               {"preparation", model.preparation.to_json()}};
  if (model.alpha) text["alpha"] = *model.alpha;
  if (model.network) text["network"] = network_to_json(*model.network);
  return text;
}

// All but the parameters.
Model from_json(const json& text) {
  if (!text.is_object() || text.value("format", "") != model_format)
    refuse("it does not describe a Stoker model");
  const auto version = text.at("version").get<std::int64_t>();
  if (version != format_version) {
    refuse(
        "its format is version {}, and this program reads version {}; use the version of Stoker that wrote "
        "it",
        version, format_version);
  }
  Model model;
  model.type = text.at("type").get<std::string>();
  model.preparation = Preparation::from_json(text.at("preparation"));
  if (text.contains("network")) model.network = network_from_json(text.at("network"));
  // Earlier versions wrote a zero for networks, which have none.
  if (!model.network && text.contains("alpha")) model.alpha = text.at("alpha").get<double>();
  if (text.at("task").get<std::string>() != config::name_of(model.preparation.task())) {
    refuse("its task and its preparation do not fit each other");
  }
  return model;
}

struct Expected {
  std::string name;
  DType type;
  Shape shape;
};

std::vector<Expected> expected_parameters(const Model& model) {
  if (!model.network) {
    return {{"coefficients", DType::float64, {model.preparation.feature_count()}},
            {"intercept", DType::float64, {1}}};
  }
  std::vector<Expected> expected;
  const MlpShape& shape = *model.network;
  for (std::size_t i = 0; i < shape.layer_count(); ++i) {
    expected.push_back({fmt::format("layers.{}.weight", i),
                        DType::float32,
                        {shape.layer_outputs(i), shape.layer_inputs(i)}});
    expected.push_back({fmt::format("layers.{}.bias", i), DType::float32, {shape.layer_outputs(i)}});
  }
  return expected;
}

bool is_linear_type(const std::string& type) {
  const auto& known = config::names<LinearKind>;
  return std::find(known.begin(), known.end(), type) != known.end();
}

void refuse_wrong_network(const Model& model) {
  const Preparation& preparation = model.preparation;
  if (is_linear_type(model.type) == model.network.has_value()) {
    refuse("a model of type '{}' {} a network", model.type, model.network ? "does not have" : "needs");
  }
  if (!model.network) {
    if (preparation.task() != Task::regression) refuse("a linear model predicts numbers, not classes");
    return;
  }
  const auto classes = static_cast<std::int64_t>(preparation.classes().size());
  const std::int64_t outputs = preparation.task() == Task::multiclass ? classes : 1;
  if (model.network->inputs != preparation.feature_count() || model.network->outputs != outputs) {
    refuse("its network has {} inputs and {} outputs, and its preparation gives {} and needs {}",
           model.network->inputs, model.network->outputs, preparation.feature_count(), outputs);
  }
}

void refuse_wrong_parameters(const Model& model) {
  const std::vector<Expected> expected = expected_parameters(model);
  for (const Expected& e : expected) {
    const auto is_it = [&](const NamedArray& named) { return named.name == e.name; };
    const auto found = std::find_if(model.parameters.begin(), model.parameters.end(), is_it);
    if (found == model.parameters.end()) refuse("it has no '{}'", e.name);
    if (found->array.type() != e.type || found->array.shape() != e.shape) {
      refuse("'{}' has another shape or type than the model needs", e.name);
    }
  }
  if (model.parameters.size() != expected.size()) {
    refuse("it holds {} arrays, and the model needs {}", model.parameters.size(), expected.size());
  }
}

template <class Number>
void refuse_other_than_numbers(const NamedArray& named) {
  for (const Number value : named.array.as<Number>()) {
    if (std::isfinite(value)) continue;
    refuse(
        "'{}' holds {}, and with it every prediction would be none: the training diverged or the file was "
        "changed; train the model again",
        named.name, value);
  }
}

void refuse_weights_that_are_no_numbers(const Model& model) {
  for (const NamedArray& named : model.parameters) {
    if (named.array.type() == DType::float32) refuse_other_than_numbers<float>(named);
    if (named.array.type() == DType::float64) refuse_other_than_numbers<double>(named);
  }
}

// Says which file an error is about.
template <class Work>
auto about(const fs::path& file, const Work& work) {
  try {
    return work();
  } catch (const json::exception&) {
    refuse("{} is not a model of this program: something in it is missing or of the wrong type",
           file.string());
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    refuse("{} is not usable: {}", file.string(), error.what());
  }
}

}  // namespace

void save_model(const Model& model, const fs::path& folder) {
  refuse_wrong_network(model);
  refuse_wrong_parameters(model);
  std::string description;
  try {
    description = to_json(model).dump(2) + "\n";
  } catch (const json::exception&) {
    refuse("The model cannot be saved: the name of a column or a class is not UTF-8 text");
  }
  AtomicFolder target(folder);
  write_safetensors(target.folder() / "model.safetensors", model.parameters,
                    {{"format", model_format}, {"type", model.type}});
  write_file(target.folder() / "model.json", description);
  target.commit();
}

namespace {

Model read_model(const fs::path& folder) {
  const fs::path description = folder / "model.json";
  const fs::path weights = folder / "model.safetensors";
  for (const fs::path& file : {description, weights}) {
    std::error_code error;
    if (!fs::is_regular_file(file, error)) {
      refuse("{} is not a model folder: {} is missing. Give the model/ folder of a finished run",
             folder.string(), file.filename().string());
    }
  }
  const std::string text = read_file(description, most_description_bytes);
  Model model = about(description, [&] {
    Model read = from_json(json::parse(text));
    refuse_wrong_network(read);
    return read;
  });
  model.parameters = read_safetensors(weights);
  about(weights, [&] {
    refuse_wrong_parameters(model);
    refuse_weights_that_are_no_numbers(model);
  });
  return model;
}

}  // namespace

// A run that goes on may replace the folder in between, and the weights of one model do not go with the
// preparation of another.
Model load_model(const fs::path& folder) {
  constexpr int tries = 100;
  for (int attempt = 0; attempt < tries; ++attempt) {
    const FileStamp before = stamp_of(folder);
    try {
      Model model = read_model(folder);
      if (stamp_of(folder) == before) return model;
    } catch (const Error&) {
      if (stamp_of(folder) == before) throw;
    }
  }
  refuse("{} is replaced again and again while it is read; wait for the run that does it", folder.string());
}

}  // namespace stoker
