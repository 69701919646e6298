#include "sweep/candidates.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "base/random.h"

namespace stoker {
namespace {

using config::Value;

// Apart from the keys of built-in samples, which may have the same seed.
constexpr std::uint64_t draws_stream = std::uint64_t{1} << 40;

Candidate combination(const std::vector<SearchedSetting>& space, std::uint64_t index) {
  Candidate candidate(space.size());
  for (std::size_t i = space.size(); i-- > 0;) {
    const std::size_t size = space[i].values.size();
    candidate[i] = space[i].values[index % size];
    index /= size;
  }
  return candidate;
}

// Six digits are enough to search with, and people read them in the table and in the winner's document.
Value short_number(double number, const SearchedSetting& setting) {
  const double rounded = std::strtod(fmt::format("{:.6g}", number).c_str(), nullptr);
  return Value(std::clamp(rounded, setting.low, setting.high));
}

Value drawn(const SearchedSetting& setting, double share) {
  switch (setting.kind) {
    case SearchKind::grid:
    case SearchKind::choice:
      return setting.values[static_cast<std::size_t>(share * static_cast<double>(setting.values.size()))];
    case SearchKind::uniform:
      return short_number(setting.low + share * (setting.high - setting.low), setting);
    case SearchKind::log_uniform: {
      const double low = std::log(setting.low);
      return short_number(std::exp(low + share * (std::log(setting.high) - low)), setting);
    }
    case SearchKind::int_uniform:
      break;
  }
  const double number = setting.low + std::floor(share * (setting.high - setting.low + 1));
  return Value(static_cast<std::int64_t>(std::min(number, setting.high)));
}

}  // namespace

std::vector<Candidate> candidates_of(const SweepDocument& sweep) {
  const auto count = static_cast<std::uint64_t>(sweep.candidate_count());
  const std::optional<std::int64_t> all = combinations(sweep.space);
  const RandomKey order = random_key(sweep.config.seed, Purpose::sample, draws_stream);
  std::vector<Candidate> candidates;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (all) {
      const bool shuffled = sweep.config.strategy != Strategy::grid;
      const Permutation permutation(order, static_cast<std::uint64_t>(*all));
      candidates.push_back(combination(sweep.space, shuffled ? permutation(i) : i));
      continue;
    }
    const RandomKey key = random_key(sweep.config.seed, Purpose::sample, draws_stream + 1 + i);
    Candidate candidate;
    for (std::size_t s = 0; s < sweep.space.size(); ++s)
      candidate.push_back(drawn(sweep.space[s], uniform(key, static_cast<std::uint32_t>(s))));
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

}  // namespace stoker
