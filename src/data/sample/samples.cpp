#include "data/sample/samples.h"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "data/sample/glyphs_sample.h"
#include "data/sample/market_sample.h"
#include "data/sample/reception_sample.h"
#include "data/sample/sample_table.h"
#include "data/sample/spectral_sample.h"

namespace stoker {
namespace {

// Each column and each other use draws from a key of its own.
RandomKey sample_key(std::uint64_t seed, std::uint64_t stream) {
  return random_key(seed, Purpose::sample, stream);
}
constexpr std::uint64_t noise_stream = 1'000;
constexpr std::uint64_t weight_stream = 2'000;
constexpr std::uint64_t class_stream = 3'000;
constexpr std::uint64_t center_stream = 4'000;

using Column = std::vector<double>;

Column make_column(std::int64_t rows, const std::function<double(std::uint32_t)>& value) {
  Column column(static_cast<std::size_t>(rows));
  for (std::size_t row = 0; row < column.size(); ++row) column[row] = value(static_cast<std::uint32_t>(row));
  return column;
}

// Seed 000's housing table has these names, and numbers as scikit-learn's make_regression makes them:
// standard normal features, 10 of the 13 informative with coefficients uniform in [0, 100), noise of
// standard deviation 10. Linear, so no model can do better than an RMSE of 10.
Table boston_housing(std::int64_t rows, std::uint64_t seed) {
  const std::vector<std::string> names = {"CRIM", "ZN",  "INDUS", "CHAS",    "NOX", "RM",   "AGE",
                                          "DIS",  "RAD", "TAX",   "PTRATIO", "B",   "LSTAT"};
  constexpr std::uint64_t informative = 10;
  const RandomKey weights = sample_key(seed, weight_stream);
  const Permutation order(sample_key(seed, weight_stream + 1), names.size());
  const RandomKey noise = sample_key(seed, noise_stream);
  Column target = make_column(rows, [&](std::uint32_t row) { return 10 * normal(noise, row); });
  SampleTable table;
  for (std::uint32_t c = 0; c < names.size(); ++c) {
    const RandomKey key = sample_key(seed, c);
    const Column feature = make_column(rows, [&](std::uint32_t row) { return normal(key, row); });
    const double weight = order(c) < informative ? 100 * uniform(weights, c) : 0;
    for (std::size_t row = 0; row < target.size(); ++row) target[row] += weight * feature[row];
    table.add(names[c], feature);
  }
  table.add("MEDV", target);
  return table.finish();
}

// Friedman's first problem (Multivariate adaptive regression splines, 1991): five of ten uniform features
// matter, with an interaction, a square and noise of standard deviation 1.
Table friedman(std::int64_t rows, std::uint64_t seed) {
  std::vector<Column> x;
  SampleTable table;
  for (std::uint64_t c = 0; c < 10; ++c) {
    const RandomKey key = sample_key(seed, c);
    x.push_back(make_column(rows, [&](std::uint32_t row) { return uniform(key, row); }));
    table.add(fmt::format("x{}", c), x.back());
  }
  const RandomKey noise = sample_key(seed, noise_stream);
  constexpr double pi = 3.14159265358979323846;
  table.add("y", make_column(rows, [&](std::uint32_t row) {
              return 10 * std::sin(pi * x[0][row] * x[1][row]) + 20 * (x[2][row] - 0.5) * (x[2][row] - 0.5) +
                     10 * x[3][row] + 5 * x[4][row] + normal(noise, row);
            }));
  return table.finish();
}

// Ten Gaussian clouds of standard deviation 1 in 20 dimensions, their centers drawn with standard deviation
// 1.25: clouds overlap a little.
Table blobs(std::int64_t rows, std::uint64_t seed) {
  constexpr std::uint32_t classes = 10;
  constexpr std::uint32_t dimensions = 20;
  constexpr double spread_of_centers = 1.25;
  const RandomKey class_key = sample_key(seed, class_stream);
  const RandomKey center_key = sample_key(seed, center_stream);
  std::vector<std::int64_t> labels(static_cast<std::size_t>(rows));
  for (std::size_t row = 0; row < labels.size(); ++row) {
    labels[row] = random_bits(class_key, static_cast<std::uint32_t>(row)) % classes;
  }
  SampleTable table;
  for (std::uint32_t c = 0; c < dimensions; ++c) {
    const RandomKey key = sample_key(seed, c);
    table.add(fmt::format("x{}", c), make_column(rows, [&](std::uint32_t row) {
                const auto label = static_cast<std::uint32_t>(labels[row]);
                return spread_of_centers * normal(center_key, label * dimensions + c) + normal(key, row);
              }));
  }
  table.add("label", labels);
  return table.finish();
}

}  // namespace

std::int64_t usual_rows(SampleName name) {
  if (name == SampleName::smc_windows) return 80'000;
  if (name == SampleName::uhf_mixed) return 4'030;
  if (name == SampleName::glyphs) return 70'000;
  if (name == SampleName::spectral_stress) return 200;
  return name == SampleName::boston_housing ? 50'000 : 20'000;
}

std::optional<std::int64_t> first_test_row(SampleName name, std::int64_t rows) {
  return name == SampleName::glyphs ? first_glyph_to_test_with(rows) : std::nullopt;
}

Table make_sample(SampleName name, std::int64_t rows, std::uint64_t seed) {
  if (rows < 1 || rows > 100'000'000) refuse("a sample cannot have {} rows; allowed: 1 to 100,000,000", rows);
  switch (name) {
    case SampleName::boston_housing:
      return boston_housing(rows, seed);
    case SampleName::friedman:
      return friedman(rows, seed);
    case SampleName::blobs:
      return blobs(rows, seed);
    case SampleName::smc_windows:
      return make_market(rows, seed);
    case SampleName::uhf_mixed:
      return make_receptions(rows, seed);
    case SampleName::glyphs:
      return make_glyphs(rows, seed);
    case SampleName::spectral_stress:
      return make_spectral_stress(rows, seed);
  }
  fail("sample {} has no maker", static_cast<int>(name));
}

Table make_numbers(std::int64_t rows, std::int64_t columns) {
  SampleTable table;
  for (std::int64_t c = 0; c < columns; ++c) {
    const RandomKey key = sample_key(42, static_cast<std::uint64_t>(c));
    table.add(fmt::format("c{}", c), make_column(rows, [&](std::uint32_t row) {
                return static_cast<double>(random_bits(key, row) % 2'000'000) / 1e4 - 100;
              }));
  }
  return table.finish();
}

}  // namespace stoker
