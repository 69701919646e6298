#pragma once

namespace CLI {
class App;
}

namespace stoker::cli {

// --project PROJECT: the project whose datasets a command reads and writes. The same as STOKER_PROJECT, for
// this process and all that it starts.
void add_project_flag(CLI::App& app);

}  // namespace stoker::cli
