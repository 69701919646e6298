#pragma once

#include <string>
#include <utility>

#include "config/usual_bounds.h"
#include "model/nodes/node.h"
#include "model/nodes/pixels.h"

namespace stoker::nodes {

enum class Reduction : std::uint8_t { mean, sum };

// A node with one output, `loss`.
template <class Settings>
class LossNode : public NodeWith<Settings> {
 public:
  using NodeWith<Settings>::NodeWith;
  bool is_loss() const override { return true; }
  Ports outputs(const Ports&) const override {
    return {{"loss", DType::float32, {}, "What is to become small"}};
  }

 protected:
  static Values loss(double value) { return {{"loss", one_number(value)}}; }
  // How the whole loss changes with this one.
  static double change(const PassBack& pass) { return number_in(value_at(pass.gradients, "loss")); }
};

inline config::Field weight_field(double& weight) {
  return config::field("weight", weight, "How much it counts in the sum of all losses")
      .within(-config::largest_weight, config::largest_weight);
}

}  // namespace stoker::nodes

template <>
inline constexpr std::array<std::string_view, 2> stoker::config::names<stoker::nodes::Reduction>{"mean",
                                                                                                 "sum"};
