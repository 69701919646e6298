#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/resource.h>

#include "base/process/cpu_limit.h"
#include "base/process/crash_message.h"
#include "base/process/own_environment.h"
#include "base/text/text.h"
#include "cli/commands/command.h"
#include "cli/flags/project_flag.h"
#include "cli/flags/usage.h"
#include "cli/process/interrupt.h"
#include "cli/view/last_words.h"
#include "cli/view/terminal.h"
#include "data/confined/reader_child.h"
#include "data/memory/arrow_threads.h"
#include "serve/models/uploaded_model.h"
#include "torch/door.h"

namespace stoker::cli {
namespace {

constexpr std::array commands{
    Command{"run", "Run a pipeline document", declare_run},
    Command{"train", "Train a model on a file, a URL or a sample, without a document", declare_train},
    Command{"sweep", "Train many candidates of a document, compare them and keep the best", declare_sweep},
    Command{"predict", "Predict with a trained model", declare_predict},
    Command{"preview", "Show the first rows of a file, a URL or a sample, with types and missing values",
            declare_preview},
    Command{"validate", "Check a document and report everything that is wrong with it", declare_validate},
    Command{"step", "Show what happens in one training step of a document, number by number", declare_step},
    Command{"advise",
            "Measure where a document runs fastest, and say which device, engine and placement to take",
            declare_advise},
    Command{"cards", "List the types of cards, or show one with its settings", declare_cards},
    Command{"runs", "List, show, compare and delete earlier runs", declare_runs},
    Command{"datasets", "Put datasets on record, check, repair and make them", declare_datasets},
    Command{"serve", "Run training jobs for programs and people elsewhere, over HTTP", declare_serve},
    Command{"tokens", "Make, list and revoke the tokens of the service", declare_tokens},
    Command{"projects", "Create and list the projects of the service", declare_projects},
    Command{"cache", "Show and clear what earlier runs have kept for the next", declare_cache},
    Command{"devices", "Show what this machine can train on", declare_devices},
    Command{"bench", "Measure training speed, alone or beside other systems", declare_bench},
};

// Those that read datasets by id.
constexpr std::array<std::string_view, 8> commands_of_project{"run",     "train",    "sweep", "predict",
                                                              "preview", "validate", "step",  "advise"};

constexpr const char* examples =
    "Examples:\n"
    "  stoker run examples/boston_housing.yaml\n"
    "  stoker train houses.csv --target price --hidden-layers 64,32\n"
    "  stoker predict latest new_houses.csv --output prices.csv\n"
    "\n"
    "Exit codes: 0 done, 1 the run failed, 2 the request was wrong, 130 interrupted.";

int complain(const std::string& message, ExitCode code) {
  for (const std::string& line : split_text(message, '\n')) {
    if (!line.empty()) tell(Pieces{{"stoker:", Colour::red}, {" " + line}});
  }
  return static_cast<int>(code);
}

int parse_and_act(int argc, char** argv) {
  CLI::App app("Stoker trains small and mid-size models as fast as the hardware allows.", "stoker");
  app.set_version_flag("--version", "stoker " STOKER_VERSION, "Print the version and exit");
  app.footer(examples);
  app.require_subcommand(1);
  std::vector<Action> actions;
  std::vector<CLI::App*> declared;
  for (const Command& command : commands) {
    declared.push_back(app.add_subcommand(command.name, command.summary));
    actions.push_back(command.declare(*declared.back()));
    if (std::ranges::find(commands_of_project, command.name) != commands_of_project.end())
      add_project_flag(*declared.back());
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    app.exit(asked);
    return static_cast<int>(ExitCode::done);
  } catch (const CLI::ParseError& error) {
    return complain(usage_error(app, error.what()), ExitCode::wrong_request);
  }
  for (std::size_t i = 0; i < actions.size(); ++i) {
    if (declared[i]->parsed()) return static_cast<int>(actions[i]());
  }
  return static_cast<int>(ExitCode::wrong_request);  // not reached: a command is required
}

// mimalloc, by which LibTorch allocates on ARM, gives pages back 10 ms after they were freed. A step takes
// longer: it gets them anew from the kernel, which clears them, for a tenth of a transformer's time. Asked
// for here, while no other thread can be reading the environment.
void keep_freed_pages_from_step_to_step() {
  constexpr int overwrite = 0;
  setenv("MIMALLOC_PURGE_DELAY", "1000", overwrite);
}

// mimalloc, by which Arrow allocates, reserves a GiB of addresses at a time. `ulimit -v` counts it whole, so
// that a process with room for a GiB and little more had less left to train with than one with a lower limit.
// Its own settings are read before main(), Arrow's choice of an allocator is not.
void take_no_reserves_under_a_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  constexpr int overwrite = 0;
  setenv("ARROW_DEFAULT_MEMORY_POOL", "system", overwrite);
}

int act_or_complain(int argc, char** argv) {
  try {
    return parse_and_act(argc, argv);
  } catch (const Error& error) {
    return complain(error.what(), error.code());
  } catch (const std::bad_alloc&) {
    return complain("out of memory", ExitCode::run_failed);
  } catch (const std::filesystem::filesystem_error& error) {
    return complain(fmt::format("{}: {}", error.path1().string(), error.code().message()),
                    ExitCode::run_failed);
  } catch (const std::exception& error) {
    return complain(error.what(), ExitCode::run_failed);
  }
}

}  // namespace
}  // namespace stoker::cli

int main(int argc, char** argv) {
  using namespace stoker;
  hide_own_environment();
  cli::end_in_order_without_memory();
  cli::fill_standard_descriptors();
  cli::ignore_signals_of_writing();
  if (argc == 2 && std::string_view(argv[1]) == reader_child_word)  // before there is a second thread
    return static_cast<int>(serve_as_reader_child(serve::requests_about_models()));
  explain_crashes();
  explain_cpu_limits();
  cli::clear_up_when_ended();
  cli::keep_freed_pages_from_step_to_step();
  cli::take_no_reserves_under_a_limit();
  torch_door::let_waiting_threads_sleep();
  const int code = cli::act_or_complain(argc, argv);
  if (!arrow_may_wait_in_vain()) return code;
  std::fflush(nullptr);
  std::_Exit(code);
}
