#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/source/source_config.h"

namespace stoker {

// The variable that has files read in confined children, by a process and those that it starts: the data
// folder of a service.
constexpr const char* confined_readers_variable = "STOKER_CONFINE_READERS";
// Its value; null if it is not set.
const char* folder_of_confined_readers();

// Files and network that the child may reach, in addition to its scratch folder and the files of the system.
struct Reach {
  std::vector<std::filesystem::path> readable = {};
  std::vector<std::filesystem::path> writable = {};
  bool may_connect = false;
};

// If the source is a file: that file and those that belong to it.
std::vector<std::filesystem::path> files_of_source(const SourceConfig& config,
                                                   const std::filesystem::path& base);

// The environment of the child, as lines NAME=VALUE.
std::vector<std::string> environment_of_reader(const SourceConfig& config,
                                               const std::filesystem::path& scratch);

}  // namespace stoker
