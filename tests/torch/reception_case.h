#pragma once

#include <ostream>
#include <string>

#include "base/random.h"
#include "engine/engine.h"
#include "model/family.h"
#include "model/network/triangulation.h"

// Small trainings of a triangulation of the default widths, for the tests of its kernels.
namespace stoker::test {

struct ReceptionCase {
  std::string name;
  std::int64_t members = 10;
  std::int64_t columns = 6;
  std::int64_t targets = 2;
  std::int64_t batch = 256;
  std::int64_t rows = 256;
  double dropout = 0.2;
  Optimizer optimizer = Optimizer::adam;
  double weight_decay = 0;
  double max_grad_norm = 0;
  bool is_weighted = false;
  std::int64_t validation_rows = 0;
};
inline std::ostream& operator<<(std::ostream& out, const ReceptionCase& each) {
  return out << each.name;
}

// Three of ten receivers are absent, but never all of a row.
inline Dataset receptions(const ReceptionCase& each, std::int64_t rows, std::uint64_t seed) {
  Array receivers(DType::float32, {rows, each.members, each.columns});
  Array present(DType::float32, {rows, each.members});
  Array targets(DType::float32, {rows, each.targets});
  Array weights(DType::float32, {rows});
  const RandomKey key = random_key(seed, Purpose::sample, 0);
  std::uint32_t index = 0;
  for (float& value : receivers.as<float>()) value = static_cast<float>(normal(key, index++));
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t i = 0; i < each.members; ++i)
      present.as<float>()[static_cast<std::size_t>(row * each.members + i)] =
          i == row % each.members || uniform(key, index++) > 0.3 ? 1.0F : 0.0F;
  for (float& value : targets.as<float>()) value = static_cast<float>(normal(key, index++));
  for (float& value : weights.as<float>()) value = static_cast<float>(0.5 + uniform(key, index++));
  Dataset made{{{"receivers", Role::features, receivers},
                {"present", Role::mask, present},
                {"targets", Role::targets, targets}}};
  if (each.is_weighted) made.arrays.push_back({"weights", Role::weights, weights});
  return made;
}

inline EngineRequest reception_request_of(const ReceptionCase& each) {
  TriangulationSettings settings;
  settings.max_receivers = each.members;
  settings.dropout = each.dropout;
  EngineRequest request;
  request.network = {"triangulation",
                     config::write(settings),
                     {{"receivers", Role::features, DType::float32, {each.members, each.columns}},
                      {"present", Role::mask, DType::float32, {each.members}}},
                     each.targets + 1};
  request.loss().kind = Loss::gaussian;
  request.optimizer.kind = each.optimizer;
  request.optimizer.momentum = each.optimizer == Optimizer::sgd ? 0.9 : 0;
  request.optimizer.weight_decay = each.weight_decay;
  request.optimizer.max_grad_norm = each.max_grad_norm;
  request.batch_size = each.batch;
  request.seed = 21;
  request.training = receptions(each, each.rows, 3);
  if (each.validation_rows > 0) request.validation = receptions(each, each.validation_rows, 4);
  request.initial_parameters = initial_parameters(request.network, 8);
  return request;
}

}  // namespace stoker::test
