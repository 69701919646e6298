#include "model/linear/held_back.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

#include "base/error.h"

namespace stoker {
namespace {

constexpr std::size_t arrays_of_held_back_rows = 3;

template <class Value>
Array array_of(const std::vector<Value>& values, std::size_t columns) {
  const auto rows = static_cast<std::int64_t>(values.size() / columns);
  return Array::from<Value>(values,
                            columns == 1 ? Shape{rows} : Shape{rows, static_cast<std::int64_t>(columns)});
}

template <class Value>
std::vector<Value> values_of(const NamedArrays& arrays, std::string_view name, DType type) {
  const auto found =
      std::find_if(arrays.begin(), arrays.end(), [&](const NamedArray& each) { return each.name == name; });
  if (found == arrays.end()) refuse("it has no '{}'", name);
  if (found->array.type() != type) refuse("'{}' does not have the type that it needs", name);
  const Array& array = found->array;
  const auto values = array.as<Value>();
  return {values.begin(), values.end()};
}

bool are_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

void refuse_wrong_rows(const HeldBackRows& held_back, const HeldBackWidths& widths) {
  const std::vector<std::int64_t>& rows = held_back.rows;
  const std::size_t classes = widths.classes;
  if (held_back.actual.size() != rows.size() * widths.steps ||
      held_back.predicted.size() != rows.size() * widths.of_predicted())
    refuse("the rows and what is predicted of them differ in number");
  if (!rows.empty() && rows.front() < 0) refuse("a row has a negative number");
  if (std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) != rows.end())
    refuse("the rows are not in order");
  if (!are_finite(held_back.actual) || !are_finite(held_back.predicted))
    refuse("what is predicted contains something other than numbers");
  const auto is_class = [&](double value) {
    return std::floor(value) == value && value >= 0 && value < static_cast<double>(classes);
  };
  if (classes > 0 && !std::all_of(held_back.actual.begin(), held_back.actual.end(), is_class))
    refuse("a row is of a class that the model does not have");
}

}  // namespace

NamedArrays to_arrays(const HeldBackRows& held_back, const HeldBackWidths& widths) {
  return {{"rows", array_of(held_back.rows, 1)},
          {"actual", array_of(held_back.actual, widths.steps)},
          {"predicted", array_of(held_back.predicted, widths.of_predicted())}};
}

HeldBackRows held_back_from(const NamedArrays& arrays, const HeldBackWidths& widths) {
  HeldBackRows held_back{values_of<std::int64_t>(arrays, "rows", DType::int64),
                         values_of<double>(arrays, "actual", DType::float64),
                         values_of<double>(arrays, "predicted", DType::float64)};
  if (arrays.size() != arrays_of_held_back_rows)
    refuse("it contains {} arrays, but needs {}", arrays.size(), arrays_of_held_back_rows);
  refuse_wrong_rows(held_back, widths);
  return held_back;
}

}  // namespace stoker
