#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

// What pictures of an evaluation are drawn from, by their kind. A report draws the kinds that it knows.
namespace stoker {

// Of all rows, or of an even sample of at most 5,000.
struct PredictedAgainstActual {
  std::vector<double> actual;
  std::vector<double> predicted;
};

// Rows of a series in the order of time: the latest 2,000 of the group that has the most rows. With several
// steps ahead, the first of them.
struct PredictedOverTime {
  std::string group;        // empty if there is only one
  std::string time_column;  // empty: `time` counts the rows
  bool has_dates = false;   // `time` is in seconds since 1970
  std::vector<double> time;
  std::vector<double> actual;
  std::vector<double> predicted;
};

// The same of classes, by their names.
struct PredictedClasses {
  std::vector<std::string> actual;
  std::vector<std::string> predicted;
};

struct ConfusionMatrix {
  std::vector<std::string> classes;   // all, or those with the most rows
  std::vector<std::int64_t> counts;   // [classes, classes], rows are the actual class
  std::int64_t classes_left_out = 0;  // because it would be too large
};

// How well each class is recognised, as scikit-learn's classification_report has it.
struct ClassScores {
  std::vector<std::string> classes;  // those of the confusion matrix
  std::vector<double> precision;     // of the rows taken for the class, the share that is of it; 0 of none
  std::vector<double> recall;        // of the rows of the class, the share that was found; 0 of none
  std::vector<double> f1;
  std::vector<std::int64_t> support;  // rows of the class
};

// How much worse the model is when a column of the table tells it nothing, the most important first.
struct ColumnImportance {
  std::string metric;
  std::int64_t rows = 0;     // that it was measured on
  std::int64_t repeats = 0;  // shuffles of each column
  std::vector<std::string> columns;
  std::vector<double> loss;    // of the metric, by its own unit: the mean over the repeats
  std::vector<double> spread;  // standard deviation over the repeats
};

// How often what is predicted with a probability comes true, by ranges of that probability.
struct Calibration {
  std::string of_class;            // whose probability; empty: that of the predicted class
  std::vector<double> predicted;   // mean probability in a range
  std::vector<double> observed;    // how often it came true
  std::vector<std::int64_t> rows;  // in the range
  double expected_error = 0;       // mean distance of the two over all rows (expected calibration error)
};

// Places of at most 200 rows, evenly spaced over all.
struct PositionMap {
  std::vector<double> actual_x;
  std::vector<double> actual_y;
  std::vector<double> predicted_x;
  std::vector<double> predicted_y;
  // Of the circle around what is predicted that is to hold 68 % of such rows; none of models that do not tell
  // it.
  std::vector<double> radius;
};

using Chart = std::variant<PredictedAgainstActual, PredictedClasses, ConfusionMatrix, ClassScores,
                           ColumnImportance, Calibration, PositionMap, PredictedOverTime>;

// {"kind": "confusion_matrix", …}
nlohmann::json to_json(const Chart& chart);
// Refuses what does not fit itself: lists of unequal length, a matrix that is not square, negative counts.
Chart chart_from_json(const nlohmann::json& json);

// The counts as a list of rows, one per actual class.
nlohmann::json confusion_rows(const ConfusionMatrix& matrix);
std::vector<std::int64_t> confusion_from_rows(const nlohmann::json& rows, std::size_t classes);

// nlohmann writes what is not a number as null.
double number_from(const nlohmann::json& value);
std::vector<double> numbers_from(const nlohmann::json& list);

}  // namespace stoker
