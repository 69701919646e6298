#pragma once

#include <string>
#include <vector>

// The flag --slower of train and predict: tables of longer steps that go with a series.
namespace stoker::cli {

struct SlowerFile {
  std::string name;  // "" where none was given
  std::string data;  // as DATA of the command
};

// NAME=DATA, or DATA alone; an address with = in its query is no name.
SlowerFile slower_file(const std::string& word);

// Of each name the file that goes with it, those without a name in their order. Refuses names that are
// unknown or given twice, and names the tables that are missing.
std::vector<std::string> files_by_name(const std::vector<std::string>& words,
                                       const std::vector<std::string>& names);

}  // namespace stoker::cli
