#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/placement/dataset.h"
#include "data/table/table.h"
#include "model/model.h"

namespace stoker {

// Of more classes than these nobody reads a column each, and rows × classes outgrow any memory.
constexpr std::size_t most_classes_with_columns = 1'000;

// Predictions in real units, in the order of the rows.
struct Predictions {
  Task task = Task::regression;
  std::vector<double> values;         // regression: [rows, steps] row-major
  std::vector<std::int64_t> classes;  // classification: number of the class
  std::vector<double> probabilities;  // classification: [rows, classes] row-major
  std::vector<std::string> class_names;
  std::vector<double> of_predicted = {};  // [rows], of the predicted class, where those of all are too many
  std::int64_t steps = 1;                 // regression: numbers that are predicted for each row
  // [rows], of each number of the row, where the model tells it.
  std::vector<double> deviations = {};
  bool has_columns() const { return class_names.size() <= most_classes_with_columns; }
  std::int64_t rows() const {
    return task == Task::regression ? static_cast<std::int64_t>(values.size()) / steps
                                    : static_cast<std::int64_t>(classes.size());
  }
};

// Of an ensemble, the mean of what its members predict: of values, or of probabilities. Deviations are those
// of all that the members hold for possible, so that members which disagree are less sure together.
Predictions predict(const Model& model, const Table& table);
// The same of rows that are prepared: those of each member, all of which have the same number.
Predictions predict_prepared(const Model& model, std::span<const Dataset> of_members);
// Of a regression, by member; a single model is its own only one.
std::vector<std::vector<double>> predict_with_each_member(const Model& model, const Table& table);
// Of a regression by a single model, for rows that are prepared.
std::vector<double> predict_numbers(const Model& model, const Dataset& data);

// Predictions of classes with all their probabilities, some rows at a time, so that memory does not grow with
// rows × classes.
class PiecesOfPredictions {
 public:
  PiecesOfPredictions(const Model& model, const Table& table);
  PiecesOfPredictions(const Model& model, Dataset data);  // of rows that are prepared, by a single model
  // All pieces in the order of the rows. Asked again, it computes them again, unless one piece holds all
  // rows.
  void each(const std::function<void(const Predictions& piece)>& take);

 private:
  void refuse_numbers() const;
  bool is_one_piece() const;
  Predictions piece(std::int64_t first, std::int64_t count) const;
  void add_member(std::size_t member, const Dataset& data, std::int64_t first, std::int64_t count,
                  std::optional<Predictions>& sum) const;
  void conclude(Predictions& sum) const;

  const Model& model_;
  std::int64_t rows_;
  std::vector<Dataset> data_;  // of each member
  std::optional<Predictions> whole_;
};

// Hands out the predictions of all rows with their probabilities, piece by piece in the order of the rows.
using PredictedRows = std::function<void(const std::function<void(const Predictions& piece)>& take)>;

// As columns: "<target>" is named `prediction`, or prediction_1, prediction_2, … where there are several
// steps, with `deviation` behind them where the model tells it; classification adds probability_<class>, or
// `probability`, that of the prediction, where the classes are too many. With the input columns in front when
// asked for; a name that is taken already gets an underscore behind it.
Table predictions_table(const Predictions& predictions, const Table& input, bool include_features,
                        const std::string& prediction_name);

// In real units, [rows, steps] in the order of the rows.
struct Intervals {
  std::vector<double> lower;
  std::vector<double> upper;
};
// The table with the columns lower and upper behind the others, or lower_1, upper_1, … of several steps; a
// name that is taken already gets an underscore behind it.
Table with_intervals(const Table& predictions, const Intervals& intervals);

}  // namespace stoker
