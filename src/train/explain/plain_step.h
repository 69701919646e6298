#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/field.h"
#include "engine/engine.h"
#include "model/network/mlp.h"

// One training step of a multi-layer perceptron, taken apart into what happens in it, in plain loops and
// double precision: for people who want to see it. Engines do the same a thousand times faster, and come to
// the same numbers but for their rounding.
namespace stoker {

// Those of the engines, and one more that courses on training begin with.
enum class StepOptimizerKind { adam, adamw, sgd, lion, rmsprop };
// Those of the engines for quantities, one more, and what fits the target.
enum class StepLossKind { automatic, mse, mae, huber, quantile };

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 5> stoker::config::names<stoker::StepOptimizerKind>{
    "adam", "adamw", "sgd", "lion", "rmsprop"};
template <>
inline constexpr std::array<std::string_view, 5> stoker::config::names<stoker::StepLossKind>{
    "auto", "mse", "mae", "huber", "quantile"};

namespace stoker {

using StepNumbers = std::vector<double>;

// Rows as a network reads them, and what they are called.
struct StepBatch {
  Dataset data;                           // float32; classes are int64, two of them 0 and 1 as floats
  std::vector<std::int64_t> row_numbers;  // in what was read, from 1
  std::vector<std::string> columns;       // of the features that stand as they are
  std::string target;
  std::vector<std::string> classes;  // none: a quantity
  double target_shift = 0;           // a target t is t * scale + shift in the table's unit
  double target_scale = 1;

  std::int64_t rows() const { return data.rows(); }
  std::int64_t outputs() const;  // that a network needs to answer them
};

struct StepParameter {
  std::string name;
  Shape shape;
  StepNumbers values;
  StepNumbers gradients = {};  // none before the way back
};

// What a layer made of the rows: [rows, outputs] each.
struct StepLayer {
  StepNumbers linear;  // before the activation
  StepNumbers kept;    // by what dropout multiplies: 0, or a little more than 1; none of the last layer
  StepNumbers active;  // behind both
};

struct StepNetwork {
  Network network;
  std::uint64_t seed = 0;
  std::int64_t steps = 0;  // that were taken
  std::vector<StepParameter> parameters;
  NamedArrays buffers = {};
  // Of the last way forward:
  std::int64_t rows = 0;
  StepNumbers entering = {};             // [rows, inputs of the first layer]
  std::vector<std::int64_t> codes = {};  // [rows, columns of categories]
  std::vector<StepLayer> layers = {};

  MlpShape shape() const { return mlp_shape(network).value(); }
  std::int64_t parameter_count() const;
  const StepNumbers& outputs() const { return layers.back().active; }
};

struct StepOptimizer {
  StepOptimizerKind kind = StepOptimizerKind::adam;
  OptimizerSettings settings;  // but for its kind
  double learning_rate = 0.001;
  std::int64_t steps = 0;  // that were taken
  struct State {
    std::string parameter;
    StepNumbers first, second;  // none where the optimiser has no such moment
  };
  std::vector<State> states;
  bool is_cleared = false;  // of the gradients of the step before
};

struct StepLoss {
  StepLossKind kind = StepLossKind::automatic;
  LossTerm term;
  StepNumbers of_rows;
  double mean = 0;
  StepNumbers slopes;  // of the mean, by each output: [rows, outputs]
};

struct StepChange {
  double gradient_norm = 0;         // of all together, before they are shortened
  double factor = 1;                // by which they were shortened
  std::vector<StepNumbers> before;  // the values of each parameter
};

// Why a network cannot be taken apart, or "".
std::string step_refusal(const Network& network);

// As it begins; `training` are the rows that buffers are fitted to. Refuses what cannot be taken apart.
StepNetwork built_network(const Network& network, std::uint64_t seed, const Dataset* training);
StepOptimizer begun_optimizer(StepOptimizerKind kind, const OptimizerSettings& settings, double learning_rate,
                              const StepNetwork& network);
void clear_gradients(StepOptimizer& optimizer);
// With dropout, as training does it. Refuses rows of another shape than the network reads.
void pass_forward(const StepBatch& batch, StepNetwork& network);
// `term` is what the kind does not say; automatic takes its kind.
StepLoss loss_of(const StepBatch& batch, const StepNumbers& outputs, StepLossKind kind, const LossTerm& term);
void pass_backward(const StepLoss& loss, StepNetwork& network);
StepChange take_step(StepOptimizer& optimizer, StepNetwork& network);

}  // namespace stoker
