#include "predict/decide/decide.h"

#include <algorithm>

#include "device/workers.h"
#include "predict/decide/temperature.h"

namespace stoker {

std::vector<std::int64_t> most_probable(std::span<const double> probabilities, std::size_t classes) {
  std::vector<std::int64_t> chosen;
  for (; !probabilities.empty(); probabilities = probabilities.subspan(classes)) {
    const auto row = probabilities.first(classes);
    chosen.push_back(std::max_element(row.begin(), row.end()) - row.begin());
  }
  return chosen;
}

void apply(const Decision& decision, std::span<double> probabilities, std::span<std::int64_t> chosen) {
  if (decision == Decision{} || chosen.empty()) return;
  const std::size_t width = probabilities.size() / chosen.size();
  const auto rows = static_cast<std::int64_t>(chosen.size());
  constexpr std::int64_t together = 64;
  share_among_cores((rows + together - 1) / together, [&](std::int64_t block) {
    const auto end = static_cast<std::size_t>(std::min(rows, (block + 1) * together));
    for (auto row = static_cast<std::size_t>(block * together); row < end; ++row) {
      const std::span<double> of_row = probabilities.subspan(row * width, width);
      if (decision.temperature != 1) bring_to_temperature(decision.temperature, of_row);
      if (decision.threshold != Decision{}.threshold) chosen[row] = of_row[1] > decision.threshold ? 1 : 0;
    }
  });
}

}  // namespace stoker
