#include "cli/bench/bench_experts.h"

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "cli/view/terminal.h"
#include "data/placement/dataset.h"
#include "device/device.h"
#include "model/experts/experts.h"
#include "model/family.h"

namespace stoker::cli {
namespace {

constexpr std::int64_t picture_numbers = 784;
constexpr std::int64_t picture_classes = 10;

Dataset picture_table(bool is_positive) {
  Array features(DType::float32, {bench_pictures, picture_numbers});
  Array classes(DType::int64, {bench_pictures});
  const RandomKey key = random_key(42, Purpose::sample, 0);
  std::uint32_t index = 0;
  // As wide as the normal distribution, and drawn much sooner.
  const double least = is_positive ? 0 : 0.5;
  for (float& each : features.as<float>())
    each = static_cast<float>(3.4641 * (uniform(key, index++) - least));
  for (std::int64_t& each : classes.as<std::int64_t>()) each = random_bits(key, index++) % picture_classes;
  return {{{"features", Role::features, features}, {"targets", Role::targets, classes}}};
}

// Takes from each score what it is on average, so that the router prefers nobody.
void balance_router(const ExpertShape& shape, const Dataset& rows, NamedArrays& parameters) {
  const auto find = [&](const char* name) -> Array& {
    return std::ranges::find(parameters, name, &NamedArray::name)->array;
  };
  const std::int64_t width = shape.router_width();
  constexpr std::int64_t looked_at = 512;
  const auto inner = find("router.inner.weight").as<float>();
  const auto inner_bias = find("router.inner.bias").as<float>();
  const auto outer = find("router.outer.weight").as<float>();
  const auto outer_bias = find("router.outer.bias").as<float>();
  const auto features = rows.features().as<float>();
  std::vector<double> means(static_cast<std::size_t>(width));
  for (std::int64_t row = 0; row < looked_at; ++row)
    for (std::int64_t unit = 0; unit < width; ++unit) {
      float sum = inner_bias[static_cast<std::size_t>(unit)];
      for (std::int64_t i = 0; i < shape.inputs; ++i)
        sum += inner[static_cast<std::size_t>(unit * shape.inputs + i)] *
               features[static_cast<std::size_t>(row * shape.inputs + i)];
      means[static_cast<std::size_t>(unit)] += std::max(0.0, static_cast<double>(sum)) / looked_at;
    }
  for (std::int64_t expert = 0; expert < shape.settings.experts; ++expert) {
    double sum = 0;
    for (std::int64_t unit = 0; unit < width; ++unit)
      sum += static_cast<double>(outer[static_cast<std::size_t>(expert * width + unit)]) *
             means[static_cast<std::size_t>(unit)];
    outer_bias[static_cast<std::size_t>(expert)] = static_cast<float>(-sum);
  }
}

EngineRequest expert_request(const Dataset& placed, const Dataset& rows, Device device, std::int64_t batch,
                             const ExpertBenchOptions& options, std::int64_t experts) {
  ExpertSettings settings;
  settings.experts = experts;
  settings.max_experts = options.max_experts > 0 ? options.max_experts : experts;
  settings.load_balance = 0;  // the router is balanced below, and figures stay comparable with earlier ones
  if (options.sleeps > 0) {
    settings.life.sleep_shortest = settings.life.sleep_longest = options.sleeps;
    settings.life.expert_creation_uncertainty = 1;  // the router is looked at, and nobody is born
  }
  EngineRequest request;
  request.network = {"mixture_of_experts",
                     config::write(settings),
                     {table_features(DType::float32, picture_numbers)},
                     picture_classes};
  request.loss().kind = Loss::cross_entropy;
  request.optimizer.kind = Optimizer::adamw;
  request.optimizer.weight_decay = 0.01;
  request.optimizer.max_grad_norm = options.max_grad_norm;
  fill_in(options, placed, device, batch, request);
  balance_router(expert_shape(request.network).value(), rows, request.initial_parameters);
  return request;
}

}  // namespace

void bench_w5(const ExpertBenchOptions& options, Comparison& comparison,
              const std::function<void(std::int64_t experts, std::int64_t batch, Device device)>& after) {
  std::vector<EngineChoice> choices;
  for (const std::string& name : options.engines) choices.push_back(engine_named(name));
  const Notes notes = [](Severity, const std::string& message) { tell(message); };
  const Device device = choose_device(options.device, notes);
  const Dataset rows = picture_table(options.sleeps > 0);
  for (const std::int64_t experts : options.experts) {
    const std::string room = options.max_experts > 0 ? fmt::format(" of {}", options.max_experts) : "";
    const std::string workload = fmt::format("w5, {}{} experts", experts, room);
    const TrainingBench bench(workload, options, device);
    const Placement placed = place(rows, device, notes);
    for (const std::int64_t batch : options.batches) {
      for (const EngineChoice choice : choices) {
        const EngineRequest request = expert_request(placed.dataset, rows, device, batch, options, experts);
        if (options.sleeps > 0)
          bench_sleeps(request, choice, options, workload);
        else
          bench.measure_steps(request, choice, comparison);
      }
      after(experts, batch, device);
    }
  }
}

}  // namespace stoker::cli
