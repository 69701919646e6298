#include "model/model.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "base/files/hashed_file.h"
#include "base/text/nan_sign.h"
#include "config/bounded_json.h"
#include "model/experts/expert_shape.h"
#include "model/network/member_arrays.h"
#include "model/safetensors.h"

namespace stoker {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* model_format = "stoker-model";
constexpr std::int64_t format_version = 6;
// Before that, all answers were told as they are, none relative to the last value of a window.
constexpr std::int64_t version_without_bases = 5;
// Before that, members were of one family and counted the same.
constexpr std::int64_t version_without_weights = 4;
// Still written, for programs that know no more. One that knew no decision would predict as if there were
// none, so that it is not to read such a model.
constexpr std::int64_t version_without_decision = 3;
constexpr std::int64_t version_without_members = 2;
constexpr const char* weights_file = "model.safetensors";
constexpr const char* held_back_file = "out_of_fold.safetensors";
constexpr const char* validation_file = "validation.safetensors";
constexpr const char* stages_folder = "stages";
constexpr std::size_t most_description_bytes = std::size_t{64} << 20;
// As written below, a column takes 100 bytes or more, and a key or a value 10.
constexpr config::JsonBounds most_of_a_description{
    .values = most_description_bytes / 10, .containers = most_description_bytes / 100, .depth = 16};

// What a model and a member of one have in common.
json description_of(const Model& model) {
  json text = {{"network", to_json(model.network)}, {"preparation", model.preparation.to_json()}};
  if (model.alpha) text["alpha"] = *model.alpha;
  return text;
}

std::int64_t version_for(const Model& model) {
  const auto is_relative = [](const Model& each) { return each.preparation.is_relative(); };
  if (is_relative(model) || std::ranges::any_of(model.members, is_relative)) return format_version;
  const auto is_other = [&](const Model& member) { return member.type() != model.type(); };
  if (!model.weights.empty() || std::ranges::any_of(model.members, is_other)) return version_without_bases;
  if (model.decision != Decision{}) return version_without_weights;
  return model.is_ensemble() ? version_without_decision : version_without_members;
}

json to_json(const Model& model) {
  json text = description_of(model);
  text["format"] = model_format;
  text["version"] = version_for(model);
  if (model.quantile) text["quantile"] = *model.quantile;
  if (!model.training_quantiles.empty()) text["training_quantiles"] = model.training_quantiles;
  if (model.decision != Decision{}) text["decision"] = to_json(model.decision);
  text["type"] = model.type();
  text["task"] = config::name_of(model.preparation.task());
  for (const Model& member : model.members) text["members"].push_back(description_of(member));
  if (!model.weights.empty()) text["weights"] = model.weights;
  if (!model.parts.empty()) text["parts"] = model.parts;
  if (!model.held_back.rows.empty()) text["validation_rows"] = model.held_back.rows.size();
  return text;
}

// Version 1 knew multi-layer perceptrons, whose settings stood beside the number of inputs and outputs, and
// linear models without any.
Network network_of_version_1(const Family& family, const json& text, const Preparation& preparation) {
  if (text.contains("network") == family.is_solved())
    refuse("a model of type '{}' {} a network", family.name, family.is_solved() ? "does not have" : "needs");
  Network network = network_for(family, {}, preparation);
  if (family.is_solved()) return network;
  json settings = text.at("network");
  network.inputs = {table_features(family.type(), settings.at("inputs").get<std::int64_t>())};
  network.outputs = settings.at("outputs").get<std::int64_t>();
  settings.erase("inputs");
  settings.erase("outputs");
  network.settings = config::from_json(settings);
  return network;
}

Network network_from(const json& text, const Family& family, std::int64_t version,
                     const Preparation& preparation) {
  Network network =
      version == 1 ? network_of_version_1(family, text, preparation) : network_from_json(text.at("network"));
  if (network.family != family.name)
    refuse("its type is '{}', but its network is of type '{}'", family.name, network.family);
  config::Diagnostics diagnostics("");
  network.settings = checked_settings(family, network.settings, "network", diagnostics);
  if (!diagnostics.empty()) refuse("{}", diagnostics.text());
  return network;
}

Model described_by(const json& text, const Family& family, std::int64_t version) {
  Model model;
  model.preparation = Preparation::from_json(text.at("preparation"));
  model.network = network_from(text, family, version, model.preparation);
  // Version 1 wrote a zero for networks, which have none.
  if (family.is_solved() && text.contains("alpha")) model.alpha = text.at("alpha").get<double>();
  return model;
}

// Each says in its network of which family it is.
std::vector<Model> members_from(const json& list) {
  if (!list.is_array() || list.empty() || list.size() > most_members)
    refuse("its members are not a list of 1 to {}", most_members);
  std::vector<Model> members;
  for (const json& each : list) {
    if (each.is_object() && each.contains("decision"))
      refuse("member {} decides by itself", members.size() + 1);
    const Network network = network_from_json(each.at("network"));
    members.push_back(described_by(each, family_named(network.family), format_version));
  }
  return members;
}

// All but the parameters.
Model from_json(const json& text) {
  if (!text.is_object() || text.value("format", "") != model_format)
    refuse("it does not describe a Stoker model");
  const auto version = text.at("version").get<std::int64_t>();
  if (version < 1 || version > format_version) {
    refuse(
        "its format is version {}, but this program reads versions 1 to {}; use the version of Stoker that "
        "wrote "
        "it",
        version, format_version);
  }
  const Family& family = family_named(text.at("type").get<std::string>());
  Model model = described_by(text, family, version);
  const bool has_members = version == version_without_decision || text.contains("members");
  if (version > version_without_members && has_members) model.members = members_from(text.at("members"));
  if (version > version_without_weights && text.contains("weights"))
    model.weights = text.at("weights").get<std::vector<double>>();
  if (text.contains("parts")) model.parts = text.at("parts").get<std::vector<std::size_t>>();
  if (text.contains("quantile")) model.quantile = text.at("quantile").get<double>();
  if (text.contains("training_quantiles"))
    model.training_quantiles = text.at("training_quantiles").get<std::vector<double>>();
  // Which a model of weights may do without.
  if (version == version_without_weights || (version > version_without_weights && text.contains("decision")))
    model.decision = decision_from_json(text.at("decision"));
  if (text.at("task").get<std::string>() != config::name_of(model.preparation.task())) {
    refuse("its task and its preparation do not match");
  }
  return model;
}

void refuse_wrong_network(const Model& model);

void refuse_strange_weights(const Model& model) {
  constexpr double rounding = 1e-6;
  if (model.weights.empty()) return;
  if (model.weights.size() != model.members.size())
    refuse("it has {} weights for {} members", model.weights.size(), model.members.size());
  double sum = 0;
  for (const double weight : model.weights) {
    if (!(weight >= 0)) refuse("a member has the weight {}", weight);
    sum += weight;
  }
  if (!(std::abs(sum - 1) < rounding)) refuse("the weights of its members add up to {}, not 1", sum);
}

void refuse_strange_parts(const Model& model) {
  if (model.parts.empty()) return;
  std::size_t members = 0;
  for (const std::size_t part : model.parts) {
    if (part == 0 || part > model.members.size()) refuse("a part of it has {} members", part);
    members += part;
  }
  if (members != model.members.size())
    refuse("its parts have {} members, but it has {}", members, model.members.size());
}

// Their predictions are averaged: all must be about the same.
void refuse_strange_members(const Model& model) {
  refuse_strange_weights(model);
  refuse_strange_parts(model);
  const Preparation& whole = model.preparation;
  for (std::size_t i = 0; i < model.members.size(); ++i) {
    const Model& member = model.members[i];
    const Preparation& own = member.preparation;
    if (member.is_ensemble()) refuse("member {} is an ensemble itself", i + 1);
    if (own.task() != whole.task() || own.target_column() != whole.target_column() ||
        own.steps() != whole.steps())
      refuse("member {} predicts something else than the model", i + 1);
    const bool are_windows = own.windows() != nullptr;
    if (are_windows != (whole.windows() != nullptr) ||
        (are_windows && !difference_between(*whole.windows(), *own.windows()).empty()))
      refuse("member {} reads other windows than the model", i + 1);
    if (own.classes() != whole.classes()) refuse("member {} has other classes than the model", i + 1);
    if (member.decision != Decision{}) refuse("member {} decides by itself", i + 1);
    refuse_wrong_network(member);
  }
}

void refuse_wrong_network(const Model& model) {
  refuse_strange_members(model);
  const Preparation& preparation = model.preparation;
  const Family& family = family_of(model.network);
  const bool has_classes = preparation.task() != Task::regression;
  if (family.targets == Targets::numbers && has_classes)
    refuse("{} predicts numbers, not classes", family.name);
  if (family.targets == Targets::classes && !has_classes)
    refuse("{} predicts classes, not numbers", family.name);
  if (model.quantile && (has_classes || !(*model.quantile > 0 && *model.quantile < 1)))
    refuse("it is to predict the quantile {} of its target, which there is not", *model.quantile);
  if (const std::string problem = problem_of(model.decision, preparation.task()); !problem.empty())
    refuse("{}", problem);
  const std::int64_t outputs = outputs_for(family, model.network.settings, preparation);
  const InputForm form = form_of(family, model.network.settings);
  for (const PreparedColumn& column : preparation.columns()) {
    const bool is_embedded = column.kind == PreparedColumn::Kind::embedded;
    if ((column.is_apart && !form.numbers_apart) || (is_embedded && !form.embeds_categories))
      refuse("column '{}' is to be embedded, which its network does not do", column.name);
  }
  const std::vector<ArraySpec> prepared = preparation.inputs(family.type());
  const std::int64_t inputs = feature_width(model.network);
  if (inputs != feature_width(prepared) || model.network.outputs != outputs) {
    refuse("its network has {} inputs and {} outputs, but its preparation provides {} and needs {}", inputs,
           model.network.outputs, feature_width(prepared), outputs);
  }
  if (model.network.inputs != prepared)
    refuse("its network reads other arrays than its preparation provides");
}

void refuse_wrong_parameters(const Model& model) {
  for (const Model& member : model.members) refuse_wrong_parameters(member);
  if (model.is_ensemble()) return;
  const std::vector<ParameterSpec> expected = parameter_specs(model.network);
  for (const ParameterSpec& e : expected) {
    const auto is_it = [&](const NamedArray& named) { return named.name == e.name; };
    const auto found = std::find_if(model.parameters.begin(), model.parameters.end(), is_it);
    if (found == model.parameters.end()) refuse("it has no '{}'", e.name);
    if (found->array.type() != e.type || found->array.shape() != e.shape) {
      refuse("'{}' does not have the shape and type that the model needs", e.name);
    }
  }
  if (model.parameters.size() != expected.size()) {
    refuse("it contains {} arrays, but the model needs {}", model.parameters.size(), expected.size());
  }
}

template <class Number>
void refuse_other_than_numbers(const NamedArray& named) {
  for (const Number value : named.array.as<Number>()) {
    if (std::isfinite(value)) continue;
    refuse(
        "'{}' contains {}, which would make every prediction useless: the training diverged or the file was "
        "changed; train the model again",
        named.name, without_nan_sign(value));
  }
}

void refuse_weights_that_are_no_numbers(const Model& model) {
  for (const Model& member : model.members) refuse_weights_that_are_no_numbers(member);
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
    refuse("{} is not a Stoker model: something in it is missing or of the wrong type", file.string());
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    refuse("{} cannot be used: {}", file.string(), error.what());
  }
}

