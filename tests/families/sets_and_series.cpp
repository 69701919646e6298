#include "families/sets_and_series.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/random.h"
#include "families/sets_and_series_module.h"
#include "model/family.h"

namespace stoker::test {
namespace {

constexpr std::int64_t head_width = embedded_width + window_length * series_width;

struct NoSettings {};
config::Fields fields(NoSettings&) {
  return {};
}

std::vector<ParameterSpec> parameters(const Network&) {
  const auto buffer = [](const char* name, std::int64_t size, double value) {
    return ParameterSpec{name, DType::float32, {size}, 0, value, false};
  };
  return {{"embed.weight", DType::float32, {embedded_width, member_width}, 0.6},
          {"embed.bias", DType::float32, {embedded_width}, 0.6},
          {"head.weight", DType::float32, {2, head_width}, 0.2},
          {"head.bias", DType::float32, {2}, 0.2},
          buffer("members.mean", member_width, 0),
          buffer("members.scale", member_width, 1),
          buffer("window.mean", series_width, 0),
          buffer("window.scale", series_width, 1),
          buffer("pruned", 1, 0)};
}

std::vector<LossTerm> losses(const Network&, const LossTerm&) {
  LossTerm value;
  value.name = "value";
  value.outputs = 1;
  LossTerm next;
  next.kind = Loss::huber;
  next.name = "next";
  next.weight = 0.5;
  next.targets = "next";
  next.first_output = 1;
  next.outputs = 1;
  return {value, next};
}

NamedArrays scaling_buffers(const std::string& name, const kernels::Statistics& found) {
  const auto columns = static_cast<std::int64_t>(found.mean.size());
  Array mean(DType::float32, {columns});
  Array scale(DType::float32, {columns});
  for (std::size_t i = 0; i < found.mean.size(); ++i) {
    mean.as<float>()[i] = static_cast<float>(found.mean[i]);
    scale.as<float>()[i] = static_cast<float>(std::sqrt(found.variance(i)));
  }
  return {{name + ".mean", mean}, {name + ".scale", scale}};
}

// The column of the head that counts least becomes 0, with all that the optimiser remembers of it.
void prune(const Network&, NamedArrays& state) {
  std::size_t weakest = 0;
  for (NamedArray& each : state) {
    if (each.name != "parameters.head.weight") continue;
    const auto size = [&](std::size_t column) {
      const auto values = std::as_const(each.array).as<float>();
      return std::abs(values[column]) + std::abs(values[head_width + column]);
    };
    for (std::size_t i = 1; i < head_width; ++i)
      if (size(i) < size(weakest)) weakest = i;
  }
  for (NamedArray& each : state) {
    if (each.name.ends_with("head.weight") && !each.name.starts_with("best")) {
      each.array = each.array.clone();
      each.array.as<float>()[weakest] = each.array.as<float>()[head_width + weakest] = 0;
    }
    if (each.name == "parameters.pruned") {
      each.array = each.array.clone();
      each.array.as<float>()[0] += 1;
    }
  }
}

std::vector<Phase> phases(const Network&) {
  StatisticsPhase of_members{
      "members", "present", false,
      [](const Network&, const kernels::Statistics& found) { return scaling_buffers("members", found); }};
  StatisticsPhase of_series{"window", "", true, [](const Network&, const kernels::Statistics& found) {
                              return scaling_buffers("window", found);
                            }};
  return {of_members, of_series, GradientPhase{first_phase_epochs, {"head.bias"}}, StructurePhase{prune},
          GradientPhase{0, {"head.weight", "head.bias"}}};
}

Family family() {
  Family made;
  made.name = "sets_and_series";
  made.describe = config::described<NoSettings>;
  made.parameters = parameters;
  made.losses = losses;
  made.phases = phases;
  return made;
}

}  // namespace

void add_sets_and_series() {
  static const bool added = [] {
    add_family(family());
    torch_door::add_module("sets_and_series", make_sets_and_series);
    return true;
  }();
  static_cast<void>(added);
}

Network sets_and_series() {
  return {"sets_and_series",
          config::Value(config::Value::Map{}),
          {{"members", Role::features, DType::float32, {set_size, member_width}},
           {"present", Role::mask, DType::float32, {set_size}},
           {"window", Role::features, DType::float32, {window_length, series_width}}},
          2};
}

Dataset sets_and_windows(std::int64_t rows, std::uint64_t seed) {
  const RandomKey key = random_key(seed, Purpose::sample, 0);
  std::uint32_t drawn = 0;
  const auto draw = [&] { return static_cast<float>(2 * uniform(key, drawn++) - 1); };
  const std::int64_t moments = rows + window_length;
  Array members(DType::float32, {rows, set_size, member_width});
  Array present(DType::float32, {rows, set_size});
  Array series(DType::float32, {moments, series_width});
  Array starts(DType::int64, {rows});
  Array targets(DType::float32, {rows, 1});
  Array next(DType::float32, {rows, 1});
  for (float& each : members.as<float>()) each = 3 + 2 * draw();
  for (float& each : present.as<float>()) each = draw() > -0.3F ? 1.0F : 0.0F;
  float level = 0;
  for (float& each : series.as<float>()) each = 100 + 10 * (level = 0.8F * level + draw());
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto at = static_cast<std::size_t>(row);
    // Neither in order nor all different.
    const auto start = static_cast<std::size_t>(row * 13 % rows);
    starts.as<std::int64_t>()[at] = static_cast<std::int64_t>(start);
    float sum = 0;
    float count = 0;
    for (std::size_t i = 0; i < set_size; ++i) {
      const float is_there = present.as<float>()[at * set_size + i];
      sum += is_there * members.as<float>()[(at * set_size + i) * member_width];
      count += is_there;
    }
    targets.as<float>()[at] = count > 0 ? sum / count : 0;
    next.as<float>()[at] = (series.as<float>()[(start + window_length) * series_width] - 100) / 10;
  }
  return {{{"members", Role::features, members},
           {"present", Role::mask, present},
           {"window", Role::features, series, starts, window_length},
           {"targets", Role::targets, targets},
           {"next", Role::targets, next}}};
}

EngineRequest sets_and_series_request() {
  EngineRequest request;
  request.network = sets_and_series();
  request.losses = losses(request.network, {});
  request.precision = Precision::fp32;  // engines and predictions are compared closely
  request.batch_size = 16;
  request.seed = 4;
  request.training = sets_and_windows(203, 1);
  request.validation = sets_and_windows(50, 2);
  request.initial_parameters = initial_parameters(request.network, 5);
  return request;
}

}  // namespace stoker::test
