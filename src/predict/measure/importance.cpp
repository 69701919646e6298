#include "predict/measure/importance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <arrow/table.h>

#include "base/error.h"
#include "base/random.h"
#include "data/memory/arrow_result.h"
#include "data/memory/kept_columns.h"
#include "data/target/target_column.h"
#include "data/windows/windows.h"
#include "predict/measure/even_rows.h"
#include "predict/measure/positions.h"
#include "predict/rows/predictions.h"

namespace stoker {
namespace {

constexpr std::int64_t fewest_shuffled_rows = 100;
constexpr std::int64_t usual_shuffled_rows = 500;
constexpr std::int64_t most_shuffled_rows = 5'000;

// Multiplications of all predictions together: a second or so on one core, and what is too many.
constexpr double usual_multiplications = 4e9;
constexpr double most_multiplications = 5e10;
// What preparing a value costs, in multiplications of a network.
constexpr double preparing_a_value = 50;

double member_count(const Model& model) {
  return static_cast<double>(std::max<std::size_t>(model.members.size(), 1));
}

// To predict a row by one member, once for every column and repeat.
double multiplications_of_a_row(const Model& model, const ImportanceConfig& config) {
  const auto columns = static_cast<double>(model.preparation.column_names().size());
  const double once =
      static_cast<double>(parameter_count(model)) / member_count(model) + preparing_a_value * columns;
  return once * columns * static_cast<double>(config.repeats);
}

struct Sample {
  std::size_t members = 1;
  std::int64_t rows = 0;
};

// Then a few of them stand for all.
bool are_alike(const Model& model) {
  return model.weights.empty() &&
         std::ranges::all_of(model.members, [&](const Model& each) { return each.type() == model.type(); });
}

// Fewer members first, then fewer rows.
Sample sample_within_budget(const Model& model, std::int64_t rows, const ImportanceConfig& config) {
  const double a_row = multiplications_of_a_row(model, config);
  const auto usual = static_cast<double>(std::min(rows, usual_shuffled_rows));
  const double all = member_count(model);
  const double fewest = are_alike(model) ? 1.0 : all;
  const double members = std::clamp(usual_multiplications / (usual * a_row), fewest, all);
  const double affordable = usual_multiplications / (std::floor(members) * a_row);
  return {static_cast<std::size_t>(members),
          static_cast<std::int64_t>(
              std::clamp(affordable, double{fewest_shuffled_rows}, double{most_shuffled_rows}))};
}

// Kinds of members take turns, so that the first ones are of all kinds.
Model with_first_members(const Model& model, std::size_t count) {
  if (!model.is_ensemble()) return model;
  Model few = model;
  few.members.resize(count);
  return few;
}

Table with_column_shuffled(const Table& table, const std::string& name, RandomKey key) {
  // Of windows it is a column of their series.
  if (has_windows(table)) {
    auto windows = std::make_shared<Windows>(*table.windows);
    windows->series = with_column_shuffled(windows->series, name, key);
    Table shuffled_series = table;
    shuffled_series.windows = std::move(windows);
    return shuffled_series;
  }
  const int position = column_position(table, name);
  const Permutation order(key, static_cast<std::uint64_t>(table.rows()));
  std::vector<std::int64_t> rows(static_cast<std::size_t>(table.rows()));
  for (std::size_t row = 0; row < rows.size(); ++row) rows[row] = static_cast<std::int64_t>(order(row));
  const Table shuffled =
      take_rows({or_fail(table.columns->SelectColumns({position}), "shuffling a column")}, std::move(rows));
  Table result = table;
  result.columns =
      or_fail(table.columns->SetColumn(position, table.columns->field(position), shuffled.columns->column(0)),
              "shuffling a column");
  return result;
}

// What the windows cover, in memory: it is read once for each shuffle.
Table with_own_series(const Table& table) {
  CoveredMoments covered = covered_moments(table);
  auto windows = std::make_shared<Windows>();
  windows->config = table.windows->config;
  windows->series = covered.moments;
  windows->series.columns = in_memory(covered.moments.columns);
  windows->starts = NumberRuns<std::int32_t>(std::as_const(covered.starts).as<std::int64_t>());
  Table own = table;
  own.source_rows = nullptr;
  own.time_order = nullptr;
  own.windows = std::move(windows);
  return own;
}

// Measures predictions against targets that stay where they are.
class Scorer {
 public:
  Scorer(const Model& model, const Table& table, const Metric& metric) : model_(model), metric_(metric) {
    if (model.preparation.task() == Task::regression) {
      numbers_ = target_numbers_or_nan(table, model.preparation.target_column());
      return;
    }
    MetClasses met = meet_classes(table, model.preparation.target_column(), model.preparation.classes());
    classes_ = std::move(met.numbers);
    class_count_ = model.preparation.classes().size() + met.unseen.size();
  }

