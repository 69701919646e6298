#include "predict/decide/intervals.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>

#include "base/error.h"
#include "base/text/text.h"
#include "device/workers.h"

namespace stoker {
namespace {

// Rows that the same members held back: with repeats, a row is held back by several, and their mean is closer
// to that of all than each of them.
struct HeldBackTogether {
  std::vector<std::size_t> members;    // ascending
  std::vector<std::size_t> rows = {};  // of each row, where each of them has it: [rows, members]
  std::vector<double> errors = {};     // how far their mean was off in a step, ascending
};

// A row that was held back, and where each member that did so has it.
struct RowOfMembers {
  std::vector<std::size_t> members;  // ascending
  std::vector<std::size_t> places;
};

// Which of the numbers that are predicted for a row; the errors of each step are its own.
struct Step {
  std::size_t number = 0;
  std::size_t of = 1;

  std::size_t place(std::size_t row) const { return row * of + number; }
};

// Members of one ensemble stand for each other; of several models that were combined, each counts as much as
// all its members do.
class Parts {
 public:
  explicit Parts(const Model& model) : sizes_(parts_of(model)) {
    std::size_t member = 0;
    for (const std::size_t size : sizes_) {
      double weight = 0;
      for (std::size_t i = 0; i < size; ++i) weight += weight_of_member(model, member++);
      weights_.push_back(sizes_.size() == 1 ? 1.0 : weight);
    }
  }

  // The mean of the whole as some members tell it, `predicted` being in their order; none where a part of the
  // whole that counts is not among them.
  std::optional<double> mean(const std::vector<std::size_t>& members,
                             const std::vector<double>& predicted) const {
    double whole = 0;
    std::size_t first = 0;
    std::size_t i = 0;
    for (std::size_t part = 0; part < sizes_.size(); ++part) {
      double sum = 0;
      std::size_t count = 0;
      for (first += sizes_[part]; i < members.size() && members[i] < first; ++i, ++count) sum += predicted[i];
      if (weights_[part] == 0) continue;
      if (count == 0) return std::nullopt;
      whole += weights_[part] * (sum / static_cast<double>(count));
    }
    return whole;
  }

