#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/table/table.h"
#include "model/model.h"

namespace stoker {

// How many of these rows the router of a mixture sends to each of its living experts, in the order of their
// places. Empty for models of other families and for ensembles.
std::vector<std::int64_t> rows_per_expert(const Model& model, const Table& table);

// A warning if experts receive no rows, or fewer than 1 % of an even share; "" otherwise.
std::string unused_experts_warning(const std::vector<std::int64_t>& rows, double load_balance);

// The same for all members of an ensemble together, or for a single model.
std::string unused_experts_warning(const Model& model, const Table& table);

}  // namespace stoker