HeldBackWidths widths_of_held_back(const Preparation& preparation) {
  return {preparation.classes().size(), static_cast<std::size_t>(preparation.steps())};
}

NamedArrays parameters_of_members(const Model& model) {
  std::vector<NamedArrays> parameters;
  for (const Model& member : model.members) parameters.push_back(member.parameters);
  return join_members(parameters);
}

NamedArrays held_back_by_members(const Model& model) {
  std::vector<NamedArrays> rows;
  for (const Model& member : model.members)
    rows.push_back(to_arrays(member.held_back, widths_of_held_back(model.preparation)));
  return join_members(rows);
}

}  // namespace

std::span<const Model> members_of(const Model& model) {
  return model.is_ensemble() ? std::span<const Model>(model.members) : std::span<const Model>(&model, 1);
}

double weight_of_member(const Model& model, std::size_t member) {
  if (!model.weights.empty()) return model.weights.at(member);
  return 1.0 / static_cast<double>(members_of(model).size());
}

std::vector<std::size_t> parts_of(const Model& model) {
  if (!model.parts.empty()) return model.parts;
  const std::size_t members = members_of(model).size();
  const auto is_other = [&](const Model& member) { return member.type() != model.type(); };
  if (model.weights.empty() && std::ranges::none_of(model.members, is_other)) return {members};
  return std::vector<std::size_t>(members, 1);
}