 private:
  std::vector<std::size_t> sizes_;
  std::vector<double> weights_;
};

// In the order of the rows, those that the whole can be told of.
std::vector<RowOfMembers> rows_held_back(const Model& model, const Parts& parts) {
  struct Place {
    std::int64_t row;
    std::size_t member;
    std::size_t place;
  };
  std::vector<Place> all;
  const std::span<const Model> members = members_of(model);
  for (std::size_t m = 0; m < members.size(); ++m)
    for (std::size_t i = 0; i < members[m].held_back.rows.size(); ++i)
      all.push_back({members[m].held_back.rows[i], m, i});
  std::ranges::stable_sort(all, {}, &Place::row);
  std::vector<RowOfMembers> rows;
  for (std::size_t i = 0; i < all.size();) {
    RowOfMembers row;
    for (const std::int64_t number = all[i].row; i < all.size() && all[i].row == number; ++i) {
      row.members.push_back(all[i].member);
      row.places.push_back(all[i].place);
    }
    if (parts.mean(row.members, std::vector<double>(row.members.size()))) rows.push_back(std::move(row));
  }
  return rows;
}

// How far the members were off together about a row that each of them has at its place.
double error_of(const Model& model, const Parts& parts, const Step& step,
                const std::vector<std::size_t>& members, std::span<const std::size_t> places) {
  const std::span<const Model> all = members_of(model);
  std::vector<double> predicted;
  for (std::size_t i = 0; i < members.size(); ++i)
    predicted.push_back(all[members[i]].held_back.predicted[step.place(places[i])]);
  const double actual = all[members.front()].held_back.actual[step.place(places.front())];
  return std::abs(actual - parts.mean(members, predicted).value_or(predicted.front()));
}

// Every row to predict looks at every group.
constexpr std::size_t most_groups = 200;

std::vector<HeldBackTogether> held_back_by_each(const Model& model) {
  std::vector<HeldBackTogether> all;
  const std::span<const Model> members = members_of(model);
  for (std::size_t m = 0; m < members.size(); ++m) {
    if (members[m].held_back.rows.empty()) continue;
    all.push_back({{m}, std::vector<std::size_t>(members[m].held_back.rows.size())});
    std::iota(all.back().rows.begin(), all.back().rows.end(), std::size_t{0});
  }
  return all;
}

std::vector<HeldBackTogether> held_back_together(const Model& model, const Parts& parts) {
  std::map<std::vector<std::size_t>, std::vector<std::size_t>> groups;
  for (const RowOfMembers& row : rows_held_back(model, parts)) {
    std::vector<std::size_t>& places = groups[row.members];
    places.insert(places.end(), row.places.begin(), row.places.end());
  }
  if (groups.size() > most_groups && model.parts.empty()) return held_back_by_each(model);
  std::vector<HeldBackTogether> together;
  for (auto& [by, places] : groups) together.push_back({by, std::move(places)});
  return together;
}

// The errors of each step are its own.
void find_errors(const Model& model, const Parts& parts, const Step& step,
                 std::vector<HeldBackTogether>& groups) {
  for (HeldBackTogether& group : groups) {
    const std::size_t width = group.members.size();
    group.errors.clear();
    for (std::size_t first = 0; first < group.rows.size(); first += width)
      group.errors.push_back(
          error_of(model, parts, step, group.members, std::span(group.rows).subspan(first, width)));
    std::sort(group.errors.begin(), group.errors.end());
  }
}

// The rank-th smallest, from 1, of all centers[g] + groups[g].errors[i]. They are as many as training rows,
// for each row to predict, so they are not written down: the number of those up to a value takes a search in
// each group's list, and halving finds the value to its last bit.
double ranked_sum(const std::vector<double>& centers, const std::vector<HeldBackTogether>& groups,
                  std::int64_t rank) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    low = std::min(low, centers[g] + groups[g].errors.front());
    high = std::max(high, centers[g] + groups[g].errors.back());
  }
  const auto count_up_to = [&](double value) {
    std::int64_t count = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const std::vector<double>& errors = groups[g].errors;
      count += std::partition_point(errors.begin(), errors.end(),
                                    [&](double error) { return centers[g] + error <= value; }) -
               errors.begin();
    }
    return count;
  };
  if (count_up_to(low) >= rank) return low;
  for (double middle = std::midpoint(low, high); middle > low && middle < high;
       middle = std::midpoint(low, high))
    (count_up_to(middle) >= rank ? high : low) = middle;
  return high;
}

std::size_t held_back_rows(const Model& model) {
  std::set<std::int64_t> rows;
  for (const Model& member : members_of(model))
    rows.insert(member.held_back.rows.begin(), member.held_back.rows.end());
  return rows.size();
}

bool is_combined(const Model& model) {
  return parts_of(model).size() > 1;
}

std::size_t error_count(const std::vector<HeldBackTogether>& groups) {
  std::size_t count = 0;
  for (const HeldBackTogether& each : groups) count += each.errors.size();
  return count;
}

using PredictedByMember = std::vector<std::vector<double>>;

void bound(const Step& step, const std::vector<HeldBackTogether>& groups, const Parts& parts, double share,
           const PredictedByMember& predicted, std::int64_t rows, Intervals& intervals) {
  std::vector<std::size_t> all(predicted.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const auto rank = static_cast<std::int64_t>(rank_of(share, error_count(groups)));
  share_among_cores(rows, [&](std::int64_t item) {
    const std::size_t place = step.place(static_cast<std::size_t>(item));
    const auto mean_of = [&](const std::vector<std::size_t>& members) {
      std::vector<double> values;
      for (const std::size_t member : members) values.push_back(predicted[member][place]);
      return parts.mean(members, values).value_or(values.front());
    };
    std::vector<double> centers;
    for (const HeldBackTogether& group : groups) centers.push_back(mean_of(group.members));
    intervals.upper[place] = ranked_sum(centers, groups, rank);
    // The lower bound is the upper one of what is mirrored at 0.
    for (double& each : centers) each = -each;
    intervals.lower[place] = -ranked_sum(centers, groups, rank);
    // Where members disagree more than they err, the bounds of a small share would cross.
    const double mean = mean_of(all);
    intervals.lower[place] = std::min(intervals.lower[place], mean);
    intervals.upper[place] = std::max(intervals.upper[place], mean);
  });
}

}  // namespace