  double score(const Table& table) const {
    if (model_.preparation.task() == Task::regression) {
      std::vector<double> actual = numbers_;
      std::vector<double> predicted = predict(model_, table).values;
      centre_arrays(model_.preparation, actual, predicted);
      return metric_.compute(measured_numbers(actual, predicted, model_.quantile.value_or(0.5)));
    }
    PiecesOfPredictions pieces(model_, table);
    const ClassRows rows = class_rows(classes_, class_count_, [&](const auto& take) { pieces.each(take); });
    return metric_.compute({{}, {}, &rows});
  }

 private:
  const Model& model_;
  const Metric& metric_;
  std::vector<double> numbers_;
  std::vector<std::int64_t> classes_;
  std::size_t class_count_ = 0;
};

struct MeanAndSpread {
  double mean = 0;
  double spread = 0;
};

MeanAndSpread mean_and_spread(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double each : values) squares += (each - mean) * (each - mean);
  return {mean, values.size() < 2 ? 0 : std::sqrt(squares / (count - 1))};
}

template <class Value>
void put_in_order(std::vector<Value>& list, const std::vector<std::size_t>& order) {
  std::vector<Value> sorted;
  for (const std::size_t place : order) sorted.push_back(list[place]);
  list = std::move(sorted);
}

void put_most_important_first(ColumnImportance& importance) {
  std::vector<std::size_t> order(importance.columns.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return importance.loss[a] > importance.loss[b]; });
  put_in_order(importance.columns, order);
  put_in_order(importance.loss, order);
  put_in_order(importance.spread, order);
}

}  // namespace

bool is_importance_too_slow(const Model& model, const ImportanceConfig& config) {
  return multiplications_of_a_row(model, config) * static_cast<double>(fewest_shuffled_rows) >
         most_multiplications;
}

ColumnImportance column_importance(const Model& model, const Table& table, const Metric& metric,
                                   const ImportanceConfig& config, const StopSignal& stop) {
  ColumnImportance importance;
  importance.metric = metric.name;
  importance.repeats = config.repeats;
  importance.columns = model.preparation.column_names();
  const Sample sample = sample_within_budget(model, table.rows(), config);
  const Model shuffled = with_first_members(model, sample.members);
  Table rows = even_rows(table, sample.rows);
  rows.columns = in_memory(rows.columns);
  if (has_windows(rows)) rows = with_own_series(rows);
  importance.rows = rows.rows();
  const Scorer scorer(shuffled, rows, metric);
  const double whole = scorer.score(rows);
  std::uint64_t shuffles = 0;
  for (const std::string& column : importance.columns) {
    std::vector<double> losses;
    for (std::int64_t repeat = 0; repeat < config.repeats; ++repeat) {
      if (stop.reason() == StopReason::interrupted) throw Error(ExitCode::interrupted, "interrupted");
      const RandomKey key = random_key(config.seed, Purpose::shuffle, shuffles++);
      const double without = scorer.score(with_column_shuffled(rows, column, key));
      losses.push_back(metric.higher_is_better ? whole - without : without - whole);
    }
    const auto [mean, spread] = mean_and_spread(losses);
    importance.loss.push_back(mean);
    importance.spread.push_back(spread);
  }
  put_most_important_first(importance);
  return importance;
}

ColumnImportance telling_importance(const Model& model, const Table& table, const Metric& metric,
                                    const ImportanceConfig& config, const StopSignal& stop) {
  ColumnImportance found = column_importance(model, table, metric, config, stop);
  const auto is_nothing = [](double each) { return each == 0; };
  const bool tells =
      !std::ranges::all_of(found.loss, is_nothing) || !std::ranges::all_of(found.spread, is_nothing);
  if (tells || metric.needs != MetricNeeds::classes) return found;
  ColumnImportance by_loss =
      column_importance(model, table, loss_metric(model.preparation.task()), config, stop);
  return std::ranges::all_of(by_loss.loss, [](double each) { return std::isfinite(each); }) ? by_loss : found;
}

}  // namespace stoker