namespace {

// The arrays of a mixture have room for more experts than live.
std::int64_t parameters_in_use(const ExpertShape& shape, const NamedArrays& parameters) {
  const auto alive = find_array(parameters, alive_name).as<float>();
  const auto living = std::ranges::count_if(alive, [](float each) { return each != 0; });
  return parameters_of_router(shape, living) + living * parameters_of_one_expert(shape);
}

}  // namespace

std::int64_t parameter_count(const Model& model) {
  if (!model.is_ensemble())
    if (const auto shape = expert_shape(model.network)) return parameters_in_use(*shape, model.parameters);
  std::int64_t count = 0;
  for (const NamedArray& each : model.parameters) count += each.array.size();
  for (const Model& member : model.members) count += parameter_count(member);
  return count;
}

namespace {

void write_model(const Model& model, const fs::path& folder) {
  refuse_wrong_network(model);
  refuse_wrong_parameters(model);
  std::string description;
  try {
    description = to_json(model).dump(2) + "\n";
  } catch (const json::exception&) {
    refuse("the model cannot be saved: the name of a column or a class is not UTF-8 text");
  }
  write_safetensors(folder / weights_file,
                    model.is_ensemble() ? parameters_of_members(model) : model.parameters,
                    {{"format", model_format}, {"type", model.type()}});
  if (model.is_ensemble()) write_safetensors(folder / held_back_file, held_back_by_members(model));
  if (!model.held_back.rows.empty())
    write_safetensors(folder / validation_file,
                      to_arrays(model.held_back, widths_of_held_back(model.preparation)));
  write_file(folder / "model.json", description);
}

}  // namespace

