#include "predict/spectral/pixel_skill.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/text/text.h"
#include "predict/skill/compare_with_baseline.h"

namespace stoker {
namespace {

constexpr const char* all_marked = "every pixel as marked";
// With fewer cubes, marked pixels of each are divided into parts, so that there is something to test with.
constexpr std::size_t enough_cubes = 5;
constexpr std::size_t wanted_parts = 8;

std::int64_t marked_pixels(const MeasuredCube& cube) {
  return std::ranges::count_if(cube.actual.as<std::uint8_t>(), [](std::uint8_t each) { return each != 0; });
}

// The value of a metric if every pixel is marked with the same score; none for other metrics.
std::optional<double> value_if_all_are_marked(std::string_view metric, double prevalence) {
  const std::string_view name = metric.substr(metric.rfind('.') + 1);  // NODE.METRIC
  if (name == "average_precision" || name == "precision" || name == "iou") return prevalence;
  if (name == "recall") return 1;
  if (name == "f1_score") return 2 * prevalence / (1 + prevalence);
  return std::nullopt;
}

// For each marked pixel in their order, the share of unmarked pixels of the cube with a lower score; equal
// scores count half.
std::vector<double> ranks_of_marked(const MeasuredCube& cube) {
  const std::span<const float> scores = cube.scores.as<float>();
  const std::span<const std::uint8_t> actual = cube.actual.as<std::uint8_t>();
  std::vector<float> marked;
  std::vector<float> others;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i])) continue;
    (actual[i] != 0 ? marked : others).push_back(scores[i]);
  }
  if (others.empty()) return {};
  std::ranges::sort(others);
  std::vector<double> ranks;
  for (const float score : marked) {
    const auto [first, last] = std::ranges::equal_range(others, score);
    const auto below = static_cast<double>(first - others.begin());
    ranks.push_back((below + static_cast<double>(last - first) / 2) / static_cast<double>(others.size()));
  }
  return ranks;
}

std::vector<double> means_of_parts(const std::vector<double>& values, std::size_t parts) {
  std::vector<double> means;
  const std::size_t count = std::min(parts, values.size());
  for (std::size_t part = 0; part < count; ++part) {
    const std::size_t first = part * values.size() / count;
    const std::size_t end = (part + 1) * values.size() / count;
    double sum = 0;
    for (std::size_t i = first; i < end; ++i) sum += values[i];
    means.push_back(sum / static_cast<double>(end - first));
  }
  return means;
}

}  // namespace

void add_pixel_baseline(const std::vector<MeasuredCube>& cubes, Evaluation& evaluation) {
  std::int64_t pixels = 0;
  std::int64_t marked = 0;
  std::vector<std::vector<double>> ranks;
  for (const MeasuredCube& each : cubes) {
    pixels += each.actual.size();
    const std::int64_t of_cube = marked_pixels(each);
    marked += of_cube;
    if (of_cube == 0) continue;
    if (std::vector<double> found = ranks_of_marked(each); !found.empty()) ranks.push_back(std::move(found));
  }
  if (marked == 0 || marked == pixels) return;
  const double prevalence = static_cast<double>(marked) / static_cast<double>(pixels);
  Baseline baseline{all_marked, {}};
  for (const auto& [name, value] : evaluation.metrics)
    if (const auto plain = value_if_all_are_marked(name, prevalence))
      baseline.metrics.emplace_back(name, *plain);
  evaluation.baselines.push_back(std::move(baseline));
  if (ranks.empty()) return;
  const std::size_t parts =
      ranks.size() >= enough_cubes ? 1 : (wanted_parts + ranks.size() - 1) / ranks.size();
  std::vector<double> losses;
  for (const std::vector<double>& each : ranks)
    for (const double mean : means_of_parts(each, parts)) losses.push_back(1 - mean);
  evaluation.verdict =
      verdict_on("roc_auc", losses, {{all_marked, std::vector<double>(losses.size(), 0.5)}}, {});
  if (!evaluation.verdict) {
    evaluation.untested =
        untested_skill(evaluation, fmt::format("too few marked pixels to tell by a test ({} in {})",
                                               human_count(static_cast<std::uint64_t>(marked)),
                                               counted(static_cast<std::uint64_t>(ranks.size()), "cube")));
    return;
  }
  evaluation.verdict->of_model = 1 - evaluation.verdict->of_model;
  evaluation.verdict->of_baseline = 0.5;
}

}  // namespace stoker
