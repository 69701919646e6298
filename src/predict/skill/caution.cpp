#include "predict/skill/caution.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "predict/skill/student.h"

namespace stoker {
namespace {

constexpr double promised_share = 0.9;
constexpr double largest_doubtful_share = 0.75;
constexpr double largest_chance = 0.01;

constexpr std::array<std::string_view, 2> doubtful_names{"probabilities", "intervals"};  // of Doubtful

std::string_view name_of_doubtful(Doubtful what) {
  return doubtful_names[static_cast<std::size_t>(what)];
}

}  // namespace

nlohmann::json to_json(const std::vector<Caution>& cautions) {
  nlohmann::json list = nlohmann::json::array();
  for (const Caution& each : cautions)
    list.push_back({{"about", name_of_doubtful(each.what)}, {"text", each.text}});
  return list;
}

std::vector<Caution> cautions_from(const nlohmann::json& json) {
  try {
    std::vector<Caution> cautions;
    for (const nlohmann::json& each : json) {
      const auto found = std::ranges::find(doubtful_names, each.at("about").get<std::string>());
      if (found == doubtful_names.end()) continue;
      cautions.push_back(
          {static_cast<Doubtful>(found - doubtful_names.begin()), each.at("text").get<std::string>()});
    }
    return cautions;
  } catch (const nlohmann::json::exception& error) {
    refuse("this is not a list of cautions: {}", error.what());
  }
}

std::optional<Caution> caution_of_intervals(const MeasuredCoverage& coverage) {
  const auto samples = static_cast<double>(coverage.samples);
  if (!(coverage.share < largest_doubtful_share) || coverage.samples < 1) return std::nullopt;
  constexpr double rounding = 1e-9;
  if (binomial_at_most(coverage.share * samples, samples, promised_share) > largest_chance + rounding)
    return std::nullopt;
  std::string text = fmt::format(
      "intervals of {:.0f} % hold {:.3g} % of the values of the test rows; do not rely on --interval",
      100 * promised_share, 100 * coverage.share);
  if (coverage.updated)
    text += fmt::format(
        " alone: with --every-window and --new-from, intervals follow the latest errors (they hold {:.3g} % "
        "of the same values)",
        100 * *coverage.updated);
  return Caution{Doubtful::intervals, std::move(text)};
}

}  // namespace stoker
