#pragma once

#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "base/random.h"
#include "engine/engine.h"
#include "model/experts/experts.h"
#include "model/family.h"

// Small trainings of a mixture of experts, for the tests of its engines.
namespace stoker::test {

struct ExpertCase {
  std::string name;
  std::int64_t experts = 4;
  std::int64_t room = 6;
  std::int64_t top_k = 2;
  std::int64_t outputs = 3;  // classes; of numbers 1
  bool has_classes = true;
  Optimizer optimizer = Optimizer::adamw;
  double weight_decay = 0.01;
  double max_grad_norm = 0;
  double dropout = 0;
  double temperature = 1;
  double noise = 0;
  double exploration = 0;
  std::int64_t epochs = 0;  // that are planned: fewer and fewer are drawn in their second half
  double load_balance = 0;
  double router_z = 0;
  bool is_weighted = false;
  bool goes_to_one = false;  // all rows are for the first experts: others stay empty
  std::int64_t batch = 32;
  std::string frozen = {};  // with what the names of parameters begin that are not trained
  std::int64_t columns = 9;
  std::vector<std::int64_t> hidden{24, 10};
};
inline std::ostream& operator<<(std::ostream& out, const ExpertCase& each) {
  return out << each.name;
}

// Experts that are drawn for some rows or for all, of more places than live; where the router is so sure that
// what it thinks of two others is no number beside its favourite; and with all that is random at once.
inline std::vector<ExpertCase> drawing_cases() {
  return {{.name = "HalfDrawn", .exploration = 0.5},
          {.name = "HalfDrawnOneOfMany", .experts = 5, .room = 9, .top_k = 1, .exploration = 0.5},
          {.name = "HalfDrawnFourOfMany", .experts = 7, .room = 20, .top_k = 4, .exploration = 0.5},
          {.name = "AllDrawn", .exploration = 1},
          {.name = "FewerAndFewerDrawn", .exploration = 1, .epochs = 1},
          {.name = "AllDrawnOneOfMany", .experts = 5, .room = 9, .top_k = 1, .exploration = 1},
          {.name = "AllDrawnFourOfMany", .experts = 7, .room = 20, .top_k = 4, .exploration = 1},
          {.name = "AllDrawnFourOfFour", .top_k = 4, .exploration = 1},
          {.name = "DrawnThoughDisliked", .experts = 8, .room = 9, .exploration = 0.5, .goes_to_one = true},
          {.name = "DrawnOfForty", .experts = 40, .room = 50, .exploration = 0.5, .batch = 77},
          {.name = "DrawnWithAll",
           .max_grad_norm = 0.1,
           .dropout = 0.3,
           .temperature = 1.5,
           .noise = 0.5,
           .exploration = 0.5,
           .load_balance = 0.3,
           .router_z = 0.1,
           .is_weighted = true}};
}

inline Dataset rows_for_experts(const ExpertCase& each, std::int64_t rows, std::int64_t columns,
                                std::uint64_t seed) {
  const RandomKey key = random_key(seed, Purpose::sample, 0);
  Array features(DType::float32, {rows, columns});
  Array weights(DType::float32, {rows});
  Array numbers(DType::float32, {rows, each.outputs});
  Array classes(DType::int64, {rows});
  std::uint32_t index = 0;
  for (float& value : features.as<float>()) value = static_cast<float>(normal(key, index++));
  for (float& value : weights.as<float>()) value = static_cast<float>(0.5 + uniform(key, index++));
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* values = features.as<float>().data() + row * columns;
    const float sum = values[0] * values[1] + values[2];
    for (std::int64_t i = 0; i < each.outputs; ++i)
      numbers.as<float>()[static_cast<std::size_t>(row * each.outputs + i)] = sum * static_cast<float>(i + 1);
    classes.as<std::int64_t>()[static_cast<std::size_t>(row)] =
        std::min<std::int64_t>(each.outputs - 1, static_cast<std::int64_t>(std::abs(sum) * 2));
  }
  Dataset made{{{"features", Role::features, features}}};
  if (each.has_classes) {
    made.arrays.push_back({"targets", Role::targets, classes});
  } else {
    made.arrays.push_back({"targets", Role::targets, numbers});
  }
  if (each.is_weighted) made.arrays.push_back({"weights", Role::weights, weights});
  return made;
}

inline ExpertSettings expert_settings_of(const ExpertCase& each) {
  ExpertSettings settings;
  settings.experts = each.experts;
  settings.max_experts = each.room;
  settings.top_k = each.top_k;
  settings.hidden_layers = each.hidden;
  settings.dropout = each.dropout;
  settings.temperature = each.temperature;
  settings.router_noise = each.noise;
  settings.router_exploration = each.exploration;
  settings.load_balance = each.load_balance;
  settings.router_z = each.router_z;
  return settings;
}

inline EngineRequest expert_request(const ExpertCase& each) {
  const std::int64_t columns = each.columns;
  const std::int64_t behind = (each.load_balance > 0 ? 1 : 0) + (each.router_z > 0 ? 1 : 0);
  EngineRequest request;
  request.network = {"mixture_of_experts",
                     config::write(expert_settings_of(each)),
                     {table_features(DType::float32, columns)},
                     each.outputs + behind};
  LossTerm of_task;
  of_task.kind = each.has_classes ? Loss::cross_entropy : Loss::mse;
  request.losses = mixture_of_experts().losses(request.network, of_task);
  request.precision = Precision::fp32;
  request.optimizer.kind = each.optimizer;
  request.optimizer.momentum = each.optimizer == Optimizer::sgd ? 0.9 : 0;
  request.optimizer.weight_decay = each.weight_decay;
  request.optimizer.max_grad_norm = each.max_grad_norm;
  request.epochs = each.epochs;
  request.batch_size = each.batch;
  request.seed = 21;
  request.training = rows_for_experts(each, 203, columns, 3);
  request.validation = rows_for_experts(each, 50, columns, 4);
  request.initial_parameters = initial_parameters(request.network, 8);
  if (!each.frozen.empty())
    for (const ParameterSpec& spec : parameter_specs(request.network))
      if (spec.is_trained && !spec.name.starts_with(each.frozen)) request.unfrozen.push_back(spec.name);
  if (each.goes_to_one)
    for (NamedArray& array : request.initial_parameters)
      if (array.name == "router.outer.bias")
        for (std::int64_t i = 0; i < each.experts; ++i)
          array.array.as<float>()[static_cast<std::size_t>(i)] = static_cast<float>(-20 * i);
  return request;
}

}  // namespace stoker::test
