#include "fused/cuda/moments.h"

#include <algorithm>
#include <cmath>

namespace stoker::fused {

double loss_scale(int lowered) {
  return std::ldexp(1.0, 10 - 10 * lowered);
}

double initial_second_moment(const OptimizerSettings& settings, double scale) {
  if (settings.kind == Optimizer::sgd) return 0;
  const double scaled = settings.epsilon * scale;
  return std::max(scaled * scaled / (1.0 - settings.beta2), 1e-30);
}

void rescale(Moments& moments, const OptimizerSettings& settings, int from, int to) {
  if (from == to || settings.kind == Optimizer::sgd) return;
  const double before = initial_second_moment(settings, loss_scale(from));
  const double after = initial_second_moment(settings, loss_scale(to));
  const double factor = loss_scale(to) / loss_scale(from);
  for (float& value : moments.first) value = static_cast<float>(value * factor);
  for (float& value : moments.second)
    value = static_cast<float>(std::max(0.0, value - before) * factor * factor + after);
}

void make_plain(Moments& moments, const OptimizerSettings& settings, int lowered) {
  if (settings.kind == Optimizer::sgd) return;
  const double scale = loss_scale(lowered);
  const double offset = initial_second_moment(settings, scale);
  for (float& value : moments.first) value = static_cast<float>(value * (1.0 - settings.beta1) / scale);
  for (float& value : moments.second)
    value = static_cast<float>(std::max(0.0, value - offset) * (1.0 - settings.beta2) / (scale * scale));
}

}  // namespace stoker::fused
