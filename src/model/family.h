#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/notes.h"
#include "base/process/stop.h"
#include "config/described.h"
#include "data/prepare/preparation.h"
#include "model/linear/linear_fit.h"
#include "model/loss_term.h"
#include "model/network.h"
#include "model/phase.h"

namespace stoker {
struct Restructuring;  // model/restructuring.h
}

// Families of models. One is a file in this room and a line in the table of families.cpp; every other room
// asks this table and knows no family by name.
namespace stoker {

enum class Targets : std::uint8_t { numbers, classes, either };

// An array that a model learns, or keeps beside what it learns.
struct ParameterSpec {
  std::string name;
  DType type = DType::float32;
  Shape shape;
  double bound = 0;              // begins uniform in ±bound
  double value = 0;              // where bound is 0: begins as this everywhere
  bool is_trained = true;        // else a buffer
  double deviation = 0;          // begins normal around 0 with this deviation
  std::int64_t rows_begun = -1;  // of its first dimension, that begin so; the others are 0. -1: all

  std::int64_t size() const {
    std::int64_t values = 1;
    for (const std::int64_t each : shape) values *= each;
    return values;
  }
};

// What a solver is given.
struct Problem {
  const Network& network;
  const Preparation& preparation;
  const Dataset& data;                   // float64; classes are int64
  std::span<const HeldBackRange> folds;  // for cross-validation to hold back; none: it makes its own
  const Notes& notes;
  const StopSignal& stop;
};

struct Solution {
  NamedArrays parameters;
  std::string method;           // for people: "cholesky", "coordinate descent"
  bool out_of_time = false;     // these are the parameters so far
  std::optional<double> alpha;  // with a penalty: the one used, or chosen by cross-validation
  std::int64_t iterations = 0;
  std::vector<double> path_alphas;  // cross-validation: alphas tried, and the mean squared error of each
  std::vector<double> path_mean_errors;
};

// Outputs are computed in blocks of so many rows: parts that begin at a block have the same bits as the
// whole.
constexpr std::int64_t rows_of_block = 1024;

struct Family {
  std::string_view name;
  config::Described (*describe)();  // its own settings only
  // Settings that contradict each other, each an error of the document; `written` is the map that they were
  // read from, for its line numbers, or null. Null: none can.
  void (*check)(const config::Value& settings, const std::string& path, const config::Value* written,
                config::Diagnostics& diagnostics) = nullptr;
  Targets targets = Targets::either;
  bool weighs_rows = true;
  std::vector<ParameterSpec> (*parameters)(const Network& network) = nullptr;
  // [count, predicting_outputs()] of the rows from `first` on, on the CPU. Null: its module behind
  // torch/door.h computes them.
  Array (*outputs)(const Network& network, const NamedArrays& parameters, const Dataset& data,
                   std::int64_t first, std::int64_t count) = nullptr;
  Solution (*solve)(const Problem& problem) = nullptr;  // null: trained by gradients
  // What is trained, given the loss of the task. Null: that one, of all outputs.
  std::vector<LossTerm> (*losses)(const Network& network, const LossTerm& of_task) = nullptr;
  std::vector<Phase> (*phases)(const Network& network) = nullptr;  // null: one of gradients
  // What it makes of a table's columns. Null: numbers, scaled as families of its kind want them.
  InputForm (*form)(const config::Value& settings) = nullptr;
  // Fits buffers, and what else begins by the rows, to the training rows before the first step. Null: it has
  // none that need it.
  void (*learn_buffers)(const Network& network, const Dataset& training, std::uint64_t seed,
                        NamedArrays& parameters) = nullptr;
  // How many parts of the rows its cross-validation holds back, of so many groups that must stay whole. Null:
  // it has none.
  std::int64_t (*folds)(const config::Value& settings, std::int64_t groups) = nullptr;
  // Products and sums that a row takes on its way forward. Null: one for each value of a matrix.
  std::int64_t (*multiply_adds)(const Network& network) = nullptr;
  // All of a network that decides how it lies on a device: networks that have it in common can train side by
  // side. Null: everything.
  std::string (*layout)(const Network& network) = nullptr;

  // Of numbers: one more output behind them, the logarithm of the variance that each has, in the unit in
  // which they are trained.
  bool tells_variance = false;
  // Changes parameters so that each variance is so many times what it was, and nothing else. Of families that
  // tell one.
  void (*scale_variances)(const Network& network, double factor, NamedArrays& parameters) = nullptr;

  // Outputs behind those of the task, which losses of its own read and predictions leave out. Null: none.
  std::int64_t (*outputs_behind)(const config::Value& settings) = nullptr;

  // How its structure changes while it trains. Null: it does not.
  const Restructuring* restructuring = nullptr;

  bool learns_where_rows_lie = false;  // learn_buffers reads rows in a GPU's memory as well
  bool brings_batches = false;         // an engine on a GPU brings what does not lie there, batch by batch
  // Why GPUs have no kernels for a model of these settings, as far as they alone tell; "": nothing speaks
  // against it. Where something does, `device: auto` takes the CPU unless LibTorch was measured to be faster
  // on the GPU. Null: nothing ever does.
  std::string (*no_gpu_because)(const config::Value& settings) = nullptr;

  bool is_solved() const { return solve != nullptr; }
  DType type() const { return is_solved() ? DType::float64 : DType::float32; }  // that it reads features in
};

inline std::string no_gpu_because(const Family& family, const config::Value& settings) {
  return family.no_gpu_because == nullptr ? "" : family.no_gpu_because(settings);
}

std::span<const Family> families();
// For programs that bring families of their own, before the first use of the table.
void add_family(const Family& family);
const Family* find_family(std::string_view name);   // null when there is none
const Family& family_named(std::string_view name);  // refuses one that there is not
inline const Family& family_of(const Network& network) {
  return family_named(network.family);
}
std::vector<std::string> family_names(bool are_solved);  // in the table's order

// Settings as this family reads them, with every default written out.
config::Value checked_settings(const Family& family, const config::Value& settings, const std::string& path,
                               config::Diagnostics& diagnostics);

// How tables are prepared for a family with these settings.
InputForm form_of(const Family& family, const config::Value& settings);

// Outputs that a network of these settings has for the target of a preparation.
std::int64_t outputs_for(const Family& family, const config::Value& settings, const Preparation& preparation);
// Those of them that predictions are made of.
std::int64_t predicting_outputs(const Network& network);

// The network that a family lays over prepared rows.
Network network_for(const Family& family, config::Value settings, const Preparation& preparation);

std::string layout_of(const Network& network);
std::vector<ParameterSpec> parameter_specs(const Network& network);
std::vector<Phase> phases_of(const Network& network);  // at least one of gradients
std::int64_t parameter_count(const Network& network);
// That a row takes on its way forward: what a machine's speed and its threads are measured by.
std::int64_t multiply_adds(const Network& network);
// As they begin, from counter-based random numbers; with rows, buffers are fitted to them.
NamedArrays initial_parameters(const Network& network, std::uint64_t seed, const Dataset* training = nullptr);

// The settings of a network that was checked before, as the struct that declares them.
template <class Settings>
Settings settings_as(const config::Value& settings) {
  config::Diagnostics diagnostics("the settings of a model");
  Settings result = config::read<Settings>(settings, "", diagnostics);
  diagnostics.refuse_if_any();
  return result;
}

}  // namespace stoker
