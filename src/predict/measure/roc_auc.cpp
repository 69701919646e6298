#include "predict/measure/roc_auc.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace stoker {
namespace {

// The scores that the rows of each class gave to it, ascending: those of class c are [begin[c], begin[c +
// 1]).
struct OwnScores {
  std::vector<std::size_t> begin;
  std::vector<double> scores;

  std::size_t rows_of(std::size_t c) const { return begin[c + 1] - begin[c]; }
  std::span<const double> of(std::size_t c) const { return std::span(scores).subspan(begin[c], rows_of(c)); }
};

OwnScores own_scores(std::span<const std::int64_t> actual, std::size_t classes,
                     std::span<const double> of_actual) {
  OwnScores own{std::vector<std::size_t>(classes + 1), std::vector<double>(actual.size())};
  for (const std::int64_t c : actual) ++own.begin[static_cast<std::size_t>(c) + 1];
  std::partial_sum(own.begin.begin(), own.begin.end(), own.begin.begin());
  std::vector<std::size_t> next = own.begin;
  for (std::size_t row = 0; row < actual.size(); ++row)
    own.scores[next[static_cast<std::size_t>(actual[row])]++] = of_actual[row];
  for (std::size_t c = 0; c < classes; ++c)
    std::sort(own.scores.begin() + static_cast<std::ptrdiff_t>(own.begin[c]),
              own.scores.begin() + static_cast<std::ptrdiff_t>(own.begin[c + 1]));
  return own;
}

// How many of the ascending scores are above this one; equal ones count half.
double won_against(double score, std::span<const double> scores) {
  if (score < scores.front()) return static_cast<double>(scores.size());
  const auto [first, last] = std::equal_range(scores.begin(), scores.end(), score);
  return static_cast<double>(scores.end() - last) + static_cast<double>(last - first) / 2;
}

}  // namespace

std::optional<double> roc_auc(const ClassRows& rows) {
  const std::span<const std::int64_t> actual = rows.actual;
  const std::size_t classes = rows.classes();
  if (classes < 2) return std::nullopt;
  const std::size_t first_class = classes == 2 ? 1 : 0;
  const OwnScores own = own_scores(actual, classes, rows.scored.of_actual);
  for (std::size_t c = first_class; c < classes; ++c)
    if (own.rows_of(c) == 0 || own.rows_of(c) == actual.size()) return std::nullopt;

  std::vector<double> pairs_won(classes);
  std::size_t row = 0;
  rows.predicted([&](const Predictions& piece) {
    const std::size_t width = piece.class_names.size();
    for (std::size_t i = 0; i < piece.classes.size(); ++i, ++row) {
      for (std::size_t c = first_class; c < classes; ++c) {
        if (c == static_cast<std::size_t>(actual[row])) continue;
        pairs_won[c] += won_against(c < width ? piece.probabilities[i * width + c] : 0, own.of(c));
      }
    }
  });
  double sum = 0;
  for (std::size_t c = first_class; c < classes; ++c) {
    const auto count = static_cast<double>(own.rows_of(c));
    sum += pairs_won[c] / (count * (static_cast<double>(actual.size()) - count));
  }
  return sum / static_cast<double>(classes - first_class);
}

}  // namespace stoker
