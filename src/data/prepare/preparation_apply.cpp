#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/text/text.h"
#include "data/dates/date_form.h"
#include "data/dates/date_parts.h"
#include "data/prepare/column_feed.h"
#include "data/prepare/lay_rows.h"
#include "data/prepare/preparation.h"
#include "data/table/column_values.h"
#include "data/target/relative_answers.h"
#include "data/target/target_statistics.h"
#include "data/windows/windows.h"

namespace stoker {
namespace {

void refuse_absent(const std::vector<PreparedColumn>& columns, const Table& table) {
  std::vector<std::string> absent;
  for (const PreparedColumn& column : columns) {
    const bool is_named = std::find(absent.begin(), absent.end(), column.name) != absent.end();
    if (!table.has_column(column.name) && !is_named) absent.push_back(column.name);
  }
  if (absent.size() > 1) refuse("the table lacks columns that the model needs: {}", join(absent, ", "));
  if (absent.size() == 1) {
    // A column that the model has found under its own name is no other's.
    std::vector<std::string> others = table.column_names();
    std::erase_if(others, [&](const std::string& name) {
      return std::any_of(columns.begin(), columns.end(),
                         [&](const PreparedColumn& column) { return column.name == name; });
    });
    refuse("the table lacks column '{}', which the model needs{}", absent.front(),
           did_you_mean(absent.front(), others));
  }
}

template <class T>
Array scaled_targets(const std::vector<double>& real, const Preparation& preparation) {
  const std::int64_t steps = preparation.steps();
  Array targets = Array::for_rows(dtype_of<T>(), {static_cast<std::int64_t>(real.size()) / steps, steps});
  const std::span<T> laid = targets.as<T>();
  for (std::size_t step = 0; step < static_cast<std::size_t>(steps); ++step) {
    const double shift = preparation.target_shift(step);
    const double scale = preparation.target_scale(step);
    for (std::size_t i = step; i < real.size(); i += static_cast<std::size_t>(steps))
      laid[i] = static_cast<T>((real[i] - shift) / scale);
  }
  return targets;
}

}  // namespace

std::vector<std::string> Preparation::text_columns() const {
  std::vector<std::string> names;
  for (const PreparedColumn& column : columns_) {
    if (!column.is_text()) continue;
    std::string name = name_in_file(column);
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  // Directions are made of numbers.
  if (windows_ && windows_->answer == Answer::direction) return names;
  // Classes that a column of numbers or booleans could not have been written as.
  const auto was_text = [](const std::string& name) {
    const auto number = number_in(name);
    return number ? number_text(*number) != name : name != "true" && name != "false";
  };
  if (std::any_of(classes_.begin(), classes_.end(), was_text)) names.push_back(target_column_);
  return names;
}

// What is read of single columns comes before the rows are laid, which may take the table away.
Dataset Preparation::apply(Table table, DType type, bool with_targets) const {
  if (cubes_) return lay_cubes(table, *cubes_, with_targets && cubes_->has_masks);
  if (with_targets && set_) refuse_rows_without_members(table, *set_);
  Dataset others;
  add_bases(table, others);
  if (with_targets) add_targets(table, type, others);
  Dataset dataset = lay_rows(table, type, nullptr);
  std::ranges::move(others.arrays, std::back_inserter(dataset.arrays));
  return dataset;
}

Dataset Preparation::apply_to_training(const Table& training, DType type) const {
  if (!has_target_statistics(columns_)) return apply(training, type, true);
  const OwnRows own = own_rows(training, row_targets(training));
  Table rows = training;
  Dataset dataset = lay_rows(rows, type, &own);
  add_bases(training, dataset);
  add_targets(training, type, dataset);
  return dataset;
}

Dataset Preparation::lay_windows(const Table& table, DType type) const {
  const std::int64_t length = windows_->length;
  if (!has_windows(table))
    refuse(
        "the model reads windows of {} rows of a series, but these are plain rows: put a windows card with "
        "the settings of its training before them",
        length);
  if (table.windows->config.length != length)
    refuse("the model reads windows of {} rows, but those of the table have {}", length,
           table.windows->config.length);
  CoveredMoments covered = covered_moments(table);
  refuse_absent(columns_, covered.moments);
  Array series = Array::for_rows(type, {covered.moments.rows(), feature_count()});
  std::vector<ColumnFeed> met;
  lay_rows_of(columns_of(columns_, "features"), covered.moments, nullptr, series, met, false);
  refuse_unusable(met, missing_values_, type,
                  [&](std::int64_t row, const std::string&) { return covered.moments.row_number(row); });
  Dataset dataset;
  dataset.arrays.push_back({"window", Role::features, std::move(series), std::move(covered.starts), length});
  return dataset;
}

Dataset Preparation::lay_rows(Table& table, DType type, const OwnRows* own) const {
  if (type != DType::float32 && type != DType::float64) fail("features were requested as {}", name_of(type));
  if (reads_windows()) return lay_windows(table, type);
  refuse_absent(columns_, table);
  Dataset dataset;
  if (set_) {
    lay_set(table, *set_, columns_, missing_values_, type, dataset);
    return dataset;
  }
  std::vector<ColumnFeed> met;
  const std::vector<ArraySpec> specs = inputs(type);
  for (const ArraySpec& spec : specs) {
    Array array = Array::for_rows(spec.type, {table.rows(), spec.shape.front()});
    const bool is_last = &spec == &specs.back();
    lay_rows_of(columns_of(columns_, spec.name), table, own, array, met, is_last);
    dataset.arrays.push_back({spec.name, spec.role, std::move(array)});
  }
  refuse_unusable(met, missing_values_, type, [&](std::int64_t row, const std::string& column) {
    return row_number_in(table, row, column);
  });
  return dataset;
}

void Preparation::add_bases(const Table& table, Dataset& dataset) const {
  if (!unknown_base_) return;
  dataset.arrays.push_back(
      {"base", Role::base, Array::from<double>(bases_of(table, *unknown_base_), {table.rows()})});
}

void Preparation::add_targets(const Table& table, DType type, Dataset& dataset) const {
  Array targets;
  if (task_ != Task::regression) {
    const std::vector<std::int64_t> classes = class_targets(table);
    targets = Array::for_rows(DType::int64, {table.rows()});
    targets.copy_from_host(classes.data(), targets.bytes());
  } else {
    std::vector<double> answers = real_targets(table);
    subtract_bases(dataset, answers);
    targets = type == DType::float32 ? scaled_targets<float>(answers, *this)
                                     : scaled_targets<double>(answers, *this);
  }
  dataset.arrays.push_back({"targets", Role::targets, std::move(targets)});
}

}  // namespace stoker