std::size_t rank_of(double share, std::size_t rows) {
  const double exact = share * static_cast<double>(rows + 1);
  return static_cast<std::size_t>(std::ceil(exact - 1e-9));  // 0.9 of 10 rows is no 9.000000000000002
}

std::vector<double> held_back_errors(const Model& model) {
  const auto steps = static_cast<std::size_t>(model.preparation.steps());
  const Parts parts(model);
  std::vector<double> errors;
  for (const RowOfMembers& row : rows_held_back(model, parts))
    for (std::size_t number = 0; number < steps; ++number)
      errors.push_back(error_of(model, parts, {number, steps}, row.members, row.places));
  return errors;
}

std::string problem_with_intervals(const Model& model, double share) {
  if (!(share > 0 && share < 1)) return fmt::format("{} is not a share between 0 and 1", share);
  if (model.preparation.task() != Task::regression)
    return fmt::format(
        "'{}' holds classes, and intervals are for numbers; how sure the model is of a class is in its "
        "probabilities",
        model.preparation.target_column());
  const std::size_t rows = held_back_rows(model);
  if (rows == 0 && is_combined(model))
    return "intervals come from rows that none of the combined models was trained on, and there are none; "
           "train all of them on the same rows, each as an ensemble (ensemble: {folds: 8}) or as a network "
           "with the same validation_ratio";
  if (rows == 0)
    return "intervals come from rows that a model was not trained on, and this one kept none; train it as an "
           "ensemble (--ensemble-folds 8, or ensemble: {folds: 8} in the train card), or a network with "
           "validation rows (--validation-ratio 0.1)";
  if (rank_of(share, rows) > rows)
    return fmt::format(
        "{} that the model was not trained on are too few for intervals that hold {:.6g} % of the values; "
        "ask for fewer",
        counted(rows, "row"), 100 * share);
  return "";
}

std::string basis_of_intervals(const Model& model) {
  const std::string rows = counted(held_back_rows(model), "row");
  if (is_combined(model)) return fmt::format("{} that none of the combined models was trained on", rows);
  if (model.is_ensemble()) return fmt::format("{} that a member of the ensemble was not trained on", rows);
  return fmt::format(
      "{} that validation_ratio held back, which also chose the weights; an ensemble would use "
      "all rows",
      rows);
}

Intervals predict_intervals(const Model& model, const Table& table, double share) {
  if (const std::string problem = problem_with_intervals(model, share); !problem.empty())
    refuse("{}", problem);
  const PredictedByMember predicted = predict_with_each_member(model, table);
  Intervals intervals{std::vector<double>(predicted.front().size()),
                      std::vector<double>(predicted.front().size())};
  const auto steps = static_cast<std::size_t>(model.preparation.steps());
  const Parts parts(model);
  std::vector<HeldBackTogether> groups = held_back_together(model, parts);
  for (std::size_t number = 0; number < steps; ++number) {
    const Step step{number, steps};
    find_errors(model, parts, step, groups);
    bound(step, groups, parts, share, predicted, table.rows(), intervals);
  }
  return intervals;
}

double coverage_of(const Intervals& intervals, const std::vector<double>& actual) {
  double inside = 0;
  double rows = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(actual[i])) continue;
    rows += 1;
    if (actual[i] >= intervals.lower[i] && actual[i] <= intervals.upper[i]) inside += 1;
  }
  return inside / rows;
}

}  // namespace stoker
