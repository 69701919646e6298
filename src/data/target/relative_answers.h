#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/notes.h"
#include "data/placement/dataset.h"
#include "data/prepare/preparation_config.h"
#include "data/table/table.h"
#include "data/target/target_column.h"
#include "data/windows/windows_config.h"

// Answers of windows told by how much they differ from the last known value of the target in the window: a
// network that is to follow a level beyond what it was trained on would have to learn to pass it through.
namespace stoker {

// Why answers of such windows cannot be told relative to a value, or "".
std::string problem_with_relative_answers(const WindowsConfig& config);

struct RelativeAnswers {
  double unknown_base = 0;   // for windows in which no value is known
  MeanAndScale differences;  // of the answers of the rows to train on
};
// None where answers are told as they are; refuses rows whose answers cannot be told as was asked.
std::optional<RelativeAnswers> learn_relative_answers(const Table& training, const PreparationConfig& config,
                                                      Task task, const Notes& notes);

// What the answers of each row are told relative to.
std::vector<double> bases_of(const Table& table, double unknown_base);

// From relative answers to real ones and back, by the array of Role::base that the rows were prepared with;
// nothing where they have none. `answers` are some of each row, those of a row one behind the other.
void add_bases(const Dataset& rows, std::vector<double>& answers);
void subtract_bases(const Dataset& rows, std::vector<double>& answers);

}  // namespace stoker
