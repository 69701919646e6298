#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/command.h"
#include "cli/flags/commands_flag.h"
#include "cli/flags/number_range.h"
#include "cli/flags/reading_settings.h"
#include "cli/process/interrupt.h"
#include "cli/view/step_view.h"
#include "cli/view/terminal.h"
#include "pipeline/card/explain_card.h"
#include "train/explain/explain_step.h"

namespace stoker::cli {
namespace {

struct StepOptions {
  std::string document;
  std::string card;
  std::int64_t rows = 8;
  std::vector<std::string> assignments;
  std::filesystem::path out = "runs";
  bool json = false;
};

ExitCode explain(const StepOptions& options) {
  const Document document = load_pipeline(options.document, options.assignments);
  StopSignal stop;
  const InterruptGuard guard(stop);
  const nlohmann::json explained =
      explain_card(document, options.card, options.rows, options.out / ".cache", told_notes(), stop);
  if (options.json) {
    print_json(explained);
  } else {
    print(step_text(explained));
  }
  return ExitCode::done;
}

}  // namespace

Action declare_step(CLI::App& app) {
  const auto options = std::make_shared<StepOptions>();
  app.add_option("DOC", options->document, "Pipeline document, YAML or JSON")->required();
  app.add_option("--card", options->card, "The card that trains, where there are several");
  app.add_option("--rows", options->rows, "Rows of the step")
      ->check(in_range(std::int64_t{1}, most_explained_rows))
      ->capture_default_str();
  app.add_option("--set", options->assignments, "PATH=VALUE: change a setting first; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--out", options->out, "Folder of the runs, whose cache may have the rows")
      ->capture_default_str();
  app.add_flag("--json", options->json, "Print one JSON object, with all numbers");
  add_commands_flag(app);
  app.footer(
      "Examples:\n"
      "  stoker step examples/boston_housing.yaml\n"
      "  stoker step examples/boston_housing.yaml --rows 32 --json");
  return [options] { return explain(*options); };
}

}  // namespace stoker::cli
