#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/notes.h"
#include "data/placement/dataset.h"
#include "data/prepare/preparation_config.h"
#include "data/table/table.h"

// A set in each row, such as what several receivers heard: an array with a row for each member, any of which
// may be absent.
namespace stoker {

struct SetColumns {
  std::string members;  // the array of two dimensions
  std::string mask;  // an array of one, 0 where a member is absent; empty: where all its values are missing
  std::int64_t count = 0;  // members in the table
  std::int64_t width = 0;  // values of each
  std::int64_t room =
      0;  // members that the model has room for; of more that are present, the first ones count
};

// Refuses a table without such an array, or with several to choose from.
SetColumns find_set(const Table& table, const PreparationConfig& config, const InputForm& form);

// A column for each value of each member, one member behind the other, then those of the mask. Values that
// stand at the same place of every member are one quantity, and are scaled as one, by members that are
// present.
std::vector<PreparedColumn> learn_set(const Table& training, const SetColumns& set,
                                      const PreparationConfig& config, Scaling scaling, const Notes& notes);

std::vector<ArraySpec> set_inputs(const SetColumns& set, DType type);
// "members" [rows, room, width], 0 where one is absent, and "present" [rows, room]. A row without any is
// refused where missing values are.
void lay_set(const Table& table, const SetColumns& set, const std::vector<PreparedColumn>& columns,
             Missing missing_values, DType type, Dataset& dataset);

// Ascending.
std::vector<std::int64_t> rows_without_members(const Table& table, const SetColumns& set);
void refuse_rows_without_members(const Table& table, const SetColumns& set);
// All others, with a warning; `purpose` goes on from "nothing to": "train on". Refuses such rows where
// missing values are refused, and a table that has no others.
Table rows_with_members(const Table& table, const SetColumns& set, Missing missing_values,
                        const std::string& purpose, const Notes& notes);
// What a prediction of these rows does without: rows without any member, and members that are not read.
std::vector<std::string> warnings_of_sets(const Table& table, const SetColumns& set);

}  // namespace stoker
