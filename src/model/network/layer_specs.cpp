#include "model/network/layer_specs.h"

#include <cmath>

#include <fmt/ranges.h>

#include "base/error.h"

namespace stoker {
namespace {

constexpr std::int64_t most_values_of_array = std::int64_t{1} << 31;

}  // namespace

void refuse_too_large(const std::string& name, const Shape& shape) {
  std::int64_t values = 1;
  for (const std::int64_t size : shape) {
    if (size > 0 && values > most_values_of_array / size)
      refuse("{}, {}, is too large; the maximum is {} weights", name, fmt::join(shape, " x "),
             most_values_of_array);
    values *= size;
  }
}

void add_linear(const std::string& name, std::int64_t inputs, std::int64_t outputs, ParameterSpecs& specs) {
  refuse_too_large(name, {outputs, inputs});
  const double bound = 1.0 / std::sqrt(static_cast<double>(inputs));
  specs.push_back({.name = name + ".weight", .shape = {outputs, inputs}, .bound = bound});
  specs.push_back({.name = name + ".bias", .shape = {outputs}, .bound = bound});
}

void add_layer_norm(const std::string& name, std::int64_t width, ParameterSpecs& specs) {
  specs.push_back({.name = name + ".weight", .shape = {width}, .value = 1});
  specs.push_back({.name = name + ".bias", .shape = {width}});
}

void add_batch_norm(const std::string& name, std::int64_t width, ParameterSpecs& specs) {
  add_layer_norm(name, width, specs);
  specs.push_back({.name = name + ".running_mean", .shape = {width}, .is_trained = false});
  specs.push_back({.name = name + ".running_variance", .shape = {width}, .value = 1, .is_trained = false});
}

void add_attention(const std::string& name, std::int64_t width, ParameterSpecs& specs) {
  refuse_too_large(name + ".in_proj_weight", {3 * width, width});
  const double plain = 1.0 / std::sqrt(static_cast<double>(width));
  // After Glorot, over the three projections together; biases begin at 0.
  const double glorot = std::sqrt(6.0 / (4.0 * static_cast<double>(width)));
  specs.push_back({.name = name + ".in_proj_weight", .shape = {3 * width, width}, .bound = glorot});
  specs.push_back({.name = name + ".in_proj_bias", .shape = {3 * width}});
  specs.push_back({.name = name + ".out_proj.weight", .shape = {width, width}, .bound = plain});
  specs.push_back({.name = name + ".out_proj.bias", .shape = {width}});
}

void add_convolution(const std::string& name, std::int64_t inputs, std::int64_t outputs, std::int64_t kernel,
                     ParameterSpecs& specs) {
  refuse_too_large(name, {outputs, inputs, kernel});
  const double bound = 1.0 / std::sqrt(static_cast<double>(inputs * kernel));
  specs.push_back({.name = name + ".weight", .shape = {outputs, inputs, kernel}, .bound = bound});
  specs.push_back({.name = name + ".bias", .shape = {outputs}, .bound = bound});
}

}  // namespace stoker
