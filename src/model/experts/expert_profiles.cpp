#include "model/experts/expert_profiles.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace stoker {
namespace {

// Numbers of classes by rows, or none for a target of numbers.
struct ClassesOfRows {
  std::vector<std::int64_t> of_row;
  std::int64_t count = 0;
};

ClassesOfRows classes_of(const Dataset& rows, const ExpertShape& shape) {
  const Array& targets = rows.targets();
  ClassesOfRows classes;
  if (targets.type() == DType::int64) {
    const auto values = targets.as<std::int64_t>();
    classes.of_row.assign(values.begin(), values.end());
    classes.count = shape.outputs;
    return classes;
  }
  const auto values = targets.as<float>();
  if (shape.outputs != 1 || !std::ranges::all_of(values, [](float v) { return v == 0 || v == 1; }))
    return classes;
  for (const float each : values) classes.of_row.push_back(each == 1 ? 1 : 0);
  classes.count = 2;
  return classes;
}

// One less the entropy of its classes, each counted by how much of all its rows are this expert's.
double class_specialisation(const std::vector<double>& shares) {
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (shares.size() < 2 || !(sum > 0)) return 0;
  double entropy = 0;
  for (const double each : shares)
    if (each > 0) entropy -= each / sum * std::log(each / sum);
  return std::clamp(1 - entropy / std::log(static_cast<double>(shares.size())), 0.0, 1.0);
}

// The share of the target's variance that is gone among an expert's rows.
double number_specialisation(const std::vector<double>& weights, std::span<const float> targets,
                             std::int64_t width) {
  const auto variance = [&](bool is_weighted) {
    double sum = 0;
    double of_squares = 0;
    double count = 0;
    for (std::size_t row = 0; row < weights.size(); ++row) {
      const double weight = is_weighted ? weights[row] : 1;
      const auto value = static_cast<double>(targets[row * static_cast<std::size_t>(width)]);
      sum += weight * value;
      of_squares += weight * value * value;
      count += weight;
    }
    return count > 0 ? std::max(0.0, of_squares / count - sum / count * (sum / count)) : 0.0;
  };
  const double all = variance(false);
  return all > 0 ? std::clamp(1 - variance(true) / all, 0.0, 1.0) : 0.0;
}

double cosine_of_centres(const std::vector<double>& one, const std::vector<double>& other) {
  if (one.empty() || other.empty()) return 0;
  double product = 0;
  double of_one = 0;
  double of_other = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    product += one[i] * other[i];
    of_one += one[i] * one[i];
    of_other += other[i] * other[i];
  }
  const double lengths = std::sqrt(of_one) * std::sqrt(of_other);
  return lengths > 0 && std::isfinite(product) ? product / lengths : 0;
}

}  // namespace

std::vector<ExpertProfile> expert_profiles(const ExpertRoutes& routes, const ExpertShape& shape,
                                           const Dataset& rows) {
  const auto count = static_cast<std::size_t>(rows.rows());
  const auto top = static_cast<std::size_t>(shape.settings.top_k);
  const ClassesOfRows classes = classes_of(rows, shape);
  std::vector<ExpertProfile> profiles(static_cast<std::size_t>(shape.room()));
  std::vector<std::vector<double>> weights(profiles.size());
  for (std::size_t row = 0; row < count; ++row) {
    for (std::size_t k = 0; k < top; ++k) {
      const auto expert = static_cast<std::size_t>(routes.chosen[row * top + k]);
      const auto share = static_cast<double>(routes.shares[row * top + k]);
      ExpertProfile& profile = profiles[expert];
      profile.rows += share;
      if (classes.count > 0) {
        profile.classes.resize(static_cast<std::size_t>(classes.count));
        profile.classes[static_cast<std::size_t>(classes.of_row[row])] += share;
      } else {
        weights[expert].resize(count);
        weights[expert][row] = share;
      }
    }
  }
  std::vector<double> of_class(static_cast<std::size_t>(classes.count));
  for (const std::int64_t each : classes.of_row) of_class[static_cast<std::size_t>(each)] += 1;
  for (std::size_t e = 0; e < profiles.size(); ++e) {
    ExpertProfile& profile = profiles[e];
    if (!(profile.rows > 0)) continue;
    for (std::size_t c = 0; c < of_class.size(); ++c)
      profile.classes[c] = of_class[c] > 0 ? profile.classes[c] / of_class[c] : 0;
    profile.specialisation =
        classes.count > 0 ? class_specialisation(profile.classes)
                          : number_specialisation(weights[e], rows.targets().as<float>(), shape.outputs);
  }
  return profiles;
}

std::vector<double> cosines_of_centres(const ExpertRoutes& routes, const ExpertShape& shape,
                                       const Array& features, std::span<const ExpertPair> pairs) {
  const auto top = static_cast<std::size_t>(shape.settings.top_k);
  const auto inputs = static_cast<std::size_t>(shape.inputs);
  const auto values = features.as<float>();
  std::vector<std::vector<double>> centres(static_cast<std::size_t>(shape.room()));
  std::vector<double> weights(centres.size());
  for (std::size_t choice = 0; choice < routes.chosen.size(); ++choice) {
    const auto expert = static_cast<std::size_t>(routes.chosen[choice]);
    const auto share = static_cast<double>(routes.shares[choice]);
    std::vector<double>& centre = centres[expert];
    centre.resize(inputs);
    weights[expert] += share;
    const float* row = values.data() + choice / top * inputs;
    for (std::size_t i = 0; i < inputs; ++i) centre[i] += share * static_cast<double>(row[i]);
  }
  for (std::size_t expert = 0; expert < centres.size(); ++expert)
    if (weights[expert] > 0)
      for (double& each : centres[expert]) each /= weights[expert];
  std::vector<double> cosines;
  for (const ExpertPair& pair : pairs)
    cosines.push_back(cosine_of_centres(centres[static_cast<std::size_t>(pair.one)],
                                        centres[static_cast<std::size_t>(pair.other)]));
  return cosines;
}

std::int64_t liked_by_the_hesitant(const ExpertRoutes& routes, const ExpertShape& shape) {
  std::vector<std::size_t> order(routes.hesitation.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Not a number does not count, and would confuse the order.
  const auto hesitation = [&](std::size_t row) {
    return std::isfinite(routes.hesitation[row]) ? routes.hesitation[row] : 0.0F;
  };
  std::ranges::stable_sort(order, std::greater(), hesitation);
  order.resize(std::max<std::size_t>(1, order.size() / 4));
  const auto top = static_cast<std::size_t>(shape.settings.top_k);
  std::vector<double> liked(static_cast<std::size_t>(shape.room()));
  for (const std::size_t row : order)
    for (std::size_t k = 0; k < top; ++k)
      liked[static_cast<std::size_t>(routes.chosen[row * top + k])] +=
          static_cast<double>(routes.shares[row * top + k]);
  return std::ranges::max_element(liked) - liked.begin();
}

}  // namespace stoker
