#include "train/fit/calibrate_deviations.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/quantile.h"
#include "predict/measure/positions.h"
#include "predict/rows/predictions.h"

namespace stoker {
namespace {

constexpr double share_of_region = 0.68;
// Beyond these something else is wrong.
constexpr double least_factor = 1e-3;
constexpr double most_factor = 1e3;

}  // namespace

std::optional<ChosenNumber> calibrate_deviations(const Table& rows, Model& model) {
  const auto scale_variances = family_of(model.network).scale_variances;
  if (scale_variances == nullptr || rows.rows() == 0) return std::nullopt;
  const Predictions told = predict(model, rows);
  std::vector<double> squares = squared_errors_in_deviations(model.preparation.real_targets(rows), told);
  if (!std::ranges::all_of(squares, [](double each) { return std::isfinite(each); })) return std::nullopt;
  const double radius = squared_radius(share_of_region, told.steps);
  const auto share_within = [&](double squared) {
    const auto within = std::ranges::count_if(squares, [&](double each) { return each <= squared; });
    return static_cast<double>(within) / static_cast<double>(squares.size());
  };
  const double wanted = quantile_of(squares, share_of_region);
  const double factor =
      std::sqrt(std::clamp(wanted / radius, least_factor * least_factor, most_factor * most_factor));
  scale_variances(model.network, factor * factor, model.parameters);
  return ChosenNumber{
      "deviation_factor", factor, "within_68", share_within(radius), share_within(radius * factor * factor),
      rows.rows()};
}

}  // namespace stoker
