#include "fused/cuda/epoch_sums.h"

namespace stoker::fused {

std::vector<double> sums_by_place(const Spread& spread, std::span<const double> sums, std::int64_t batch) {
  std::vector<double> by_place(static_cast<std::size_t>(batch), 0.0);
  std::vector<bool> is_taken(sums.size(), false);
  for (std::size_t place = 0; place < by_place.size(); ++place) {
    const auto sum = static_cast<std::size_t>(spread.sum_of(static_cast<std::int64_t>(place)));
    if (!is_taken.at(sum)) by_place[place] = sums[sum];
    is_taken[sum] = true;
  }
  return by_place;
}

std::vector<double> sums_to_go_on(const Spread& spread, std::span<const double> by_place, std::size_t count) {
  std::vector<double> sums(count, 0.0);
  for (std::size_t place = 0; place < by_place.size(); ++place)
    sums.at(static_cast<std::size_t>(spread.sum_of(static_cast<std::int64_t>(place)))) += by_place[place];
  return sums;
}

}  // namespace stoker::fused
