#include "predict/measure/certainty.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "device/workers.h"

namespace stoker {
namespace {

constexpr std::size_t draws = 200;
constexpr std::size_t most_drawn_rows = 2'000;
constexpr std::uint64_t seed_of_draws = 0;

using Positions = std::vector<std::size_t>;

// Evenly spaced over all rows.
Positions positions_to_draw_from(std::size_t rows) {
  Positions positions(std::min(rows, most_drawn_rows));
  for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = i * rows / positions.size();
  return positions;
}

// Piece by piece, each of `together` that follow each other.
Positions drawn_anew(const Positions& positions, std::size_t draw, std::size_t together) {
  const RandomKey key = random_key(seed_of_draws, Purpose::sample, draw);
  const std::size_t beginnings = positions.size() - together + 1;
  Positions drawn;
  drawn.reserve(positions.size());
  for (std::uint32_t piece = 0; drawn.size() < positions.size(); ++piece) {
    const auto first = static_cast<std::size_t>(uniform(key, piece) * static_cast<double>(beginnings));
    const std::size_t count = std::min(together, positions.size() - drawn.size());
    for (std::size_t i = 0; i < count; ++i) drawn.push_back(positions[first + i]);
  }
  return drawn;
}

// Where rows have several numbers each, the positions of all of them.
Positions with_all_numbers(const Positions& rows, std::size_t numbers) {
  if (numbers == 1) return rows;
  Positions all;
  all.reserve(rows.size() * numbers);
  for (const std::size_t row : rows)
    for (std::size_t i = 0; i < numbers; ++i) all.push_back(row * numbers + i);
  return all;
}

template <class List>
auto picked(const List& list, const Positions& positions) {
  std::vector<std::remove_cv_t<typename List::value_type>> values;
  values.reserve(positions.size());
  for (const std::size_t position : positions) values.push_back(list[position]);
  return values;
}

// The probabilities of two classes, from those of each row's own class and of the other.
Predictions of_two_classes(std::span<const std::int64_t> actual, const ScoredRows& scored) {
  Predictions all;
  all.task = Task::binary;
  all.class_names.resize(2);
  all.classes = scored.predicted;
  for (std::size_t row = 0; row < actual.size(); ++row) {
    const double own = scored.of_actual[row], other = scored.of_other[row];
    all.probabilities.push_back(actual[row] == 0 ? own : other);
    all.probabilities.push_back(actual[row] == 0 ? other : own);
  }
  return all;
}

// Rankings of many classes look at all probabilities, which are not kept.
bool can_be_drawn(const Metric& metric, const MeasuredRows& rows) {
  return metric.needs != MetricNeeds::ranked_classes || !rows.classes->scored.of_other.empty();
}

std::vector<double> values_of(const MeasuredRows& rows, std::span<const Metric> wanted) {
  std::vector<double> values;
  for (const Metric& metric : wanted) values.push_back(metric.compute(rows));
  return values;
}

std::vector<double> values_on(const Positions& positions, const MeasuredRows& rows,
                              std::span<const Metric> wanted) {
  if (rows.classes == nullptr) {
    const std::vector<double> actual = picked(rows.actual, positions);
    const std::vector<double> predicted = picked(rows.predicted, positions);
    return values_of(measured_numbers(actual, predicted, rows.quantile), wanted);
  }
  const ClassRows& all = *rows.classes;
  const bool has_other = !all.scored.of_other.empty();
  const std::vector<std::int64_t> actual = picked(all.actual, positions);
  const ScoredRows scored{picked(all.scored.predicted, positions), picked(all.scored.of_actual, positions),
                          all.scored.all_numbers,
                          has_other ? picked(all.scored.of_other, positions) : std::vector<double>()};
  Predictions both;
  if (has_other) both = of_two_classes(actual, scored);
  const ClassRows drawn = class_rows(actual, all.classes(), scored, [&](const auto& take) { take(both); });
  return values_of({{}, {}, &drawn}, wanted);
}

// Linear between neighbours, as numpy's percentile.
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

double deviation_of(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double each : values) squares += (each - mean) * (each - mean);
  return std::sqrt(squares / (count - 1));
}

// How rows are drawn of which `alike` next to each other have something in common.
struct Drawing {
  Positions positions;
  std::size_t together = 1;
  double narrowing = 1;
};

Drawing drawing_of(std::size_t rows, std::size_t alike) {
  Drawing drawing{positions_to_draw_from(rows)};
  const std::size_t count = drawing.positions.size();
  const std::size_t sampled_alike = std::min(alike, rows) * count / rows;
  // A tenth of the rows at most: fewer than ten pieces would say little of how much they differ.
  drawing.together = std::max<std::size_t>(1, std::min(sampled_alike, count / 10));
  // All rows together say no more than as many as have nothing in common. A sample that has one of each such
  // piece says as much.
  drawing.narrowing = std::sqrt(std::min(1.0, static_cast<double>(std::min(alike, rows)) *
                                                  static_cast<double>(count) / static_cast<double>(rows)));
  return drawing;
}

std::optional<MetricInterval> interval_from(std::string_view metric, double value, double of_sample,
                                            std::vector<double> drawn, double narrowing) {
  std::erase_if(drawn, [](double each) { return !std::isfinite(each); });
  if (!std::isfinite(value) || !std::isfinite(of_sample) || drawn.size() < draws / 2) return std::nullopt;
  std::sort(drawn.begin(), drawn.end());
  return MetricInterval{std::string(metric), value + narrowing * (quantile(drawn, 0.025) - of_sample),
                        value + narrowing * (quantile(drawn, 0.975) - of_sample),
                        narrowing * deviation_of(drawn)};
}

}  // namespace

