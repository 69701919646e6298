#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "advise/advice.h"
#include "advise/advised_document.h"
#include "base/error.h"
#include "base/text/text.h"
#include "cli/commands/command.h"
#include "cli/flags/commands_flag.h"
#include "cli/flags/number_range.h"
#include "cli/process/interrupt.h"
#include "cli/view/terminal.h"
#include "pipeline/run/space.h"

namespace stoker::cli {
namespace {

struct AdviseOptions {
  std::string document;
  std::vector<std::string> assignments;
  double seconds = 20;
  std::string apply;
  std::string question;  // from a process that measures
  bool json = false;
  bool quiet = false;
};

Pieces ways_text(const advise::Advice& advice) {
  std::vector<std::vector<std::string>> rows{
      {"run", "of it training", "memory", "device", "engine", "placement", "from"}};
  for (const advise::Prediction& each : advice.predictions.ways)
    rows.push_back({human_seconds(each.seconds),
                    each.training_seconds < 1e-3 ? "< 1 ms" : human_seconds(each.training_seconds),
                    human_bytes(each.peak_bytes), each.device, each.engine, each.placement,
                    each.is_measured ? "a whole run"
                    : each.was_run   ? "a short run"
                                     : "its steps"});
  return {{"predicted\n", Colour::bold}, {aligned(rows, "  ")}};
}

std::string microseconds_text(double microseconds) {
  return microseconds < 1000 ? fmt::format("{:.4g}", microseconds)
                             : human_count(static_cast<std::uint64_t>(microseconds));
}

Pieces changes_text(const advise::Advice& advice) {
  std::vector<std::vector<std::string>> rows{{"run", "batch_size", "precision", "µs a step"}};
  for (const auto* list : {&advice.batches, &advice.precisions})
    for (const advise::Change& each : *list)
      rows.push_back({human_seconds(each.seconds), fmt::format("{}", each.batch_size), each.precision,
                      microseconds_text(each.step_seconds * 1e6)});
  if (rows.size() == 1) return {};
  return {{"other batch sizes and precisions (they change the result)\n", Colour::bold},
          {aligned(rows, "  ")}};
}

Pieces gpus_text(const advise::Advice& advice) {
  if (advice.gpus.empty()) return {};
  std::vector<std::vector<std::string>> rows{{"run", "of it training", "GPU", ""}};
  for (const advise::GpuEstimate& each : advice.gpus)
    rows.push_back({human_seconds(each.seconds), human_seconds(each.training_seconds), each.name,
                    !each.has_room ? "its memory is too small"
                    : each.pays    ? "pays"
                                   : "does not pay"});
  return {{"GPUs that are not here (estimates)\n", Colour::bold}, {aligned(rows, "  ")}};
}

Pieces as_text(const advise::Advice& advice) {
  Pieces text;
  for (const std::string& each : advise::sentences_of(advice)) text.push_back({printable(each) + "\n"});
  for (const Pieces& part : {ways_text(advice), changes_text(advice), gpus_text(advice)})
    text.insert(text.end(), part.begin(), part.end());
  return text;
}

// A sweep is many trainings, each of which may be best in another way.
void refuse_sweep(const AdviseOptions& options) {
  config::Value value = config::load_document(options.document);
  for (const std::string& each : options.assignments) config::set_path(value, each);
  std::vector<std::string> searched;
  for (const auto& [path, line] : take_space_out(value)) searched.push_back(path);
  if (searched.empty()) return;
  refuse(
      "{} searches {}: advice is on one training. Give each a single value, for example with --set {}=VALUE, "
      "and take what is recommended for the sweep",
      options.document, join(searched, ", "), searched.front());
}

ExitCode give_advice(const AdviseOptions& options) {
  StopSignal stop;
  const InterruptGuard guard(stop);
  if (!options.question.empty()) {
    print_data(advise::answer(options.document, options.question, stop));
    return ExitCode::done;
  }
  if (options.document.empty()) refuse("which document? stoker advise DOC");
  if (!options.apply.empty()) advise::refuse_target(options.document, options.apply);
  refuse_sweep(options);
  const Document document = load_pipeline(options.document, options.assignments);
  const advise::Question question{options.document, options.assignments, document, options.seconds};
  advise::Measurements found = advise::measure(
      question,
      [&](const std::string& what) {
        if (!options.quiet) tell("measuring " + what);
      },
      stop);
  const advise::Advice advice = advise::advice_from(std::move(found), advise::written_choice(document));
  if (!options.apply.empty()) advise::write_advised(question, advice.best, options.apply);
  if (options.json) {
    nlohmann::json told = advise::to_json(advice);
    told["document"] = options.document;
    told["applied_to"] = options.apply.empty() ? nlohmann::json(nullptr) : nlohmann::json(options.apply);
    print_json(told);
    return ExitCode::done;
  }
  print(as_text(advice));
  if (!options.apply.empty())
    print(fmt::format("wrote {}: device, engine and placement as recommended; comments are not kept\n",
                      options.apply));
  return ExitCode::done;
}

}  // namespace

Action declare_advise(CLI::App& app) {
  const auto options = std::make_shared<AdviseOptions>();
  app.add_option("DOC", options->document, "Pipeline document, YAML or JSON");
  app.add_option("--set", options->assignments, "PATH=VALUE: change a setting first; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--seconds", options->seconds, "That measuring may take in all")
      ->check(in_range(2.0, 600.0))
      ->capture_default_str();
  app.add_option("--apply", options->apply,
                 "Write a copy of the document to this file, with the device, engine and placement that are "
                 "recommended; a file that is there is not overwritten");
  add_commands_flag(app);
  app.add_flag("--json", options->json, "Print one JSON object");
  app.add_flag("--quiet", options->quiet, "Do not tell what is being measured");
  app.add_option(advise::question_flag, options->question)->group("");  // asked by this program alone
  app.footer(
      "Examples:\n"
      "  stoker advise examples/boston_housing.yaml\n"
      "  stoker advise pipeline.yaml --set cards.model.config.batch_size=256 --json\n"
      "  stoker advise pipeline.yaml --apply faster.yaml");
  return [options] { return give_advice(*options); };
}

}  // namespace stoker::cli
