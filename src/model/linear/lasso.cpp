#include "model/linear/lasso.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/error.h"
#include "base/text/text.h"
#include "model/linear/coordinate_descent.h"

namespace stoker {
namespace {

// Which coefficients are zero may still be undecided at the tolerance. As long as it costs no more than a few
// times what the descent did, going on finds out, and the solution becomes exact.
template <class Data>
void make_exact(const Data& data, DescentSettings settings, std::int64_t sweeps, std::vector<double>& w,
                const StopSignal& stop) {
  std::int64_t left = std::min(settings.most_sweeps - sweeps, std::max<std::int64_t>(1000, 3 * sweeps));
  const double least_tolerance = 1e-6 * settings.tolerance;
  while (stop.reason() != StopReason::time_limit && !polish(data, settings.penalty, w) && left > 0 &&
         settings.tolerance > least_tolerance) {
    settings.tolerance /= 10;
    settings.most_sweeps = left;
    left -= descend(data, settings, w, stop).sweeps;
  }
}

template <class Data>
LinearFit fit_on(const Data& data, const LinearConfig& config, const Notes& notes, const StopSignal& stop) {
  LinearFit fit;
  fit.method = "coordinate descent";
  fit.alpha = config.alpha;
  fit.coefficients.assign(static_cast<std::size_t>(data.columns), 0.0);
  const double penalty = config.alpha * static_cast<double>(data.rows);
  const DescentSettings settings{penalty, config.tolerance, config.max_iterations};
  const DescentResult result = descend(data, settings, fit.coefficients, stop);
  fit.iterations = result.sweeps;
  fit.out_of_time = result.out_of_time;
  if (result.converged) {
    make_exact(data, settings, result.sweeps, fit.coefficients, stop);
  } else if (result.out_of_time) {
    notes(Severity::warning,
          fmt::format("lasso: the time limit was reached after {} of coordinate descent; the "
                      "coefficients so far are kept",
                      counted(static_cast<std::uint64_t>(result.sweeps), "sweep")));
  } else {
    notes(Severity::warning,
          fmt::format("lasso: coordinate descent stopped after {} before it reached the "
                      "tolerance {}; raise max_iterations, alpha or tolerance",
                      counted(static_cast<std::uint64_t>(result.sweeps), "sweep"), config.tolerance));
  }
  fit.intercept = data.target_mean;
  for (std::size_t j = 0; j < fit.coefficients.size(); ++j)
    fit.intercept -= data.means[j] * fit.coefficients[j];
  return fit;
}

}  // namespace

bool descends_on_gram(const MatrixView& x) {
  constexpr std::int64_t most_columns = 2048;  // 32 MiB of products
  return x.columns < x.rows && x.columns <= most_columns;
}

LinearFit fit_lasso(const MatrixView& x, std::span<const double> y, const GramSystem* total,
                    const LinearConfig& config, const Notes& notes, const StopSignal& stop) {
  if (total != nullptr) return fit_on(*total, config, notes, stop);
  return fit_on(column_data(x, y, {0, 0}, config.fit_intercept), config, notes, stop);
}

}  // namespace stoker
