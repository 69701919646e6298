#pragma once

#include <optional>

#include "data/table/table.h"
#include "model/model.h"
#include "train/choose/chosen_number.h"

namespace stoker {

// A network that tells how sure it is learns that while part of it is left out, and of rows that it sees
// again and again. Here its deviations are made larger or smaller by one factor, so that the region which is
// to hold 68 % of the rows does hold 68 % of these; nothing else that it predicts changes. None of a model
// that does not tell deviations, or has no row to be measured by.
std::optional<ChosenNumber> calibrate_deviations(const Table& rows, Model& model);

}  // namespace stoker
