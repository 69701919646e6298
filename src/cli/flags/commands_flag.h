#pragma once

namespace CLI {
class App;
}

namespace stoker::cli {

// --commands DIR: the folder of the operator's own programs, which documents may name. The same as
// STOKER_COMMANDS, for this process and all that it starts.
void add_commands_flag(CLI::App& app);

}  // namespace stoker::cli
