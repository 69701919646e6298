#include "data/prepare/set_columns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <arrow/chunked_array.h>
#include <arrow/type.h>

#include "base/error.h"
#include "base/setting_error.h"
#include "base/text/text.h"
#include "data/prepare/column_scale.h"
#include "data/table/array_columns.h"
#include "data/table/column_values.h"
#include "data/windows/windows.h"

namespace stoker {
namespace {

constexpr std::size_t rows_of_set_block = 512;

std::size_t size_of(std::int64_t number) {
  return static_cast<std::size_t>(number);
}

NumberReader reader_of(const Table& table, const std::string& name) {
  const auto values = table.column(name);
  const ColumnKind kind = kind_of(*values->type());
  if (!is_numeric(kind) && kind != ColumnKind::empty)
    refuse("column '{}' is part of a set, which is made of numbers, but its type is {}", name,
           values->type()->ToString());
  return NumberReader(values);
}

// All columns of a set, a block of rows at a time.
class SetReader {
 public:
  SetReader(const Table& table, const SetColumns& set) : table_(table), set_(set) {
    const ArrayOfRows array{set.members, set.count, set.width};
    for (std::int64_t member = 0; member < set.count; ++member)
      for (std::int64_t column = 0; column < set.width; ++column)
        readers_.push_back(reader_of(table, array.column(member, column)));
    for (std::int64_t member = 0; !set.mask.empty() && member < set.count; ++member)
      readers_.push_back(reader_of(table, fmt::format("{}_{}", set.mask, member)));
    values_.resize(readers_.size() * rows_of_set_block);
  }

  // False behind the last row.
  bool next() {
    first_ += static_cast<std::int64_t>(rows_);
    rows_ = std::min(rows_of_set_block, size_of(table_.rows() - first_));
    for (std::size_t i = 0; i < readers_.size() && rows_ > 0; ++i)
      readers_[i].read(std::span(values_).subspan(i * rows_of_set_block, rows_));
    return rows_ > 0;
  }
  std::size_t rows() const { return rows_; }
  std::int64_t first_row() const { return first_; }

  double value(std::size_t row, std::int64_t member, std::int64_t column) const {
    return values_[size_of(member * set_.width + column) * rows_of_set_block + row];
  }
  bool is_present(std::size_t row, std::int64_t member) const {
    if (!set_.mask.empty()) {
      const double mask = values_[size_of(set_.count * set_.width + member) * rows_of_set_block + row];
      return !std::isnan(mask) && mask != 0;
    }
    for (std::int64_t column = 0; column < set_.width; ++column)
      if (!std::isnan(value(row, member, column))) return true;
    return false;
  }

