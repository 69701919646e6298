#pragma once

#include <algorithm>
#include <cstdint>
#include <ostream>

#include <fmt/format.h>

#include "base/random.h"
#include "engine/engine.h"
#include "model/network/triangulation.h"

// Small trainings on sets, for the tests of the engines.
namespace stoker::test {

struct SetCase {
  std::int64_t members = 5;
  std::int64_t columns = 3;
  TriangulationSettings settings{5, 12, 8, 2, 10, 0};
  std::int64_t numbers = 2;  // that are learnt
  std::int64_t rows = 37;
  std::int64_t batch = 16;
  std::int64_t validation_rows = 0;
  double absent = 0.4;     // share of the members
  bool has_empty = false;  // some sets have no member at all
  bool weighted = false;
  Optimizer optimizer = Optimizer::adam;
  double max_grad_norm = 0;
};

inline std::ostream& operator<<(std::ostream& out, const SetCase& c) {
  return out << fmt::format(
             "{} x {} -> {}, {}, {} heads -> {} -> {}, dropout {}, absent {}{}, {} rows by {}{}", c.members,
             c.columns, c.settings.receiver_width, c.settings.width, c.settings.attention_heads,
             c.settings.head_width, c.numbers, c.settings.dropout, c.absent,
             c.has_empty ? " and whole sets" : "", c.rows, c.batch, c.weighted ? ", weighted" : "");
}

inline Dataset sets_for(const SetCase& c, std::int64_t rows, std::uint64_t seed) {
  const RandomKey key = random_key(seed, Purpose::sample, 0);
  std::uint32_t drawn = 0;
  const auto draw = [&] { return static_cast<float>(2 * uniform(key, drawn++) - 1); };
  Array features(DType::float32, {rows, c.members, c.columns});
  for (float& value : features.as<float>()) value = draw();
  Array mask(DType::float32, {rows, c.members});
  for (float& value : mask.as<float>()) value = (draw() + 1) / 2 < c.absent ? 0.0F : 1.0F;
  const auto present = mask.as<float>();
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto of_row =
        present.subspan(static_cast<std::size_t>(row * c.members), static_cast<std::size_t>(c.members));
    const bool is_empty = std::ranges::count(of_row, 1.0F) == 0;
    if (c.has_empty && row % 7 == 3) {
      std::ranges::fill(of_row, 0.0F);
    } else if (is_empty) {
      of_row[static_cast<std::size_t>(row % c.members)] = 1;
    }
  }
  Array targets(DType::float32, {rows, c.numbers});
  for (float& value : targets.as<float>()) value = 2 * draw();
  Dataset dataset{{{"features", Role::features, features},
                   {"mask", Role::mask, mask},
                   {"targets", Role::targets, targets}}};
  if (c.weighted) {
    Array weights(DType::float32, {rows});
    for (float& value : weights.as<float>()) value = draw() + 1;
    dataset.arrays.push_back({"weights", Role::weights, weights});
  }
  return dataset;
}

inline EngineRequest request_for(const SetCase& c) {
  EngineRequest request;
  TriangulationSettings settings = c.settings;
  settings.max_receivers = c.members;
  request.network = {"triangulation",
                     config::write(settings),
                     {{"features", Role::features, DType::float32, {c.members, c.columns}},
                      {"mask", Role::mask, DType::float32, {c.members}}},
                     c.numbers + 1};
  request.loss().kind = Loss::gaussian;
  request.optimizer.kind = c.optimizer;
  request.optimizer.max_grad_norm = c.max_grad_norm;
  request.batch_size = c.batch;
  request.seed = 21;
  request.training = sets_for(c, c.rows, 3);
  if (c.validation_rows > 0) request.validation = sets_for(c, c.validation_rows, 4);
  request.initial_parameters = initial_parameters(request.network, 8);
  return request;
}

}  // namespace stoker::test
