#pragma once

#include <cstdint>
#include <vector>

#include "data/placement/dataset.h"
#include "model/experts/expert_shape.h"
#include "model/experts/expert_state.h"

namespace stoker {

// What an expert answers for, by some rows.
struct ExpertProfile {
  double rows = 0;              // shares that it has in the answers, added up
  double specialisation = 0;    // see ExpertNode
  std::vector<double> classes;  // of a target with classes: the share that it has in the answers for each
};

// Of each place of the room; what is empty has no rows.
std::vector<ExpertProfile> expert_profiles(const ExpertRoutes& routes, const ExpertShape& shape,
                                           const Dataset& rows);

// Cosines of the centres of the rows of two, each the mean of its features; 0 where one has none.
std::vector<double> cosines_of_centres(const ExpertRoutes& routes, const ExpertShape& shape,
                                       const Array& features, std::span<const ExpertPair> pairs);

// The place of the expert that has most of the answers for the quarter of the rows that the router hesitates
// about most.
std::int64_t liked_by_the_hesitant(const ExpertRoutes& routes, const ExpertShape& shape);

}  // namespace stoker
