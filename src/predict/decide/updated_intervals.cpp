#include "predict/decide/updated_intervals.h"

#include <algorithm>
#include <cmath>
#include <deque>

#include "base/error.h"
#include "data/split/time_order.h"
#include "data/target/target_column.h"
#include "data/windows/windows.h"
#include "predict/decide/intervals.h"

namespace stoker {
namespace {

// How much of the share one step of time changes: after Gibbs and Candès, "Adaptive conformal inference under
// distribution shift" (NeurIPS 2021), who found that 0.005 to 0.05 do.
constexpr double change_of_share = 0.02;

// The latest errors of a step, in the order in which they became known and by size, and the share of them
// that is to be held: more than was promised while intervals hold too little.
class LatestErrors {
 public:
  LatestErrors(std::size_t most, double share) : most_(most), promised_(share), share_(share) {}

  void add(double error) {
    by_time_.push_back(error);
    by_size_.insert(std::ranges::upper_bound(by_size_, error), error);
    if (by_time_.size() <= most_) return;
    by_size_.erase(std::ranges::lower_bound(by_size_, by_time_.front()));
    by_time_.pop_front();
  }

  // Of what became known at one moment, the share that lay in its intervals.
  void held(double share) { share_ += change_of_share * (promised_ - share); }

  // The one that bounds the share, or the largest.
  double bound() const {
    const std::size_t rank = rank_of(std::clamp(share_, 0.0, 1.0), by_size_.size());
    return by_size_[std::clamp<std::size_t>(rank, 1, by_size_.size()) - 1];
  }

 private:
  std::size_t most_;
  double promised_;
  double share_;
  std::deque<double> by_time_;
  std::vector<double> by_size_;
};

// A row, and when its answer is known or its window ends.
struct RowAtTick {
  std::int64_t tick = 0;
  std::size_t row = 0;
};

std::vector<RowAtTick> in_order(const Table& table,
                                std::int64_t (*tick)(const Table& table, std::int64_t row)) {
  std::vector<RowAtTick> rows;
  for (std::int64_t row = 0; row < table.rows(); ++row)
    rows.push_back({tick(table, row), static_cast<std::size_t>(row)});
  std::ranges::stable_sort(rows, {}, &RowAtTick::tick);
  return rows;
}

// An answer that is given in the last row of its window is not known before the next.
std::int64_t answer_known(const Table& table, std::int64_t row) {
  return span_of(table, row).last + (table.windows->config.horizon == 0 ? 1 : 0);
}

// Between two moments of a series lie as many ticks or more, so that the end is not before this.
std::int64_t window_ends(const Table& table, std::int64_t row) {
  return span_of(table, row).first + table.windows->config.length - 1;
}

// Not a number where there is no answer.
std::vector<double> errors_about(const Model& model, const Table& answered) {
  if (answered.rows() == 0) return {};
  std::vector<double> errors = predict(model, answered).values;
  const std::vector<double> actual = target_numbers_or_nan(answered, model.preparation.target_column());
  for (std::size_t i = 0; i < errors.size(); ++i) errors[i] = std::abs(actual[i] - errors[i]);
  return errors;
}

// Of each step. Rows of several series stand series by series, so that the last of them are not the latest;
// then some of all of them count.
std::vector<LatestErrors> beginning_with_held_back(const Model& model, double share) {
  const std::size_t most = errors_that_count(share);
  const auto steps = static_cast<std::size_t>(model.preparation.steps());
  const std::vector<double> errors = held_back_errors(model);
  const std::size_t rows = errors.size() / steps;
  const WindowsConfig* windows = model.preparation.windows();
  const bool is_one_series = windows != nullptr && windows->group_column.empty();
  const std::size_t apart = is_one_series ? 1 : (rows + most - 1) / most;
  std::vector<LatestErrors> latest(steps, LatestErrors(most, share));
  for (std::size_t row = (rows - 1) % apart; row < rows; row += apart)
    for (std::size_t step = 0; step < steps; ++step) latest[step].add(errors[row * steps + step]);
  return latest;
}

// Walks through the windows that have answers, as far as time has come.
class KnownSoFar {
 public:
  KnownSoFar(const Model& model, const Table& answered, double share)
      : steps_(static_cast<std::size_t>(model.preparation.steps())),
        latest_(beginning_with_held_back(model, share)),
        errors_(errors_about(model, answered)),
        bounds_(errors_.size()),
        ends_(in_order(answered, window_ends)),
        answers_(in_order(answered, answer_known)) {}

  // What is known at a tick, in which no answer of a window that ends then is.
  void go_to(std::int64_t tick) {
    while (answer_ < answers_.size() && answers_[answer_].tick <= tick) {
      end_windows(answers_[answer_].tick - 1);
      learn_answers(answers_[answer_].tick);
    }
    end_windows(tick);
  }

  double bound(std::size_t step) const { return latest_[step].bound(); }

 private:
  void end_windows(std::int64_t tick) {
    for (; end_ < ends_.size() && ends_[end_].tick <= tick; ++end_)
      for (std::size_t step = 0; step < steps_; ++step)
        bounds_[ends_[end_].row * steps_ + step] = latest_[step].bound();
  }

  void learn_answers(std::int64_t tick) {
    const std::size_t first = answer_;
    while (answer_ < answers_.size() && answers_[answer_].tick == tick) ++answer_;
    for (std::size_t step = 0; step < steps_; ++step) {
      double held = 0;
      double known = 0;
      for (std::size_t i = first; i < answer_; ++i) {
        const std::size_t place = answers_[i].row * steps_ + step;
        if (std::isnan(errors_[place])) continue;
        known += 1;
        held += errors_[place] <= bounds_[place] ? 1 : 0;
        latest_[step].add(errors_[place]);
      }
      if (known > 0) latest_[step].held(held / known);
    }
  }

  std::size_t steps_;
  std::vector<LatestErrors> latest_;
  std::vector<double> errors_;  // of the answers, [rows, steps]
  std::vector<double> bounds_;  // for them, when their windows ended
  std::vector<RowAtTick> ends_;
  std::vector<RowAtTick> answers_;
  std::size_t end_ = 0;
  std::size_t answer_ = 0;
};

}  // namespace

std::size_t errors_that_count(double share) {
  constexpr double errors_beyond = 10;  // the bound: fewer would say too little of it
  return static_cast<std::size_t>(std::max(100.0, std::ceil(errors_beyond / (1 - share) - 1e-9)));
}

Intervals predict_updated_intervals(const Model& model, const Table& windows, const Table& answered,
                                    double share) {
  if (const std::string problem = problem_with_intervals(model, share); !problem.empty())
    refuse("{}", problem);
  const auto steps = static_cast<std::size_t>(model.preparation.steps());
  KnownSoFar known(model, answered, share);
  Intervals intervals{predict(model, windows).values, {}};
  intervals.upper = intervals.lower;
  for (const RowAtTick& window : in_order(windows, window_ends)) {
    known.go_to(window.tick);
    for (std::size_t step = 0; step < steps; ++step) {
      intervals.lower[window.row * steps + step] -= known.bound(step);
      intervals.upper[window.row * steps + step] += known.bound(step);
    }
  }
  return intervals;
}

}  // namespace stoker
