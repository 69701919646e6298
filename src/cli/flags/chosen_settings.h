#pragma once

#include <string>
#include <vector>

#include "config/field.h"
#include "pipeline/document/recommended.h"

// The settings that `stoker train` chooses by the data, where the defaults of the cards do not apply.
namespace stoker::cli {

// The fields with "chosen by the data" as the default of each such setting, for the help of their flags.
config::Fields with_choices_as_defaults(config::Fields fields);

// What was added to the given settings, as "epochs 200, batch_size 32"; empty if nothing was.
std::string text_of_choices(const NetworkSettings& given, const NetworkSettings& chosen);

// One or two lines for people: the table, what was chosen for it, and why.
std::vector<std::string> lines_about_choices(const TableShape& shape, bool is_known,
                                             const NetworkSettings& given, const NetworkSettings& chosen);

}  // namespace stoker::cli
