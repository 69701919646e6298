#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "config/field.h"
#include "config/usual_bounds.h"
#include "data/table/table.h"
#include "model/model.h"

namespace stoker {

enum class Combining { average, weighted, stacked };

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 3> stoker::config::names<stoker::Combining>{
    "average", "weighted", "stacked"};

namespace stoker {

struct CombiningConfig {
  Combining combining = Combining::average;
  std::vector<double> weights;
};

inline config::Fields fields(CombiningConfig& c) {
  return {
      config::field("combining", c.combining,
                    "average: every model counts the same. weighted: by the numbers in weights. stacked: by "
                    "weights that are chosen on the rows of dataset, so that the error there is smallest"),
      config::field("weights", c.weights,
                    "combining weighted: how much each model counts, in the order in which they are "
                    "connected; they are divided by their sum")
          .within(0, config::largest_weight),
  };
}

// What is wrong with the settings together, or "".
std::string problem_of(const CombiningConfig& config);

// Weights that are not below 0 and add up to 1, with which the models together have the smallest error on
// these rows, which none of them was trained on: squared, or the log loss of classes (Breiman, Stacked
// regressions, 1996).
std::vector<double> stacked_weights(const std::vector<Model>& models, const Table& rows);

// One model of several, of whatever families, that predict the same from the same columns; refuses others.
// The members of an ensemble become its own. Each model gets a weight; none given: all count the same.
Model combine_models(const std::vector<Model>& models, const std::vector<double>& weights);

}  // namespace stoker
