#pragma once

#include "config/field.h"

namespace CLI {
class App;
}

namespace stoker::config {

// A command-line flag for every field, such as --learning-rate 0.01, --hidden-layers 128,64,32 or
// --fit-intercept / --no-fit-intercept. What is given lands in `into`, a map, under the field's own name;
// read_fields then checks it like a document. `into` must outlive the parsing. Fields of type map have none.
void add_flags(CLI::App& app, const Fields& fields, Value& into);

// learning_rate -> --learning-rate
std::string flag_name(const Field& field);

// The text behind a flag as the value that a document would have held.
Value flag_value(const Field& field, const std::string& text);

}  // namespace stoker::config
