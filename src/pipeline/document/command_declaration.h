#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/described.h"
#include "pipeline/card/port.h"

namespace stoker {

// What values a column must hold.
enum class ColumnDemand { any, number, boolean, text, time };

struct CommandOutput : Output {
  std::map<std::string, ColumnDemand> columns = {};  // that must be there; others may be too
  std::optional<std::int64_t> most_rows = {};
};

// One of the operator's own programs, as NAME.yaml in the folder of commands declares it.
struct CommandDeclaration {
  std::string name;
  std::filesystem::path file;  // the declaration itself
  std::string file_sha256;
  std::string title;
  std::string help;
  int version = 1;
  std::filesystem::path program;      // absolute, in that folder
  std::filesystem::path interpreter;  // absolute; empty: the program runs by itself
  std::vector<std::string> arguments;
  std::vector<std::filesystem::path> files;  // that it reads; absolute, in that folder
  std::vector<std::string> environment;      // NAME=VALUE
  std::vector<Input> inputs;
  std::vector<CommandOutput> outputs;
  config::Fields settings;  // without members; settings_of() gives them some
  double time_limit = 0;    // seconds
  std::uint64_t memory_bytes = 0;
  std::uint64_t disk_bytes = 0;
};

// Those of a folder, by their names. Everything that is wrong with any of them is refused at once.
std::vector<CommandDeclaration> commands_in(const std::filesystem::path& folder);

// The settings, with values to read them into.
config::Described settings_of(const CommandDeclaration& command);

// What makes a file one that others than its owner can change, or none at all; "" where nothing does.
std::string problem_with_own_file(const std::filesystem::path& file, const std::filesystem::path& folder);

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 5> stoker::config::names<stoker::ColumnDemand>{
    "any", "number", "boolean", "text", "time"};