 private:
  const Table& table_;
  const SetColumns& set_;
  std::vector<NumberReader> readers_;
  std::vector<double> values_;
  std::int64_t first_ = 0;
  std::size_t rows_ = 0;
};

std::string name_of_set(const Table& table, const PreparationConfig& config) {
  if (config.feature_columns.size() > 1)
    refuse("the model reads one set in each row, but feature_columns names {} columns; name the array alone",
           config.feature_columns.size());
  if (!config.feature_columns.empty()) return config.feature_columns.front();
  const std::vector<std::string> names = names_of_arrays_of_rows(table);
  if (names.size() > 1)
    refuse(
        "the table has several arrays that could be the set to predict from: {}; name one in feature_columns",
        join(names, ", "));
  if (names.empty())
    refuse(
        "the model reads a set in each row, an array with a row for each member, which stands in columns "
        "named "
        "NAME_0_0, NAME_0_1, …; the table has none");
  return names.front();
}

// What the values of one place are like over all members that are present.
struct QuantityOfMembers {
  std::vector<double> known;
  std::int64_t missing = 0;
};

struct MetInSets {
  std::vector<QuantityOfMembers> quantities;
  std::int64_t rows_with_too_many = 0;
};

MetInSets read_sets(const Table& training, const SetColumns& set) {
  MetInSets met;
  met.quantities.resize(size_of(set.width));
  SetReader reader(training, set);
  while (reader.next()) {
    for (std::size_t row = 0; row < reader.rows(); ++row) {
      std::int64_t present = 0;
      for (std::int64_t member = 0; member < set.count; ++member) {
        if (!reader.is_present(row, member) || ++present > set.room) continue;
        for (std::int64_t column = 0; column < set.width; ++column) {
          const double value = reader.value(row, member, column);
          QuantityOfMembers& quantity = met.quantities[size_of(column)];
          if (std::isinf(value))
            refuse("column '{}_{}_{}' is infinite in row {}: correct the value", set.members, member, column,
                   training.row_number(reader.first_row() + static_cast<std::int64_t>(row)));
          if (std::isnan(value)) {
            ++quantity.missing;
          } else {
            quantity.known.push_back(value);
          }
        }
      }
      met.rows_with_too_many += present > set.room ? 1 : 0;
    }
  }
  return met;
}

double middle_of(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

[[noreturn]] void refuse_empty(const Table& table, std::int64_t row, const SetColumns& set) {
  refuse(
      "row {} has no member of '{}' that is present: there is nothing to predict from; leave such rows out",
      table.row_number(row), set.members);
}

template <class T>
void lay_values(const Table& table, const SetColumns& set, const std::vector<PreparedColumn>& columns,
                Missing missing_values, std::span<T> members, std::span<T> present) {
  SetReader reader(table, set);
  while (reader.next()) {
    for (std::size_t row = 0; row < reader.rows(); ++row) {
      const std::int64_t number = reader.first_row() + static_cast<std::int64_t>(row);
      std::int64_t laid = 0;
      for (std::int64_t member = 0; member < set.count; ++member) {
        if (!reader.is_present(row, member)) continue;
        // In its place where all have one.
        const std::int64_t place = set.count <= set.room ? member : laid;
        if (place >= set.room) break;
        ++laid;
        present[size_of(number * set.room + place)] = 1;
        for (std::int64_t column = 0; column < set.width; ++column) {
          const PreparedColumn& prepared = columns[size_of(member * set.width + column)];
          double value = reader.value(row, member, column);
          if (std::isnan(value)) {
            if (missing_values == Missing::refuse)
              refuse("column '{}' is missing in row {}, which missing_values: refuse does not allow",
                     prepared.name, table.row_number(number));
            value = prepared.fill;
          }
          const T told = static_cast<T>(scaled(prepared, value));
          if (!std::isfinite(told))
            refuse("column '{}' is infinite in row {}, or too large", prepared.name,
                   table.row_number(number));
          members[size_of((number * set.room + place) * set.width + column)] = told;
        }
      }
      if (laid == 0 && missing_values == Missing::refuse) refuse_empty(table, number, set);
    }
  }
}

bool is_part_of(const std::string& column, const SetColumns& set, const ArrayOfRows& array) {
  for (std::int64_t member = 0; member < set.count; ++member) {
    if (!set.mask.empty() && column == fmt::format("{}_{}", set.mask, member)) return true;
    for (std::int64_t place = 0; place < set.width; ++place)
      if (column == array.column(member, place)) return true;
  }
  return false;
}

// A model would read the answer from them, or how much a row counts.
void refuse_among(const SetColumns& set, const ArrayOfRows& array, const std::vector<std::string>& answers,
                  const std::string& weights) {
  for (const std::string& answer : answers)
    if (is_part_of(answer, set, array))
      refuse("column '{}' is to be predicted, but it is part of the set that is predicted from", answer);
  if (!weights.empty() && is_part_of(weights, set, array))
    refuse_setting("weight_column", "weight_column '{}' is part of the set that is predicted from", weights);
}

}  // namespace

SetColumns find_set(const Table& table, const PreparationConfig& config, const InputForm& form) {
  const std::string name = name_of_set(table, config);
  const auto array = array_of_rows(table, name);
  if (!array)
    refuse(
        "'{}' is no array with a row for each member, which would stand in columns named {}_0_0, {}_0_1, …{}",
        name, name, name, did_you_mean(name, names_of_arrays_of_rows(table)));
  if (array->rows > most_array_places)
    refuse("the array '{}' has {} members; the maximum is {}", name, array->rows, most_array_places);
  const SetColumns set{name, config.mask_column, array->rows, array->columns, form.members_of_set};
  refuse_among(set, *array, target_parts(table, config.target_column), config.weight_column);
  if (!set.mask.empty()) {
    const std::size_t places = array_parts(table, set.mask).size();
    if (places != size_of(set.count))
      refuse_setting("mask_column",
                     "mask_column is '{}', which has {} ({}_0, {}_1, …), but the set '{}' has {}", set.mask,
                     counted(places, "column"), set.mask, set.mask, set.members,
                     counted(static_cast<std::size_t>(set.count), "member"));
  }
  return set;
}

std::vector<PreparedColumn> learn_set(const Table& training, const SetColumns& set,
                                      const PreparationConfig& config, Scaling scaling, const Notes& notes) {
  MetInSets met = read_sets(training, set);
  if (met.rows_with_too_many > 0)
    notes(Severity::warning,
          fmt::format(
              "{} of {} rows have more than {} members of '{}' that are present; the first {} of each count",
              met.rows_with_too_many, training.rows(), set.room, set.members, set.room));
  std::vector<PreparedColumn> quantities;
  for (std::int64_t column = 0; column < set.width; ++column) {
    QuantityOfMembers& quantity = met.quantities[size_of(column)];
    PreparedColumn prepared;
    prepared.name = fmt::format("{}_…_{}", set.members, column);
    if (quantity.known.empty())
      refuse("value {} of the members of '{}' is missing in every row to train on", column, set.members);
    if (quantity.missing > 0 && config.missing_values == Missing::refuse)
      refuse(
          "value {} of the members of '{}' is missing {} times, which missing_values: refuse does not allow",
          column, set.members, quantity.missing);
    prepared.fill = middle_of(quantity.known);
    if (quantity.missing > 0)
      notes(Severity::info,
            fmt::format("value {} of the members of '{}': {} of {} are missing, filled with the median {}",
                        column, set.members, quantity.missing,
                        quantity.known.size() + size_of(quantity.missing), number_text(prepared.fill)));
    learn_scale(prepared, quantity.known, scaling);
    quantities.push_back(std::move(prepared));
  }
  std::vector<PreparedColumn> columns;
  const ArrayOfRows array{set.members, set.count, set.width};
  for (std::int64_t member = 0; member < set.count; ++member) {
    for (std::int64_t column = 0; column < set.width; ++column) {
      columns.push_back(quantities[size_of(column)]);
      columns.back().name = array.column(member, column);
    }
  }
  for (std::int64_t member = 0; !set.mask.empty() && member < set.count; ++member) {
    columns.emplace_back();
    columns.back().name = fmt::format("{}_{}", set.mask, member);
  }
  return columns;
}

std::vector<ArraySpec> set_inputs(const SetColumns& set, DType type) {
  return {{"members", Role::features, type, {set.room, set.width}, {}},
          {"present", Role::mask, type, {set.room}, {}}};
}

void lay_set(const Table& table, const SetColumns& set, const std::vector<PreparedColumn>& columns,
             Missing missing_values, DType type, Dataset& dataset) {
  Array members = Array::for_rows(type, {table.rows(), set.room, set.width});
  Array present = Array::for_rows(type, {table.rows(), set.room});
  const auto lay = [&]<class T>(T) {
    std::ranges::fill(members.as<T>(), T{0});
    std::ranges::fill(present.as<T>(), T{0});
    lay_values<T>(table, set, columns, missing_values, members.as<T>(), present.as<T>());
  };
  if (type == DType::float32) {
    lay(float{});
  } else {
    lay(double{});
  }
  dataset.arrays.push_back({"members", Role::features, std::move(members)});
  dataset.arrays.push_back({"present", Role::mask, std::move(present)});
}

std::vector<std::int64_t> rows_without_members(const Table& table, const SetColumns& set) {
  std::vector<std::int64_t> rows;
  SetReader reader(table, set);
  while (reader.next()) {
    for (std::size_t row = 0; row < reader.rows(); ++row) {
      std::int64_t member = 0;
      while (member < set.count && !reader.is_present(row, member)) ++member;
      if (member == set.count) rows.push_back(reader.first_row() + static_cast<std::int64_t>(row));
    }
  }
  return rows;
}

void refuse_rows_without_members(const Table& table, const SetColumns& set) {
  const std::vector<std::int64_t> rows = rows_without_members(table, set);
  if (!rows.empty()) refuse_empty(table, rows.front(), set);
}

Table rows_with_members(const Table& table, const SetColumns& set, Missing missing_values,
                        const std::string& purpose, const Notes& notes) {
  const std::vector<std::int64_t> empty = rows_without_members(table, set);
  if (empty.empty()) return table;
  if (missing_values == Missing::refuse) refuse_empty(table, empty.front(), set);
  if (static_cast<std::int64_t>(empty.size()) == table.rows())
    refuse("no row has a member of '{}' that is present, so that there is nothing to {}", set.members,
           purpose);
  notes(
      Severity::warning,
      fmt::format("{} of {} rows have no member of '{}' that is present, the first is row {}; they are left "
                  "out of what there is to {}",
                  empty.size(), table.rows(), set.members, table.row_number(empty.front()), purpose));
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < table.rows(); ++row)
    if (!std::ranges::binary_search(empty, row)) rows.push_back(row);
  return take_rows(table, std::move(rows));
}

std::vector<std::string> warnings_of_sets(const Table& table, const SetColumns& set) {
  std::vector<std::string> warnings;
  if (const std::size_t empty = rows_without_members(table, set).size(); empty > 0)
    warnings.push_back(fmt::format("{} of {} rows have no member of '{}' that is present, and no prediction",
                                   empty, table.rows(), set.members));
  const auto array = array_of_rows(table, set.members);
  if (array && array->rows > set.count)
    warnings.push_back(
        fmt::format("the table has {} members of '{}' in each row, and the one that the model was trained on "
                    "had {}; the last {} are not read",
                    array->rows, set.members, set.count, array->rows - set.count));
  if (const std::int64_t more = read_sets(table, set).rows_with_too_many; more > 0)
    warnings.push_back(fmt::format(
        "{} of {} rows have more than {} members of '{}' that are present; the first {} of each count", more,
        table.rows(), set.room, set.members, set.room));
  return warnings;
}

}  // namespace stoker
