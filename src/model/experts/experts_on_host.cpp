#include "model/experts/experts_on_host.h"

#include "model/experts/expert_answers.h"
#include "model/experts/expert_profiles.h"

namespace stoker {

ExpertRoutes ExpertsOnHost::route(const Dataset& rows) {
  return expert_routes(arrays_.shape(), arrays_.parameters(), rows.features());
}

std::vector<double> ExpertsOnHost::cosines_of_rows(const ExpertRoutes& routes, const Dataset& rows,
                                                   std::span<const ExpertPair> pairs) {
  return cosines_of_centres(routes, arrays_.shape(), rows.features(), pairs);
}

std::vector<double> ExpertsOnHost::adaptation_of(std::span<const std::int64_t> places) {
  std::vector<double> rates;
  for (const std::int64_t place : places) rates.push_back(arrays_.adaptation_of(place));
  return rates;
}

std::vector<double> ExpertsOnHost::align(std::span<const ExpertPair> pairs) {
  pairs_.assign(pairs.begin(), pairs.end());
  aligned_ = stoker::align(arrays_, pairs_);
  std::vector<double> cosines;
  for (const AlignedExperts& each : aligned_) cosines.push_back(each.cosine);
  return cosines;
}

}  // namespace stoker