void save_model(const Model& model, const fs::path& folder) {
  AtomicFolder target(folder);
  write_model(model, target.folder());
  for (std::size_t i = 0; i < model.stages.size(); ++i) {
    const fs::path of_stage = target.folder() / stages_folder / std::to_string(i + 1);
    make_folder(of_stage);
    Model then = model;
    then.parameters = model.stages[i];
    then.held_back = {};
    write_model(then, of_stage);
  }
  target.commit();
}

namespace {

void refuse_without(const fs::path& folder, const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error))
    refuse("{} is not a model folder: {} is missing. Give the model/ folder of a finished run",
           folder.string(), file.filename().string());
}

void read_held_back_rows(const fs::path& folder, Model& model) {
  const fs::path file = folder / held_back_file;
  refuse_without(folder, file);
  NamedArrays arrays = read_safetensors(file);
  about(file, [&] {
    const std::vector<NamedArrays> split = split_by_member(std::move(arrays), model.members.size());
    for (std::size_t i = 0; i < split.size(); ++i)
      model.members[i].held_back = held_back_from(split[i], widths_of_held_back(model.preparation));
  });
}

void read_validation_rows(const fs::path& folder, Model& model) {
  const fs::path file = folder / validation_file;
  refuse_without(folder, file);
  const NamedArrays arrays = read_safetensors(file);
  about(file, [&] { model.held_back = held_back_from(arrays, widths_of_held_back(model.preparation)); });
}

Model read_model(const fs::path& folder) {
  const fs::path description = folder / "model.json";
  const fs::path weights = folder / weights_file;
  for (const fs::path& file : {description, weights}) refuse_without(folder, file);
  const std::string text = read_file(description, most_description_bytes);
  bool has_validation_rows = false;
  Model model = about(description, [&] {
    const json written = config::parse_bounded_json(text, most_of_a_description);
    Model read = from_json(written);
    refuse_wrong_network(read);
    has_validation_rows = written.contains("validation_rows") && !read.is_ensemble();
    return read;
  });
  NamedArrays arrays = read_safetensors(weights);
  about(weights, [&] {
    if (model.is_ensemble()) {
      std::vector<NamedArrays> split = split_by_member(std::move(arrays), model.members.size());
      for (std::size_t i = 0; i < split.size(); ++i) model.members[i].parameters = std::move(split[i]);
    } else {
      model.parameters = std::move(arrays);
    }
    refuse_wrong_parameters(model);
    refuse_weights_that_are_no_numbers(model);
  });
  if (model.is_ensemble()) read_held_back_rows(folder, model);
  if (has_validation_rows) read_validation_rows(folder, model);
  return model;
}

void read_stages(const fs::path& folder, Model& model) {
  std::error_code none;
  for (std::size_t i = 1; i <= most_stages; ++i) {
    const fs::path of_stage = folder / stages_folder / std::to_string(i);
    if (!fs::is_directory(of_stage, none)) return;
    model.stages.push_back(read_model(of_stage).parameters);
  }
}

}  // namespace

// A run that goes on may replace the folder in between, and the weights of one model do not go with the
// preparation of another.
Model load_model(const fs::path& folder, bool with_stages) {
  constexpr int tries = 100;
  for (int attempt = 0; attempt < tries; ++attempt) {
    const FileStamp before = stamp_of(folder);
    try {
      Model model = read_model(folder);
      if (with_stages) read_stages(folder, model);
      if (stamp_of(folder) == before) return model;
    } catch (const Error&) {
      if (stamp_of(folder) == before) throw;
    }
  }
  refuse("{} keeps being replaced while it is read; wait for the run that writes it", folder.string());
}

}  // namespace stoker
