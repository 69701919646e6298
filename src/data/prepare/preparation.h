#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/notes.h"
#include "data/cubes/cube_rows.h"
#include "data/dates/date_columns.h"
#include "data/placement/dataset.h"
#include "data/prepare/preparation_config.h"
#include "data/prepare/set_columns.h"
#include "data/table/table.h"
#include "data/target/naive_answers.h"
#include "data/windows/windows_config.h"

namespace stoker {

struct OwnRows;
struct RowTargets;

// Learnt from training rows, applied to any rows, inverted for targets. Part of the model folder.
class Preparation {
 public:
  // Reports what was imputed and left out.
  static Preparation fit(const Table& training, const PreparationConfig& config, const InputForm& form,
                         const Notes& notes);

  // The arrays that rows are prepared as, for a model that reads float32 or float64: "numbers" that are
  // embedded, "features" that stand as they are, "categories" by number; those of them that there are. Of
  // windows one, "window": the columns of each moment. Of sets "members" and "present" (set_columns.h).
  std::vector<ArraySpec> inputs(DType type) const;
  // The rows as inputs() says; refuses a table without a needed column, naming it. With targets: [rows,
  // steps] of the same type, scaled, for regression; [rows] int64 for classes. Of windows, the series is laid
  // once, and of it only what these rows cover. Who gives the table away, and holds nothing of it elsewhere,
  // has rows that were laid freed while others are still to be.
  Dataset apply(Table table, DType type, bool with_targets) const;
  // The rows that it was fitted to, with targets. A statistic of the target is here one of other rows than
  // the row's own: a model would else learn to read the answer from it.
  Dataset apply_to_training(const Table& training, DType type) const;

  // Targets in real units (regression) as they stand in the table, `steps` for each row; refuses missing and
  // infinite ones.
  std::vector<double> real_targets(const Table& table) const;
  // Refuses rows of a series that are answered otherwise than those it was fitted to.
  void refuse_other_answers(const Table& table) const;
  // Class numbers of the target column; refuses missing ones and classes that training did not have.
  std::vector<std::int64_t> class_targets(const Table& table) const;

  Task task() const { return task_; }
  Missing missing_values() const { return missing_values_; }  // what becomes of them
  const std::string& target_column() const { return target_column_; }
  // As text, sorted (by number where all are numbers); empty for regression.
  const std::vector<std::string>& classes() const { return classes_; }
  const std::vector<PreparedColumn>& columns() const { return columns_; }
  std::vector<std::string> column_names() const;  // of the table, each once, though it may become several
  // As feature_columns would name them: of a set its array alone.
  std::vector<std::string> chosen_features() const {
    return set_ ? std::vector{set_->members} : column_names();
  }
  std::vector<std::string> text_columns() const;  // those learnt as texts, for Source::read
  DateForms date_forms() const;  // those of the dates it met, the target's too, for Source::read
  std::vector<std::string> feature_names() const;  // one per prepared column of numbers
  std::int64_t feature_count() const;
  // Of a number of each row; those of a path have one of each in common.
  double target_shift(std::size_t step = 0) const { return target_shifts_[step % target_shifts_.size()]; }
  double target_scale(std::size_t step = 0) const { return target_scales_[step % target_scales_.size()]; }
  std::int64_t steps() const { return steps_; }  // numbers that are predicted for each row
  // Whether a model tells by how much answers differ from the last known value of their window. Then rows are
  // prepared with these values, an array of Role::base, and the shift and scale are those of the differences.
  bool is_relative() const { return unknown_base_.has_value(); }
  // With which a series becomes rows like those that it was fitted to; null where these were none of a
  // series.
  const WindowsConfig* windows() const { return windows_ ? &*windows_ : nullptr; }
  // Which columns hold the set of each row; null where rows are no sets.
  const SetColumns* set() const { return set_ ? &*set_ : nullptr; }
  // Facts about the target in the training rows; null in models of earlier versions and of cubes.
  const NaiveAnswers* naive_answers() const { return naive_ ? &*naive_ : nullptr; }
  // Which cubes it was fitted to; null where rows are none.
  const CubesRead* cubes() const { return cubes_ ? &*cubes_ : nullptr; }
  // Whether a row is answered with an array of the table, and not with steps of a series.
  bool answers_array() const { return steps_ > 1 && !windows_; }
  bool reads_windows() const { return windows_ && windows_->layout == WindowLayout::windows; }

  nlohmann::json to_json() const;
  static Preparation from_json(const nlohmann::json& json);  // refuses what is not one

 private:
  static Preparation of_cubes(CubesRead cubes);
  RowTargets row_targets(const Table& table) const;
  std::string name_in_file(const PreparedColumn& column) const;  // of a series, before it becomes windows
  Dataset lay_rows(Table& table, DType type, const OwnRows* own) const;
  Dataset lay_windows(const Table& table, DType type) const;
  void add_bases(const Table& table, Dataset& dataset) const;
  void add_targets(const Table& table, DType type, Dataset& dataset) const;

  Task task_ = Task::regression;
  Missing missing_values_ = Missing::impute;  // what apply does with them
  std::string target_column_;
  std::string target_date_form_;  // in which a target of dates was written
  std::vector<std::string> classes_;
  std::vector<PreparedColumn> columns_;
  std::vector<double> target_shifts_ = {0};  // one, or one for each step
  std::vector<double> target_scales_ = {1};
  std::int64_t steps_ = 1;
  // The mean of the answers in training, for a window in which no value is known; none where answers are told
  // as they are.
  std::optional<double> unknown_base_;
  std::optional<NaiveAnswers> naive_;
  std::optional<WindowsConfig> windows_;
  std::optional<SetColumns> set_;
  std::optional<CubesRead> cubes_;
  std::string time_form_;        // in which the times of a series were written
  DateForms slower_time_forms_;  // and those of its slower tables, by the names that they would have in it
};

}  // namespace stoker
