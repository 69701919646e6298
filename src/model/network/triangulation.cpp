#include "model/network/triangulation.h"

#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "model/network/layer_specs.h"

namespace stoker {
namespace {

std::string attention_heads_problem(const TriangulationSettings& settings) {
  if (settings.width % settings.attention_heads == 0) return "";
  return fmt::format("{} heads do not divide width, which is {}; each head takes an equal part of it",
                     settings.attention_heads, settings.width);
}

std::vector<ParameterSpec> triangulation_parameters(const Network& network) {
  const auto settings = settings_as<TriangulationSettings>(network.settings);
  if (const std::string problem = attention_heads_problem(settings); !problem.empty())
    refuse("triangulation: {}", problem);
  ParameterSpecs specs;
  add_linear("receiver.inner", set_shape(network).columns, settings.receiver_width, specs);
  add_linear("receiver.outer", settings.receiver_width, settings.width, specs);
  add_attention("attention", settings.width, specs);
  add_layer_norm("norm", settings.width, specs);
  add_linear("head.inner", 4 * settings.width, settings.head_width, specs);
  add_linear("head.outer", settings.head_width, network.outputs, specs);
  return specs;
}

void check_triangulation(const config::Value& settings, const std::string& path, const config::Value* written,
                         config::Diagnostics& diagnostics) {
  const std::string problem = attention_heads_problem(settings_as<TriangulationSettings>(settings));
  if (!problem.empty()) add_setting_error("attention_heads", problem, path, written, diagnostics);
}

InputForm form_of_sets(const config::Value& settings) {
  InputForm form = Scaling::standard;
  form.members_of_set = settings_as<TriangulationSettings>(settings).max_receivers;
  form.one_target_scale = true;
  return form;
}

// The numbers and their variance are one loss.
std::vector<LossTerm> gaussian_loss(const Network&, const LossTerm& of_task) {
  if (of_task.kind == Loss::binary_cross_entropy || of_task.kind == Loss::cross_entropy)
    refuse("triangulation predicts numbers, but the target is taken for classes: set task to regression");
  if (of_task.kind != Loss::mse)
    refuse(
        "triangulation learns how sure it is of its answers, which needs a loss of its own: leave loss at "
        "auto");
  LossTerm term;
  term.kind = Loss::gaussian;
  return {term};
}

// Each receiver goes through the layers before the head, is compared with each, and takes from each.
std::int64_t triangulation_multiply_adds(const Network& network) {
  const auto settings = settings_as<TriangulationSettings>(network.settings);
  const SetShape set = set_shape(network);
  const std::int64_t of_member = settings.receiver_width * (set.columns + settings.width) +
                                 settings.width * (4 * settings.width + 2 * set.members);
  return set.members * of_member + settings.head_width * (4 * settings.width + network.outputs);
}

// The last output is the logarithm of the variance.
void scale_variances_told(const Network& network, double factor, NamedArrays& parameters) {
  for (NamedArray& each : parameters) {
    if (each.name != "head.outer.bias") continue;
    each.array = each.array.clone();
    each.array.as<float>()[static_cast<std::size_t>(network.outputs) - 1] +=
        static_cast<float>(std::log(factor));
  }
}

Array outputs_of_triangulation(const Network& network, const NamedArrays& parameters, const Dataset& data,
                               std::int64_t first, std::int64_t count) {
  return triangulation_outputs(triangulation_shape(network).value(), network, parameters, data, first, count);
}

}  // namespace

std::optional<TriangulationShape> triangulation_shape(const Network& network) {
  const Family* family = find_family(network.family);
  if (family == nullptr || family->outputs != outputs_of_triangulation) return std::nullopt;
  return TriangulationShape{set_shape(network), settings_as<TriangulationSettings>(network.settings),
                            network.outputs};
}

SetShape set_shape(const Network& network) {
  const std::vector<ArraySpec>& inputs = network.inputs;
  const bool is_set = inputs.size() == 2 && inputs[0].shape.size() == 2 && inputs[1].role == Role::mask &&
                      inputs[1].shape == Shape{inputs[0].shape[0]};
  if (!is_set)
    refuse(
        "{} reads a set of receivers in each row: columns of arrays, such as arrays: keep reads from a "
        "database",
        network.family);
  return {inputs[0].shape[0], inputs[0].shape[1]};
}

Family triangulation() {
  return {.name = "triangulation",
          .describe = config::described<TriangulationSettings>,
          .check = check_triangulation,
          .targets = Targets::numbers,
          .parameters = triangulation_parameters,
          .outputs = outputs_of_triangulation,
          .losses = gaussian_loss,
          .form = form_of_sets,
          .multiply_adds = triangulation_multiply_adds,
          .tells_variance = true,
          .scale_variances = scale_variances_told};
}

}  // namespace stoker
