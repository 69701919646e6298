#include "cli/flags/commands_flag.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include <CLI/CLI.hpp>

namespace stoker::cli {

void add_commands_flag(CLI::App& app) {
  // No other thread is there yet that could read the environment.
  const auto name_folder = [](const std::string& folder) {
    setenv("STOKER_COMMANDS", std::filesystem::absolute(folder).c_str(), 1);
  };
  app.add_option_function<std::string>(
      "--commands", name_folder,
      "Folder of programs of one's own that documents may run as cards (STOKER_COMMANDS)");
}

}  // namespace stoker::cli
