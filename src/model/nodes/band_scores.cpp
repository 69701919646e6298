#include "model/nodes/band_scores.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "device/workers.h"
#include "kernels/covariance.h"
#include "kernels/place.h"

namespace stoker::nodes {
namespace {

std::vector<float> band_of(const LabelledPixels& pixels, std::int64_t channel) {
  std::vector<float> band(pixels.marks.size());
  for (std::size_t i = 0; i < band.size(); ++i)
    band[i] =
        pixels.values[i * static_cast<std::size_t>(pixels.channels) + static_cast<std::size_t>(channel)];
  return band;
}

double fisher_score(const std::vector<float>& band, const std::vector<std::uint8_t>& marks) {
  std::array<double, 2> rows{}, mean{}, squares{};
  for (std::size_t i = 0; i < band.size(); ++i) {
    const std::size_t side = marks[i] != 0 ? 1 : 0;
    rows[side] += 1;
    const double apart = static_cast<double>(band[i]) - mean[side];
    mean[side] += apart / rows[side];
    squares[side] += apart * (static_cast<double>(band[i]) - mean[side]);
  }
  const double variances = squares[0] / rows[0] + squares[1] / rows[1];
  return variances < 1e-10 ? 0 : (mean[1] - mean[0]) * (mean[1] - mean[0]) / variances;
}

// By the ranks of the marked, equal values having the mean of theirs.
double area_under_roc(const std::vector<float>& band, const std::vector<std::uint8_t>& marks) {
  std::vector<std::size_t> order(band.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return band[a] < band[b]; });
  double ranks = 0, marked = 0;
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    double here = 0;
    last = first;
    do {
      here += marks[order[last++]] != 0 ? 1 : 0;
    } while (last < order.size() && band[order[last]] == band[order[first]]);
    ranks += here * (static_cast<double>(first + last) + 1) / 2;
    marked += here;
  }
  const double others = static_cast<double>(order.size()) - marked;
  return (ranks - marked * (marked + 1) / 2) / (marked * others);
}

double mutual_information(const std::vector<float>& band, const std::vector<std::uint8_t>& marks) {
  constexpr std::size_t bins = 10;
  const auto [least, most] = std::ranges::minmax(band);
  if (!(most > least)) return 0;
  std::array<std::array<double, 2>, bins> joint{};
  for (std::size_t i = 0; i < band.size(); ++i) {
    const double place = (static_cast<double>(band[i]) - static_cast<double>(least)) /
                         (static_cast<double>(most) - static_cast<double>(least));
    joint[std::min(bins - 1, static_cast<std::size_t>(place * bins))][marks[i] != 0 ? 1 : 0] +=
        1 / static_cast<double>(band.size());
  }
  std::array<double, 2> of_mark{};
  for (const auto& bin : joint)
    for (std::size_t mark = 0; mark < 2; ++mark) of_mark[mark] += bin[mark];
  double information = 0;
  for (const auto& bin : joint)
    for (std::size_t mark = 0; mark < 2; ++mark)
      if (bin[mark] > 0)
        information += bin[mark] * std::log2(bin[mark] / ((bin[0] + bin[1]) * of_mark[mark]));
  return information;
}

void add_standardised(const std::vector<double>& scores, double weight, std::vector<double>& sums) {
  const auto count = static_cast<double>(scores.size());
  const double mean = std::accumulate(scores.begin(), scores.end(), 0.0) / count;
  double squares = 0;
  for (const double each : scores) squares += (each - mean) * (each - mean);
  const double deviation = std::sqrt(squares / count);
  for (std::size_t i = 0; i < scores.size(); ++i)
    sums[i] += weight * (scores[i] - mean) / (deviation < 1e-10 ? 1 : deviation);
}

}  // namespace

BandScores band_scores(const LabelledPixels& pixels, const std::vector<double>& weights) {
  const auto marked = std::ranges::count_if(pixels.marks, [](std::uint8_t mark) { return mark != 0; });
  if (marked == 0 || marked == static_cast<std::ptrdiff_t>(pixels.marks.size()))
    refuse("channels are chosen by how they tell marked pixels from others, but {} of {} pixels are marked",
           marked, pixels.marks.size());
  if (!std::ranges::all_of(pixels.values, [](float each) { return std::isfinite(each); }))
    refuse("channels are chosen by pixels, one of which has a value that is not a finite number");
  const auto channels = static_cast<std::size_t>(pixels.channels);
  BandScores scores{std::vector<double>(channels), std::vector<double>(channels),
                    std::vector<double>(channels), std::vector<double>(channels)};
  share_among_cores(pixels.channels, [&](std::int64_t channel) {
    const std::vector<float> band = band_of(pixels, channel);
    const auto i = static_cast<std::size_t>(channel);
    scores.fisher[i] = fisher_score(band, pixels.marks);
    scores.auc[i] = area_under_roc(band, pixels.marks);
    scores.information[i] = mutual_information(band, pixels.marks);
  });
  add_standardised(scores.fisher, weights[0], scores.combined);
  add_standardised(scores.auc, weights[1], scores.combined);
  add_standardised(scores.information, weights[2], scores.combined);
  return scores;
}

std::vector<double> correlations(const LabelledPixels& pixels) {
  const kernels::StatisticsWork work{pixels.values.data(), nullptr,
                                     static_cast<std::int64_t>(pixels.marks.size()), pixels.channels, true};
  const kernels::Statistics found =
      kernels::covariance(work, kernels::BadPixels::refuse, {Device::cpu(), nullptr});
  std::vector<double> result = found.products;
  const std::size_t channels = found.mean.size();
  for (std::size_t i = 0; i < channels; ++i)
    for (std::size_t j = 0; j < channels; ++j) {
      const double size = std::sqrt(found.squares[i] * found.squares[j]);
      result[i * channels + j] = size > 0 ? std::abs(result[i * channels + j]) / size : 0;
    }
  return result;
}

std::vector<std::int64_t> choose_bands(const std::vector<double>& scores,
                                       const std::vector<double>& correlation, std::int64_t count,
                                       double penalty) {
  std::vector<std::int64_t> chosen;
  while (static_cast<std::int64_t>(chosen.size()) < count && chosen.size() < scores.size()) {
    std::int64_t best = -1;
    double best_score = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (std::ranges::find(chosen, static_cast<std::int64_t>(i)) != chosen.end()) continue;
      double alike = 0;
      for (const std::int64_t other : chosen)
        alike = std::max(alike, correlation[i * scores.size() + static_cast<std::size_t>(other)]);
      const double score = scores[i] - penalty * alike;
      if (best >= 0 && score <= best_score) continue;
      best = static_cast<std::int64_t>(i);
      best_score = score;
    }
    chosen.push_back(best);
  }
  return chosen;
}

}  // namespace stoker::nodes
