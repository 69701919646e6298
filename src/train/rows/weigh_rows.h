#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/prepare/preparation.h"
#include "data/target/class_weights.h"

namespace stoker {

// What each class counts, by the rows that are trained on; nothing where all count the same. Refuses to weigh
// the classes of quantities.
std::vector<double> class_weights_on(const Table& training, const Preparation& preparation,
                                     const ClassWeighting& weighting);

// Adds the weights of the rows, where there are any; the targets are still numbers of classes.
void weigh_rows(const Table& table, const std::string& weight_column, std::span<const double> class_weights,
                Dataset& dataset);

}  // namespace stoker
