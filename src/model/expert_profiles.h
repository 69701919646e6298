#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset.h"
#include "model/expert_answers.h"

namespace stoker {

// What an expert answers for, by some rows.
struct ExpertProfile {
  double rows = 0;              // shares that it has in the answers, added up
  double specialisation = 0;    // see ExpertNode
  std::vector<double> classes;  // of a target with classes: the share that it has in the answers for each
  std::vector<double> centre;   // mean of the features of its rows
};

// Of each place of the room; what is empty has no rows.
std::vector<ExpertProfile> expert_profiles(const ExpertAnswers& answers, const ExpertShape& shape,
                                           const Dataset& rows);

// Of the centres; 0 where one has no rows.
double cosine_of_rows(const ExpertProfile& one, const ExpertProfile& other);

// The place of the expert that has most of the answers for the quarter of the rows that the router hesitates
// about most.
std::int64_t liked_by_the_hesitant(const ExpertAnswers& answers, const ExpertShape& shape);

}  // namespace stoker
