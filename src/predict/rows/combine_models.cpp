#include "predict/rows/combine_models.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/text/text.h"
#include "data/prepare/set_columns.h"
#include "predict/rows/predictions.h"

namespace stoker {
namespace {

using Weights = std::vector<double>;

constexpr double smallest_change = 1e-10;
constexpr int most_rounds = 10'000;

// Of each model, the probability that it gave the actual class of each row.
std::vector<std::vector<double>> probabilities_of_actual(const std::vector<Model>& models,
                                                         const Table& rows) {
  std::vector<std::vector<double>> result;
  const std::vector<std::int64_t> actual = models.front().preparation.class_targets(rows);
  const std::size_t classes = models.front().preparation.classes().size();
  for (const Model& model : models) {
    const Predictions predictions = predict(model, rows);
    if (predictions.probabilities.empty())
      refuse("combining: stacked is not for {} classes of {} rows; use average", classes, rows.rows());
    std::vector<double>& own = result.emplace_back();
    for (std::size_t row = 0; row < actual.size(); ++row)
      own.push_back(
          std::max(1e-12, predictions.probabilities[row * classes + static_cast<std::size_t>(actual[row])]));
  }
  return result;
}

// Expectation and maximisation of a mixture, whose log likelihood has no maximum but the greatest.
Weights likeliest_mixture(const std::vector<std::vector<double>>& probabilities) {
  const std::size_t models = probabilities.size();
  const std::size_t rows = probabilities.front().size();
  Weights weights(models, 1.0 / static_cast<double>(models));
  for (int round = 0; round < most_rounds; ++round) {
    Weights next(models, 0);
    for (std::size_t row = 0; row < rows; ++row) {
      double sum = 0;
      for (std::size_t m = 0; m < models; ++m) sum += weights[m] * probabilities[m][row];
      for (std::size_t m = 0; m < models; ++m) next[m] += weights[m] * probabilities[m][row] / sum;
    }
    double change = 0;
    for (std::size_t m = 0; m < models; ++m) {
      next[m] /= static_cast<double>(rows);
      change = std::max(change, std::abs(next[m] - weights[m]));
    }
    weights = std::move(next);
    if (change < smallest_change) break;
  }
  return weights;
}

// Mean products of the errors of each two models.
std::vector<Weights> error_products(const std::vector<Model>& models, const Table& rows) {
  const std::vector<double> actual = models.front().preparation.real_targets(rows);
  std::vector<std::vector<double>> errors;
  for (const Model& model : models) {
    errors.push_back(predict(model, rows).values);
    for (std::size_t i = 0; i < actual.size(); ++i) errors.back()[i] -= actual[i];
  }
  std::vector<Weights> products(models.size(), Weights(models.size()));
  for (std::size_t a = 0; a < models.size(); ++a)
    for (std::size_t b = 0; b < models.size(); ++b)
      products[a][b] = std::inner_product(errors[a].begin(), errors[a].end(), errors[b].begin(), 0.0) /
                       static_cast<double>(actual.size());
  return products;
}

// Weight goes from one model to another, as much as is best, until no two want to exchange any.
Weights least_squared_error(const std::vector<Weights>& products) {
  const std::size_t models = products.size();
  Weights weights(models, 1.0 / static_cast<double>(models));
  const auto slope = [&](std::size_t m) {
    return std::inner_product(products[m].begin(), products[m].end(), weights.begin(), 0.0);
  };
  for (int round = 0; round < most_rounds; ++round) {
    double change = 0;
    for (std::size_t to = 0; to < models; ++to) {
      for (std::size_t from = 0; from < models; ++from) {
        const double curve = products[to][to] + products[from][from] - 2 * products[to][from];
        if (from == to || curve <= 0) continue;
        const double wanted = (slope(from) - slope(to)) / curve;
        const double moved = std::clamp(wanted, -weights[to], weights[from]);
        weights[to] += moved;
        weights[from] -= moved;
        change = std::max(change, std::abs(moved));
      }
    }
    if (change < smallest_change) break;
  }
  return weights;
}

void refuse_other_prediction(const Model& first, const Model& other, std::size_t number) {
  const Preparation& one = first.preparation;
  const Preparation& two = other.preparation;
  if (one.target_column() != two.target_column() || one.task() != two.task() ||
      one.classes() != two.classes())
    refuse(
        "model {} predicts {} ({}) and the first one {} ({}); only models of the same target can be combined",
        number, two.target_column(), config::name_of(two.task()), one.target_column(),
        config::name_of(one.task()));
  const auto sorted = [](std::vector<std::string> names) {
    std::ranges::sort(names);
    return names;
  };
  if (sorted(one.column_names()) != sorted(two.column_names()))
    refuse(
        "model {} reads other columns than the first one, {} instead of {}; train them on the same columns",
        number, two.column_names().size(), one.column_names().size());
  if (one.steps() != two.steps() || one.reads_windows() != two.reads_windows())
    refuse(
        "model {} predicts {} from {}, and the first one {} from {}; only models of the same rows can be "
        "combined",
        number, counted(static_cast<std::uint64_t>(two.steps()), "number"),
        two.reads_windows() ? "windows" : "columns",
        counted(static_cast<std::uint64_t>(one.steps()), "number"),
        one.reads_windows() ? "windows" : "columns");
  if (one.windows() != nullptr && two.windows() != nullptr) {
    const std::string difference = difference_between(*one.windows(), *two.windows());
    if (!difference.empty())
      refuse("model {} was trained on other windows than the first one: {}", number, difference);
  }
  if (first.quantile != other.quantile)
    refuse("model {} predicts another quantile than the first one; only models of the same can be combined",
           number);
}

// The actual values of the rows that some member of the model was not trained on.
std::map<std::int64_t, std::vector<double>> held_back_values(const Model& model) {
  const auto steps = static_cast<std::size_t>(model.preparation.steps());
  std::map<std::int64_t, std::vector<double>> values;
  for (const Model& member : members_of(model)) {
    const HeldBackRows& own = member.held_back;
    for (std::size_t i = 0; i < own.rows.size(); ++i) {
      const auto first = own.actual.begin() + static_cast<std::ptrdiff_t>(i * steps);
      values.try_emplace(own.rows[i], first, first + static_cast<std::ptrdiff_t>(steps));
    }
  }
  return values;
}

// Up to what single precision loses on the way.
bool are_same_values(const std::vector<double>& one, const std::vector<double>& other) {
  constexpr double rounding = 1e-4;
  return std::ranges::equal(one, other, [](double a, double b) {
    return std::abs(a - b) <= rounding * std::max({1.0, std::abs(a), std::abs(b)});
  });
}

// What intervals of the whole rest on: rows that no part of it was trained on. None where the models were
// trained on different tables, whose rows have the same numbers and other values; and of classes, which have
// no intervals.
std::set<std::int64_t> rows_held_back_by_all(const std::vector<Model>& models) {
  std::set<std::int64_t> rows;
  if (models.front().preparation.task() != Task::regression) return rows;
  const auto first = held_back_values(models.front());
  for (const auto& [row, values] : first) rows.insert(row);
  for (std::size_t m = 1; m < models.size(); ++m) {
    if (models[m].preparation.steps() != models.front().preparation.steps()) return {};
    const auto own = held_back_values(models[m]);
    std::erase_if(rows, [&](std::int64_t row) { return !own.contains(row); });
    for (const std::int64_t row : rows)
      if (!are_same_values(first.at(row), own.at(row))) return {};
  }
  return rows;
}

void keep_rows(HeldBackRows& held_back, const std::set<std::int64_t>& kept, std::size_t steps) {
  HeldBackRows fewer;
  const auto append = [&](std::vector<double>& to, const std::vector<double>& from, std::size_t row) {
    const auto first = from.begin() + static_cast<std::ptrdiff_t>(row * steps);
    to.insert(to.end(), first, first + static_cast<std::ptrdiff_t>(steps));
  };
  for (std::size_t i = 0; i < held_back.rows.size(); ++i) {
    if (!kept.contains(held_back.rows[i])) continue;
    fewer.rows.push_back(held_back.rows[i]);
    append(fewer.actual, held_back.actual, i);
    append(fewer.predicted, held_back.predicted, i);
  }
  held_back = std::move(fewer);
}

}  // namespace

std::string problem_of(const CombiningConfig& config) {
  const bool is_weighted = config.combining == Combining::weighted;
  if (is_weighted && config.weights.empty()) return "weighted needs weights, one for each model";
  if (!is_weighted && !config.weights.empty())
    return fmt::format("weights are given, but combining is {}; set it to weighted",
                       config::name_of(config.combining));
  const double sum = std::accumulate(config.weights.begin(), config.weights.end(), 0.0);
  if (is_weighted && !(sum > 0)) return "the weights add up to 0; at least one must be above it";
  if (!std::isfinite(sum)) return "the weights are too large to add up";
  return "";
}

std::vector<double> stacked_weights(const std::vector<Model>& models, const Table& given) {
  const SetColumns* set = models.front().preparation.set();
  const Table rows = set == nullptr
                         ? given
                         : rows_with_members(given, *set, models.front().preparation.missing_values(),
                                             "choose weights on", no_notes());
  if (rows.rows() == 0) refuse("combining: stacked needs rows to choose the weights on, but there are none");
  for (std::size_t i = 1; i < models.size(); ++i) refuse_other_prediction(models.front(), models[i], i + 1);
  if (models.front().quantile)
    refuse(
        "combining: stacked makes the squared error small, but these models predict a quantile; use average "
        "or weighted");
  if (models.front().preparation.task() == Task::regression)
    return least_squared_error(error_products(models, rows));
  return likeliest_mixture(probabilities_of_actual(models, rows));
}

Model combine_models(const std::vector<Model>& models, const std::vector<double>& weights) {
  if (models.size() < 2)
    refuse("there is {} to combine; connect two or more", counted(models.size(), "model"));
  if (!weights.empty() && weights.size() != models.size())
    refuse("there are {} and {}; give each model one", counted(models.size(), "model"),
           counted(weights.size(), "weight"));
  Model whole;
  whole.network = models.front().network;
  whole.preparation = models.front().preparation;
  whole.quantile = models.front().quantile;
  whole.training_quantiles = models.front().training_quantiles;
  const std::set<std::int64_t> kept = rows_held_back_by_all(models);
  const bool are_single = std::ranges::none_of(models, &Model::is_ensemble);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i < models.size(); ++i) {
    refuse_other_prediction(models.front(), models[i], i + 1);
    const double share = weights.empty() ? 1.0 / static_cast<double>(models.size()) : weights[i] / sum;
    const std::span<const Model> members = members_of(models[i]);
    for (std::size_t m = 0; m < members.size(); ++m) {
      whole.members.push_back(members[m]);
      keep_rows(whole.members.back().held_back, kept, static_cast<std::size_t>(whole.preparation.steps()));
      whole.members.back().quantile = std::nullopt;
      whole.members.back().decision = {};
      whole.weights.push_back(share * weight_of_member(models[i], m));
    }
  }
  if (weights.empty() && are_single) whole.weights.clear();  // all count the same
  if (!are_single)
    for (const Model& each : models)
      for (const std::size_t part : parts_of(each)) whole.parts.push_back(part);
  if (whole.members.size() > most_members)
    refuse("the models have {} members together, more than the maximum of {}", whole.members.size(),
           most_members);
  return whole;
}

}  // namespace stoker
