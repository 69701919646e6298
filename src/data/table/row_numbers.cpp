#include "data/table/row_numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace stoker {
namespace {

constexpr std::size_t fewest_rows_of_an_identifier = 20;  // below, whole numbers are consecutive by chance

}  // namespace

bool look_counted(std::span<const double> numbers) {
  if (numbers.size() < fewest_rows_of_an_identifier) return false;
  const auto [low, high] = std::ranges::minmax_element(numbers);
  const double range = *high - *low + 1;
  if (range > 2 * static_cast<double>(numbers.size())) return false;
  std::vector<bool> met(static_cast<std::size_t>(range));
  for (const double number : numbers) {
    const auto place = static_cast<std::size_t>(number - *low);
    if (met[place]) return false;
    met[place] = true;
  }
  return true;
}

bool tell_of_target(std::span<const double> numbers, std::span<const double> targets) {
  std::vector<std::size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return numbers[a] < numbers[b]; });
  // Few rows make few stretches, whose ratio of variances chance makes larger.
  const bool is_few = numbers.size() < 60;
  const std::size_t stretches = is_few ? 4 : 10;
  const double most_by_chance = is_few ? 6 : 3.5;
  const auto rows = static_cast<double>(order.size());
  double mean = 0;
  for (const double target : targets) mean += target / rows;
  double between = 0;
  double within = 0;
  for (std::size_t s = 0; s < stretches; ++s) {
    const std::size_t begin = s * order.size() / stretches;
    const std::size_t end = (s + 1) * order.size() / stretches;
    double own = 0;
    for (std::size_t i = begin; i < end; ++i) own += targets[order[i]] / static_cast<double>(end - begin);
    between += static_cast<double>(end - begin) * (own - mean) * (own - mean);
    for (std::size_t i = begin; i < end; ++i) within += (targets[order[i]] - own) * (targets[order[i]] - own);
  }
  const double ratio =
      (between / static_cast<double>(stretches - 1)) / (within / (rows - static_cast<double>(stretches)));
  return ratio > most_by_chance;  // no where nothing varies
}

}  // namespace stoker
