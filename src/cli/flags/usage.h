#pragma once

#include <string>

#include "cli/process/execute.h"

namespace CLI {
class App;
}

namespace stoker::cli {

// What was wrong with the words on the command line, in one line, with the nearest command or flag.
// `reason` is the parser's own message, for what it says well enough.
std::string usage_error(const CLI::App& app, const std::string& reason);

// --json and --quiet, which the commands that train share.
void add_show_flags(CLI::App& app, ShowOptions& show);
// --as and --progress-file, for a program that starts a command and watches it.
void add_watched_flags(CLI::App& app, std::string& folder_name, ShowOptions& show);

}  // namespace stoker::cli
