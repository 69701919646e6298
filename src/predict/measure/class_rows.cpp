#include "predict/measure/class_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"

namespace stoker {
namespace {

ScoredRows score_rows(std::span<const std::int64_t> actual, std::size_t classes,
                      const PredictedRows& predicted) {
  ScoredRows scored;
  const auto is_known = [&](std::int64_t number) {
    return number >= 0 && static_cast<std::size_t>(number) < classes;
  };
  predicted([&](const Predictions& piece) {
    const std::size_t width = piece.class_names.size();
    if (piece.probabilities.size() != piece.classes.size() * width)
      fail("{} predictions have {} probabilities of {} classes", piece.classes.size(),
           piece.probabilities.size(), width);
    for (std::size_t i = 0; i < piece.classes.size(); ++i) {
      const std::size_t row = scored.predicted.size();
      if (row == actual.size() || !is_known(actual[row]) || !is_known(piece.classes[i]))
        fail("row {} has a class number that the model does not know", row);
      const auto own = static_cast<std::size_t>(actual[row]);
      scored.predicted.push_back(piece.classes[i]);
      const auto of_class = [&](std::size_t c) { return c < width ? piece.probabilities[i * width + c] : 0; };
      scored.of_actual.push_back(of_class(own));
      if (classes == 2) scored.of_other.push_back(of_class(1 - own));
    }
    scored.all_numbers =
        scored.all_numbers && std::none_of(piece.probabilities.begin(), piece.probabilities.end(),
                                           [](double p) { return std::isnan(p); });
  });
  if (scored.predicted.size() != actual.size())
    fail("{} actual classes, but {} predictions", actual.size(), scored.predicted.size());
  return scored;
}

ClassCounts count_classes(std::span<const std::int64_t> actual, const ScoredRows& scored,
                          std::size_t classes) {
  ClassCounts counts{std::vector<std::int64_t>(classes), std::vector<std::int64_t>(classes),
                     std::vector<std::int64_t>(classes)};
  for (std::size_t row = 0; row < actual.size(); ++row) {
    ++counts.actual[static_cast<std::size_t>(actual[row])];
    ++counts.predicted[static_cast<std::size_t>(scored.predicted[row])];
    if (actual[row] == scored.predicted[row]) ++counts.right[static_cast<std::size_t>(actual[row])];
  }
  return counts;
}

// All classes in their order, or the most frequent ones.
std::vector<std::size_t> classes_to_show(const ClassCounts& counts) {
  std::vector<std::size_t> shown(counts.actual.size());
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  if (shown.size() <= most_classes_shown) return shown;
  std::partial_sort(shown.begin(), shown.begin() + static_cast<std::ptrdiff_t>(most_classes_shown),
                    shown.end(), [&](std::size_t a, std::size_t b) {
                      return counts.actual[a] != counts.actual[b] ? counts.actual[a] > counts.actual[b]
                                                                  : a < b;
                    });
  shown.resize(most_classes_shown);
  return shown;
}

}  // namespace

ClassRows class_rows(std::span<const std::int64_t> actual, std::size_t classes, PredictedRows predicted) {
  if (actual.empty()) refuse("there are no rows to evaluate on");
  ScoredRows scored = score_rows(actual, classes, predicted);
  return class_rows(actual, classes, std::move(scored), std::move(predicted));
}

ClassRows class_rows(std::span<const std::int64_t> actual, std::size_t classes, ScoredRows scored,
                     PredictedRows predicted) {
  ClassCounts counts = count_classes(actual, scored, classes);
  return {actual, std::move(scored), std::move(counts), std::move(predicted)};
}

ConfusionMatrix confusion_matrix(const ClassRows& rows, const std::vector<std::string>& class_names) {
  const std::vector<std::size_t> shown = classes_to_show(rows.counts);
  const std::size_t nowhere = shown.size();
  std::vector<std::size_t> place(class_names.size(), nowhere);
  ConfusionMatrix matrix;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    place[shown[i]] = i;
    matrix.classes.push_back(class_names[shown[i]]);
  }
  matrix.classes_left_out = static_cast<std::int64_t>(class_names.size() - shown.size());
  matrix.counts.resize(shown.size() * shown.size());
  for (std::size_t row = 0; row < rows.actual.size(); ++row) {
    const std::size_t from = place[static_cast<std::size_t>(rows.actual[row])];
    const std::size_t to = place[static_cast<std::size_t>(rows.scored.predicted[row])];
    if (from != nowhere && to != nowhere) ++matrix.counts[from * shown.size() + to];
  }
  return matrix;
}

ClassScores class_scores(const ClassRows& rows, const std::vector<std::string>& class_names) {
  const auto share = [](double part, std::int64_t whole) {
    return whole == 0 ? 0 : part / static_cast<double>(whole);
  };
  ClassScores scores;
  for (const std::size_t c : classes_to_show(rows.counts)) {
    const auto right = static_cast<double>(rows.counts.right[c]);
    scores.classes.push_back(class_names[c]);
    scores.precision.push_back(share(right, rows.counts.predicted[c]));
    scores.recall.push_back(share(right, rows.counts.actual[c]));
    scores.f1.push_back(share(2 * right, rows.counts.predicted[c] + rows.counts.actual[c]));
    scores.support.push_back(rows.counts.actual[c]);
  }
  return scores;
}

}  // namespace stoker
