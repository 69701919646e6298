#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/commands/command.h"
#include "cli/flags/find_run.h"
#include "cli/flags/named_document.h"
#include "cli/flags/usage.h"
#include "cli/process/execute.h"
#include "pipeline/document/document.h"
#include "pipeline/run/run_folder.h"
#include "pipeline/training/training_card.h"

namespace stoker::cli {
namespace {

struct RunCommand {
  NamedDocument document;
  std::string out = "runs";
  std::string resume;
  std::string folder_name;
  std::string only;
  bool no_cache = false;
  bool profile = false;
  ShowOptions show;
};

Document load_with_flags(const NamedDocument& named) {
  Document document = load_pipeline(named.path, named.assignments);
  if (!named.changes_training_cards()) return document;
  std::vector<std::string> training_cards;
  for (const Card& card : document.cards)
    if (trains(card)) training_cards.push_back(card.id);
  return load_pipeline(named.path, assignments_for(named, training_cards));
}

// A resumed run goes on with its own document; the runner refuses one that is given as well and differs.
Document document_to_resume(const RunCommand& command, const ListedRun& run) {
  if (!command.document.path.empty()) return load_with_flags(command.document);
  if (command.document.changes_settings()) {
    refuse(
        "a resumed run keeps its settings: leave out --set, --device, --engine and --tensorboard, or start a "
        "new "
        "run");
  }
  return document_of_run(run.paths.folder);
}

ExitCode run(const RunCommand& command) {
  RunOptions options;
  options.out = command.out;
  options.folder_name = command.folder_name;
  options.only = command.only;
  options.use_cache = !command.no_cache;
  options.profile = command.profile;
  options.keep_refused = !command.show.progress_file.empty();
  if (!command.resume.empty()) {
    const ListedRun earlier = run_named(command.resume, command.out);
    if (exists(earlier.paths.folder / "sweep.yaml"))
      refuse("{} is a sweep; resume it with: stoker sweep --resume {}", earlier.id,
             earlier.paths.folder.string());
    options.resume = earlier.paths.folder;
    options.out = earlier.paths.folder.parent_path();
    if (options.out.empty()) options.out = ".";
    return execute(document_to_resume(command, earlier), options, command.show);
  }
  if (command.document.path.empty()) refuse("which document? stoker run DOC, or stoker run --resume RUN");
  return execute(load_with_flags(command.document), options, command.show);
}

}  // namespace

Action declare_run(CLI::App& app) {
  const auto command = std::make_shared<RunCommand>();
  add_document_options(app, command->document, "Pipeline document, YAML or JSON");
  app.add_option("--out", command->out, "Folder for the run folders and the cache")->capture_default_str();
  app.add_option("--resume", command->resume, "Resume this run: folder, id, beginning of an id, or latest");
  add_watched_flags(app, command->folder_name, command->show);
  app.add_option("--only", command->only, "Run this card and what it needs");
  app.add_flag("--tensorboard", command->document.tensorboard,
               "Write files for TensorBoard too, for every card that trains");
  app.add_flag("--no-cache", command->no_cache, "Run every card, even if its output is cached");
  app.add_flag("--profile", command->profile,
               "Print where the time goes, and write a trace of it (profile.json in the run folder)");
  add_show_flags(app, command->show);
  app.footer(
      "Examples:\n"
      "  stoker run examples/boston_housing.yaml\n"
      "  stoker run pipeline.yaml --set cards.model.config.epochs=5 --device cpu\n"
      "  stoker run pipeline.yaml --only split\n"
      "  stoker run --resume latest");
  return [command] { return run(*command); };
}

}  // namespace stoker::cli
