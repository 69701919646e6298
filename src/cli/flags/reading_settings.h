#pragma once

#include <string>

#include "base/notes.h"
#include "config/value.h"
#include "data/source/source.h"

namespace CLI {
class App;
}

namespace stoker::cli {

// The settings that say how DATA is read; where it lies is said by DATA itself.
config::Fields reading_settings(SourceConfig& source);

// Adds a flag for each of them; what is given goes into `given` by the setting's name.
void add_reading_flags(CLI::App& app, config::Value& given);

// DATA as it was named on the command line, with the settings that were given as flags.
SourceConfig source_named(const std::string& data, const config::Value& given);

// What is found while a table is read goes to standard error.
Notes told_notes();

// Opens DATA of a command from the current folder, and tells what is to be told of it.
Source opened_source(const std::string& data, const config::Value& given);

}  // namespace stoker::cli
