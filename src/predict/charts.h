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

using Chart = std::variant<PredictedAgainstActual, PredictedClasses, ConfusionMatrix>;

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
