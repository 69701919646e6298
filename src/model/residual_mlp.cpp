#include "model/residual_mlp.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "model/activate.h"
#include "model/workers.h"

namespace stoker {
namespace {

using FloatRows = FloatMatrix;
using FloatRow = Eigen::RowVectorXf;

constexpr std::int64_t most_values_of_layer = std::int64_t{1} << 31;

void add_linear(const std::string& name, std::int64_t inputs, std::int64_t outputs,
                std::vector<ParameterSpec>& parameters) {
  if (inputs > most_values_of_layer / outputs)
    refuse("{}, {} x {}, is too large: at most {} weights", name, outputs, inputs, most_values_of_layer);
  const double bound = 1.0 / std::sqrt(static_cast<double>(inputs));
  parameters.push_back({.name = name + ".weight", .shape = {outputs, inputs}, .bound = bound});
  parameters.push_back({.name = name + ".bias", .shape = {outputs}, .bound = bound});
}

void add_norm(const std::string& name, std::int64_t width, std::vector<ParameterSpec>& parameters) {
  parameters.push_back({.name = name + ".weight", .shape = {width}, .value = 1});
  parameters.push_back({.name = name + ".bias", .shape = {width}});
  parameters.push_back({.name = name + ".running_mean", .shape = {width}, .is_trained = false});
  parameters.push_back(
      {.name = name + ".running_variance", .shape = {width}, .value = 1, .is_trained = false});
}

std::vector<ParameterSpec> residual_parameters(const Network& network) {
  const auto settings = settings_as<ResidualMlpSettings>(network.settings);
  std::vector<ParameterSpec> parameters;
  add_linear("first", feature_width(network), settings.width, parameters);
  for (std::int64_t i = 0; i < settings.blocks; ++i) {
    add_norm(fmt::format("blocks.{}.norm", i), settings.width, parameters);
    add_linear(fmt::format("blocks.{}.inner", i), settings.width, settings.block_width, parameters);
    add_linear(fmt::format("blocks.{}.outer", i), settings.block_width, settings.width, parameters);
  }
  add_norm("norm", settings.width, parameters);
  add_linear("last", settings.width, network.outputs, parameters);
  return parameters;
}

// A batch norm that has learnt is a factor and a shift of each column.
struct LearntNorm {
  FloatRow factor;
  FloatRow shift;
};

class ResidualPrediction {
 public:
  ResidualPrediction(const Network& network, const NamedArrays& parameters)
      : settings_(settings_as<ResidualMlpSettings>(network.settings)), parameters_(parameters) {
    for (std::int64_t i = 0; i < settings_.blocks; ++i)
      norms_.push_back(norm(fmt::format("blocks.{}.norm", i)));
    norms_.push_back(norm("norm"));
  }

  FloatRows outputs(const FloatRows& features) const {
    FloatRows x = linear("first", features);
    for (std::int64_t i = 0; i < settings_.blocks; ++i) {
      FloatRows inner =
          linear(fmt::format("blocks.{}.inner", i), normed(x, norms_[static_cast<std::size_t>(i)]));
      activate(settings_.activation, inner);
      x += linear(fmt::format("blocks.{}.outer", i), inner);
    }
    FloatRows last = normed(x, norms_.back());
    activate(settings_.activation, last);
    return linear("last", last);
  }

 private:
  Eigen::Map<const FloatRow> row(const std::string& name) const {
    const std::span<const float> values = find_array(parameters_, name).as<float>();
    return {values.data(), static_cast<Eigen::Index>(values.size())};
  }
  LearntNorm norm(const std::string& name) const {
    const auto deviation =
        (row(name + ".running_variance").array() + static_cast<float>(batch_norm_epsilon)).sqrt();
    LearntNorm learnt;
    learnt.factor = row(name + ".weight").array() / deviation;
    learnt.shift = row(name + ".bias").array() - row(name + ".running_mean").array() * learnt.factor.array();
    return learnt;
  }
  static FloatRows normed(const FloatRows& x, const LearntNorm& learnt) {
    return (x.array().rowwise() * learnt.factor.array()).rowwise() + learnt.shift.array();
  }
  FloatRows linear(const std::string& name, const FloatRows& x) const {
    const Array& weight = find_array(parameters_, name + ".weight");
    const Eigen::Map<const FloatRows> w(weight.as<float>().data(), weight.dimension(0), weight.dimension(1));
    FloatRows y = x * w.transpose();
    y.rowwise() += row(name + ".bias");
    return y;
  }

  ResidualMlpSettings settings_;
  const NamedArrays& parameters_;
  std::vector<LearntNorm> norms_;
};

Array residual_outputs(const Network& network, const NamedArrays& parameters, const Dataset& data,
                       std::int64_t first, std::int64_t count) {
  const ResidualPrediction prediction(network, parameters);
  const std::int64_t columns = feature_width(network);
  const Array& features = data.features();
  if (features.dimension(1) != columns)
    fail("A network of {} inputs was given {} columns", columns, features.dimension(1));
  Array outputs(DType::float32, {count, network.outputs});
  const Eigen::Map<const FloatRows> input(features.as<float>().data() + first * columns, count, columns);
  Eigen::Map<FloatRows> output(outputs.as<float>().data(), count, network.outputs);
  share_among_cores((count + rows_of_block - 1) / rows_of_block, [&](std::int64_t block) {
    const Eigen::Index begin = block * rows_of_block;
    const Eigen::Index rows = std::min(rows_of_block, count - begin);
    output.middleRows(begin, rows) = prediction.outputs(input.middleRows(begin, rows));
  });
  return outputs;
}

}  // namespace

Family residual_mlp() {
  return {.name = "residual_mlp",
          .describe = config::described<ResidualMlpSettings>,
          .parameters = residual_parameters,
          .outputs = residual_outputs};
}

}  // namespace stoker
