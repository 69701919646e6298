#pragma once

#include <string>

#include "data/prepare/preparation_config.h"
#include "data/table/table.h"

namespace arrow {
class DataType;
}

// Columns of a table against what they held in training: a date can be read as a number, but it is none.
namespace stoker {

// Whether a column that a model reads as numbers holds text, dates in place of numbers or numbers in place of
// dates. A model that does not know which of the two training had takes either.
bool holds_other_type(const PreparedColumn& column, const arrow::DataType& type);
// With the first such value and what to do.
[[noreturn]] void refuse_other_type(const PreparedColumn& column, const Table& table);

// For people: "numbers", "dates (such as 2019-02-06)".
std::string type_in_training(const PreparedColumn& column);
// A date of training, as it was written there; "" if the model does not know one.
std::string date_of_training(const PreparedColumn& column);

}  // namespace stoker