std::vector<MetricInterval> intervals_of(const MeasuredRows& rows, std::span<const Metric> wanted,
                                         const DrawnAtOnce& drawn_at_once) {
  std::vector<Metric> possible;
  for (const Metric& each : wanted)
    if (can_be_drawn(each, rows)) possible.push_back(each);
  const std::size_t numbers = drawn_at_once.numbers;
  const std::size_t count =
      rows.classes == nullptr ? rows.actual.size() / numbers : rows.classes->actual.size();
  if (count < 2) return {};
  const Drawing drawing = drawing_of(count, drawn_at_once.rows);
  std::vector<std::vector<double>> by_draw(draws);
  share_among_cores(draws, [&](std::int64_t draw) {
    const auto number = static_cast<std::size_t>(draw);
    by_draw[number] = values_on(
        with_all_numbers(drawn_anew(drawing.positions, number, drawing.together), numbers), rows, possible);
  });
  const std::vector<double> of_all = values_of(rows, possible);
  const std::vector<double> of_sample =
      values_on(with_all_numbers(drawing.positions, numbers), rows, possible);
  std::vector<MetricInterval> intervals;
  for (std::size_t i = 0; i < possible.size(); ++i) {
    std::vector<double> drawn;
    for (const std::vector<double>& values : by_draw) drawn.push_back(values[i]);
    if (auto interval =
            interval_from(possible[i].name, of_all[i], of_sample[i], std::move(drawn), drawing.narrowing))
      intervals.push_back(std::move(*interval));
  }
  return intervals;
}

std::optional<double> error_of_difference(const MeasuredRows& one, const MeasuredRows& other,
                                          const Metric& metric, std::size_t alike) {
  if (one.actual.size() < 2 || other.actual.size() != one.actual.size()) return std::nullopt;
  const Drawing drawing = drawing_of(one.actual.size(), alike);
  std::vector<double> differences(draws);
  for (std::size_t draw = 0; draw < draws; ++draw) {
    const Positions drawn = drawn_anew(drawing.positions, draw, drawing.together);
    differences[draw] =
        values_on(drawn, one, {&metric, 1}).front() - values_on(drawn, other, {&metric, 1}).front();
  }
  std::erase_if(differences, [](double each) { return !std::isfinite(each); });
  if (differences.size() < draws / 2) return std::nullopt;
  return drawing.narrowing * deviation_of(differences);
}

}  // namespace stoker
