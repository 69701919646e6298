#include "model/experts/experts.h"

#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "model/experts/expert_answers.h"
#include "model/experts/expert_lives.h"
#include "model/network/layer_specs.h"
#include "model/network/sequence.h"

namespace stoker {
namespace {

Array outputs_of_experts(const Network& network, const NamedArrays& parameters, const Dataset& data,
                         std::int64_t first, std::int64_t count) {
  const ExpertShape shape = expert_shape(network).value();
  return expert_answers(shape, parameters, data.features(), first, count).outputs;
}

std::int64_t outputs_of_losses(const config::Value& settings) {
  return losses_behind(settings_as<ExpertSettings>(settings));
}

void add_usage(std::int64_t room, ParameterSpecs& specs) {
  const auto add = [&](const char* name, Shape shape) {
    specs.push_back({.name = name, .shape = std::move(shape), .is_trained = false});
  };
  add(activations_name, {room});
  add(idle_steps_name, {room});
  add(followers_name, {room, room});
  add(hesitation_name, {2});
}

std::vector<ParameterSpec> parameters_of_experts(const Network& network) {
  const ExpertShape shape = expert_shape(network).value();
  const std::int64_t living = shape.settings.experts;
  ParameterSpecs specs;
  add_linear("router.inner", shape.inputs, shape.router_width(), specs);
  add_linear("router.outer", shape.router_width(), shape.room(), specs);
  for (std::size_t i = specs.size() - 2; i < specs.size(); ++i) specs[i].rows_begun = living;
  for (std::size_t layer = 0; layer < shape.layer_count(); ++layer) {
    const std::int64_t inputs = shape.layer_inputs(layer);
    const std::int64_t outputs = shape.layer_outputs(layer);
    const double bound = 1.0 / std::sqrt(static_cast<double>(inputs));
    refuse_too_large(expert_weight(layer), {shape.room(), outputs, inputs});
    specs.push_back({.name = expert_weight(layer),
                     .shape = {shape.room(), outputs, inputs},
                     .bound = bound,
                     .rows_begun = living});
    specs.push_back(
        {.name = expert_bias(layer), .shape = {shape.room(), outputs}, .bound = bound, .rows_begun = living});
  }
  specs.push_back(
      {.name = alive_name, .shape = {shape.room()}, .value = 1, .is_trained = false, .rows_begun = living});
  add_usage(shape.room(), specs);
  return specs;
}

void check_experts(const config::Value& settings, const std::string& path, const config::Value* written,
                   config::Diagnostics& diagnostics) {
  const auto read = settings_as<ExpertSettings>(settings);
  if (read.experts > read.max_experts)
    add_setting_error(
        "experts",
        fmt::format("{} experts are more than max_experts, which is {}", read.experts, read.max_experts),
        path, written, diagnostics);
  if (read.top_k > read.experts)
    add_setting_error(
        "top_k",
        fmt::format("{} experts cannot answer for a row where there are {}", read.top_k, read.experts), path,
        written, diagnostics);
  if (read.life.sleep_shortest > read.life.sleep_longest)
    add_setting_error("sleep_shortest",
                      fmt::format("{} steps are more than sleep_longest, which is {}",
                                  read.life.sleep_shortest, read.life.sleep_longest),
                      path, written, diagnostics);
}

std::vector<LossTerm> losses_of_experts(const Network& network, const LossTerm& of_task) {
  const ExpertShape shape = expert_shape(network).value();
  std::vector<LossTerm> terms{of_task};
  if (!shape.has_balance() && !shape.has_z()) return terms;
  terms.front().outputs = shape.outputs;
  terms.front().name = "task";
  const auto add = [&](const char* name, double weight) {
    LossTerm term;
    term.kind = Loss::output;
    term.name = name;
    term.weight = weight;
    term.first_output = shape.outputs + std::ssize(terms) - 1;
    term.outputs = 1;
    term.is_of_training_alone = true;
    terms.push_back(term);
  };
  if (shape.has_balance()) add("load_balance", shape.settings.load_balance);
  if (shape.has_z()) add("router_z", shape.settings.router_z);
  return terms;
}

// The router, and those who answer.
std::int64_t multiply_adds_of_experts(const Network& network) {
  const ExpertShape shape = expert_shape(network).value();
  std::int64_t of_expert = 0;
  for (std::size_t layer = 0; layer < shape.layer_count(); ++layer)
    of_expert += shape.layer_inputs(layer) * shape.layer_outputs(layer);
  return shape.router_width() * (shape.inputs + shape.room()) + shape.settings.top_k * of_expert;
}

}  // namespace

Family mixture_of_experts() {
  return {.name = experts_family,
          .describe = config::described<ExpertSettings>,
          .check = check_experts,
          .parameters = parameters_of_experts,
          .outputs = outputs_of_experts,
          .losses = losses_of_experts,
          .multiply_adds = multiply_adds_of_experts,
          .outputs_behind = outputs_of_losses,
          .restructuring = &lives_of_experts()};
}

}  // namespace stoker
