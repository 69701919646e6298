#include "data/prepare/preparation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/setting_error.h"
#include "data/cubes/cubes.h"
#include "data/dates/date_parts.h"
#include "data/prepare/feature_columns.h"
#include "data/target/relative_answers.h"
#include "data/target/target_column.h"
#include "data/target/target_statistics.h"
#include "data/windows/windows.h"

namespace stoker {
namespace {

void refuse_other_form(const Table& training, const InputForm& form) {
  if (!form.reads_cubes) refuse_cubes(training, "the model reads columns of numbers and texts");
  if (form.reads_cubes && !training.cubes)
    refuse("the model reads hyperspectral cubes, but these are plain rows; set source: cubes in data_load");
  if (form.reads_windows && !has_windows(training))
    refuse(
        "the model reads windows of a series, but these are plain rows{}: put a windows card between the "
        "data and data_split",
        training.windows ? ", made by layout: columns" : "");
  if (!form.reads_windows && has_windows(training))
    refuse(
        "the rows are windows of a series, but the model reads plain rows: set layout: columns in the "
        "windows "
        "card, or use a model that reads windows");
}

void refuse_statistics_of_path(const std::vector<PreparedColumn>& columns, std::int64_t steps) {
  if (steps == 1) return;
  for (const PreparedColumn& column : columns)
    if (column.kind == PreparedColumn::Kind::target)
      refuse(
          "column '{}' would be encoded by the answers of its rows, but each row has {} of them; set "
          "categorical_encoding to ordinal, or leave the column out of feature_columns",
          column.name, steps);
}

// The other columns of such rows are answers too, or the past that the answers follow.
void refuse_other_target(const Table& training, const std::string& target) {
  if (!training.windows || target == training.windows->config.target_column) return;
  refuse_setting("target_column",
                 "target_column is '{}', but the answers of these windows are those of '{}'; name that one",
                 target, training.windows->config.target_column);
}

}  // namespace

Preparation Preparation::fit(const Table& training, const PreparationConfig& config, const InputForm& form,
                             const Notes& notes) {
  if (training.rows() == 0) refuse("there are no rows to train on");
  refuse_other_form(training, form);
  if (form.reads_cubes) return of_cubes(learn_cubes(training, config));
  refuse_other_target(training, config.target_column);
  if (!config.mask_column.empty() && form.members_of_set == 0)
    refuse_setting("mask_column", "mask_column is for models that read sets, which this one does not");
  if (!config.weight_column.empty()) {
    column_position(training, config.weight_column);
    if (config.weight_column == config.target_column)
      refuse_setting("weight_column", "weight_column and target_column are both '{}'", config.target_column);
    const std::vector<std::string> parts = target_parts(training, config.target_column);
    if (std::ranges::find(parts, config.weight_column) != parts.end())
      refuse_setting("weight_column", "weight_column '{}' is part of the target '{}'", config.weight_column,
                     config.target_column);
  }
  InputForm wanted = form;
  if (config.scaling != Scaling::automatic) wanted.scaling = config.scaling;
  if (wanted.scaling == Scaling::automatic) wanted.scaling = Scaling::standard;
  const Scaling of_target = config.scale_target ? wanted.scaling : Scaling::none;
  LearntTarget target = learn_target(training, config, of_target, notes);
  Preparation result;
  if (const auto learnt = learn_relative_answers(training, config, target.task, notes)) {
    result.unknown_base_ = learnt->unknown_base;
    if (of_target != Scaling::none) {
      target.shifts = {learnt->differences.mean};
      target.scales = {learnt->differences.scale};
    }
  }
  result.task_ = target.task;
  result.missing_values_ = config.missing_values;
  result.target_column_ = config.target_column;
  result.target_date_form_ = date_form_of(training, config.target_column);
  result.classes_ = std::move(target.classes);
  if (form.one_target_scale) {
    const double squares =
        std::inner_product(target.scales.begin(), target.scales.end(), target.scales.begin(), 0.0);
    std::ranges::fill(target.scales, std::sqrt(squares / static_cast<double>(target.scales.size())));
  }
  result.target_shifts_ = std::move(target.shifts);
  result.target_scales_ = std::move(target.scales);
  if (form.members_of_set > 0) result.set_ = find_set(training, config, form);
  result.columns_ = learn_columns(training, config, wanted, notes);
  result.steps_ = static_cast<std::int64_t>(target_parts(training, config.target_column).size());
  refuse_statistics_of_path(result.columns_, result.steps_);
  result.naive_ = learn_naive_answers(training, config.target_column, result.classes_,
                                      static_cast<std::size_t>(result.steps_));
  if (training.windows) {
    result.windows_ = training.windows->config;
    const std::string& time = result.windows_->time_column;
    result.time_form_ = date_form_of(training, time);
    for (const std::string& slower : result.windows_->slower.slower_names) {
      const std::string joined = joined_name(slower, time);
      const std::string written = date_form_beside(training, time, joined);
      if (!written.empty()) result.slower_time_forms_.emplace(joined, written);
    }
  }
  if (has_target_statistics(result.columns_)) {
    const OwnRows own = own_rows(training, result.row_targets(training));
    for (PreparedColumn& column : result.columns_)
      if (column.kind == PreparedColumn::Kind::target)
        learn_target_statistics(column, training, own, wanted.scaling, notes);
  }
  return result;
}

// A pixel is marked or not.
Preparation Preparation::of_cubes(CubesRead cubes) {
  Preparation result;
  result.task_ = Task::binary;
  result.target_column_ = mask_target;
  result.classes_ = {"0", "1"};
  result.cubes_ = std::move(cubes);
  return result;
}

RowTargets Preparation::row_targets(const Table& table) const {
  if (task_ == Task::regression) return {real_targets(table), 0};
  const std::vector<std::int64_t> numbers = class_targets(table);
  return {{numbers.begin(), numbers.end()}, static_cast<std::int64_t>(classes_.size())};
}

void Preparation::refuse_other_answers(const Table& table) const {
  if (windows_ && table.windows) {
    const std::string difference = difference_between(*windows_, table.windows->config);
    if (!difference.empty())
      refuse("these windows are others than those that the model was trained on: {}", difference);
  }
  const std::size_t answers = target_parts(table, target_column_).size();
  if (answers != static_cast<std::size_t>(steps_))
    refuse("the model predicts {} of '{}' for each row, but the rows hold {}{}", steps_, target_column_,
           answers, windows_ ? "; put a windows card with the settings of its training before them" : "");
}

std::vector<double> Preparation::real_targets(const Table& table) const {
  refuse_other_answers(table);
  return target_numbers(table, target_column_);
}

std::vector<std::int64_t> Preparation::class_targets(const Table& table) const {
  refuse_other_answers(table);
  return target_class_numbers(table, target_column_, classes_);
}

std::string Preparation::name_in_file(const PreparedColumn& column) const {
  return windows_ ? feature_of_lag(*windows_, column.name) : column.name;
}

DateForms Preparation::date_forms() const {
  DateForms forms;
  for (const PreparedColumn& column : columns_)
    if (!column.date_form.empty()) forms.emplace(name_in_file(column), column.date_form);
  if (!target_date_form_.empty()) forms.emplace(target_column_, target_date_form_);
  if (!time_form_.empty()) forms.emplace(windows_->time_column, time_form_);
  forms.insert(slower_time_forms_.begin(), slower_time_forms_.end());
  return forms;
}

std::vector<std::string> Preparation::column_names() const {
  std::vector<std::string> names;
  // What a column becomes stands side by side.
  for (const PreparedColumn& column : columns_)
    if (names.empty() || names.back() != column.name) names.push_back(column.name);
  return names;
}

std::vector<std::string> Preparation::feature_names() const {
  std::vector<std::string> names;
  for (const PreparedColumn& column : columns_) {
    if (column.width() == 0) continue;
    if (column.kind == PreparedColumn::Kind::missing) {
      names.push_back(column.name + "=(missing)");
    } else if (column.kind == PreparedColumn::Kind::one_hot) {
      for (const std::string& category : column.categories) names.push_back(column.name + "=" + category);
      if (column.shares.empty()) names.push_back(column.name + "=(unseen)");
    } else if (column.kind == PreparedColumn::Kind::target) {
      for (const TargetStatistic& each : column.statistics) {
        const bool is_mean = classes_.empty();
        names.push_back(
            fmt::format("{} ({} of {})", column.name, is_mean ? "mean" : "share",
                        is_mean ? target_column_ : classes_.at(static_cast<std::size_t>(each.of_class))));
      }
    } else if (column.part != DatePart::none) {
      names.push_back(fmt::format("{}.{}", column.name, config::name_of(column.part)));
    } else {
      names.push_back(column.name);
    }
  }
  return names;
}

std::vector<ArraySpec> Preparation::inputs(DType type) const {
  if (cubes_) return cube_inputs(*cubes_);
  if (set_) return set_inputs(*set_, type);
  if (reads_windows()) return {{"window", Role::features, type, {windows_->length, feature_count()}, {}}};
  std::vector<ArraySpec> specs;
  const auto numbers =
      std::count_if(columns_.begin(), columns_.end(), [](const auto& column) { return column.is_apart; });
  if (numbers > 0) specs.push_back({"numbers", Role::features, type, {numbers}, {}});
  ArraySpec categories{"categories", Role::features, DType::int64, {}, {}};
  for (const PreparedColumn& column : columns_)
    if (column.kind == PreparedColumn::Kind::embedded)
      categories.sizes.push_back(static_cast<std::int64_t>(column.categories.size()) + 1);
  categories.shape = {static_cast<std::int64_t>(categories.sizes.size())};
  if (feature_count() > 0 || (numbers == 0 && categories.sizes.empty()))
    specs.push_back(table_features(type, feature_count()));
  if (!categories.sizes.empty()) specs.push_back(std::move(categories));
  return specs;
}

std::int64_t Preparation::feature_count() const {
  return std::accumulate(columns_.begin(), columns_.end(), std::int64_t{0},
                         [](std::int64_t sum, const PreparedColumn& column) { return sum + column.width(); });
}

}  // namespace stoker
