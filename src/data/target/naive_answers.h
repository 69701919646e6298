#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "data/table/table.h"

// Facts about the target in the training rows. Forecasts without a model are made from them, and every model
// is compared with these forecasts.
namespace stoker {

struct NaiveAnswers {
  std::vector<double> means;         // regression: one for each number of a row
  std::vector<double> class_shares;  // classification: in the order of the classes
  // Windows of a series: rows after which the series repeats; 0 if repeating the last season predicts the
  // training rows no better than the last value and the mean.
  std::int64_t season = 0;
};

// `classes` is empty for regression. `steps` is how many numbers each row has.
NaiveAnswers learn_naive_answers(const Table& training, const std::string& target,
                                 const std::vector<std::string>& classes, std::size_t steps);

// The value of the target one season earlier, for each number of each row [rows, steps]; NaN if the window
// does not hold it. Empty if the rows are no windows that show the target.
std::vector<double> values_of_last_season(const Table& table, std::int64_t season, std::size_t steps);

nlohmann::json to_json(const NaiveAnswers& answers);
// Throws an error if `json` is not what to_json() writes for a target of this form.
NaiveAnswers naive_answers_from(const nlohmann::json& json, std::size_t classes, std::size_t steps);

}  // namespace stoker
