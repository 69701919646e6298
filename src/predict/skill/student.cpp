#include "predict/skill/student.h"

#include <cmath>
#include <initializer_list>

namespace stoker {
namespace {

// The continued fraction of the incomplete beta function, by Lentz's method (Abramowitz and Stegun 26.5.8).
double beta_fraction(double x, double a, double b) {
  constexpr int most_terms = 500;
  constexpr double tiny = 1e-300;
  constexpr double precise = 1e-14;
  const auto away_from_zero = [](double value) { return std::abs(value) < tiny ? tiny : value; };
  double numerator = 1;
  double denominator = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double fraction = denominator;
  for (int m = 1; m < most_terms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double factor = 1;
    for (const double coefficient : {even, odd}) {
      denominator = 1 / away_from_zero(1 + coefficient * denominator);
      numerator = away_from_zero(1 + coefficient / numerator);
      factor = denominator * numerator;
      fraction *= factor;
    }
    if (std::abs(factor - 1) < precise) break;
  }
  return fraction;
}

double incomplete_beta(double x, double a, double b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(x, a, b) / a;
  return 1 - front * beta_fraction(1 - x, b, a) / b;
}

}  // namespace

double student_above(double value, double degrees) {
  const double tail = incomplete_beta(degrees / (degrees + value * value), degrees / 2, 0.5) / 2;
  return value > 0 ? tail : 1 - tail;
}

double binomial_at_most(double successes, double trials, double chance) {
  if (successes >= trials) return 1;
  return incomplete_beta(1 - chance, trials - successes, successes + 1);
}

}  // namespace stoker
