#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

// Warnings about predictions that an evaluation found unreliable.
namespace stoker {

enum class Doubtful { probabilities, intervals };

struct Caution {
  Doubtful what = Doubtful::probabilities;
  std::string text;  // for people: what was found and what to do

  bool operator==(const Caution&) const = default;
};
nlohmann::json to_json(const std::vector<Caution>& cautions);
// Those that this version knows. Throws an error if it is no such list.
std::vector<Caution> cautions_from(const nlohmann::json& json);

// Intervals of 90 % that hold less than 75 % of the values, if by chance they would do so in one of 100 cases
// at most: by the binomial distribution of so many independent rows or blocks of time.
struct MeasuredCoverage {
  double share = 1;
  std::int64_t samples = 0;
  std::optional<double> updated = {};  // of a series: the share that intervals with --new-from hold
};
std::optional<Caution> caution_of_intervals(const MeasuredCoverage& coverage);

}  // namespace stoker
