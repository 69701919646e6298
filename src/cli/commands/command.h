#pragma once

#include <functional>
#include <string_view>

#include "base/error.h"

namespace CLI {
class App;
}

namespace stoker::cli {

// What a command does once its words have been read. Errors are thrown and become the exit code in main.
using Action = std::function<ExitCode()>;

// One command of the program, in one file. declare() adds its flags and its help.
struct Command {
  const char* name;
  const char* summary;
  Action (*declare)(CLI::App& app);
};

Action declare_run(CLI::App& app);
Action declare_train(CLI::App& app);
Action declare_sweep(CLI::App& app);
Action declare_predict(CLI::App& app);
Action declare_preview(CLI::App& app);
Action declare_validate(CLI::App& app);
Action declare_step(CLI::App& app);
Action declare_advise(CLI::App& app);
Action declare_cards(CLI::App& app);
Action declare_runs(CLI::App& app);
Action declare_datasets(CLI::App& app);
Action declare_cache(CLI::App& app);
Action declare_devices(CLI::App& app);
Action declare_serve(CLI::App& app);
Action declare_tokens(CLI::App& app);
Action declare_projects(CLI::App& app);
Action declare_bench(CLI::App& app);

}  // namespace stoker::cli
