#pragma once

#include <string>
#include <vector>

#include "config/value.h"

// The flag --slower of train and predict: tables of longer steps that go with a series.
namespace stoker::cli {

struct SlowerFile {
  std::string name;  // "" where none was given
  std::string data;  // as DATA of the command
};

// NAME=DATA, or DATA alone; an address with = in its query is no name.
SlowerFile slower_file(const std::string& word);

// The reading settings of each table, the series (of no name) first. What is set for a column goes to every
// table that has it, for a slower one also under the name that it has in the joined table; what none has
// stays with the series, whose reading says so. All other settings are for all tables.
std::vector<config::Value> readings_of(const std::vector<SlowerFile>& tables, const config::Value& given);

// Of each name the file that goes with it, those without a name in their order. Refuses names that are
// unknown or given twice, and names the tables that are missing.
std::vector<std::string> files_by_name(const std::vector<std::string>& words,
                                       const std::vector<std::string>& names);

}  // namespace stoker::cli
