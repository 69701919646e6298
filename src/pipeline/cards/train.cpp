#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/time/trace.h"
#include "data/cubes/cube_faults.h"
#include "data/cubes/cube_rows.h"
#include "data/cubes/cubes.h"
#include "data/target/target_column.h"
#include "pipeline/cards/card_settings.h"
#include "pipeline/cards/cards.h"
#include "pipeline/cards/train_settings.h"
#include "pipeline/training/experts_report.h"
#include "pipeline/training/training_report.h"
#include "predict/measure/evaluate.h"
#include "predict/measure/even_rows.h"
#include "predict/measure/expert_usage.h"
#include "predict/spectral/cube_scores.h"
#include "train/fit/fit.h"
#include "train/fit/variants.h"
#include "train/fit/walk_forward.h"
#include "train/stages/fit_stages.h"

namespace stoker::cards {
namespace {

// How well a model fits what it has seen is clear from fewer than all.
constexpr std::int64_t most_rows_to_measure = 50'000;

constexpr std::int64_t most_cubes_to_measure = 16;

// Cubes that nothing is marked in may be trained on, but there is nothing to compare with.
Evaluation measured_on(const Model& model, const Table& trained_on) {
  if (!trained_on.cubes) return stoker::evaluate(model, even_rows(trained_on, most_rows_to_measure));
  if (trained_on.cubes->has_masks())
    return evaluate_cubes(model, even_rows(trained_on, most_cubes_to_measure));
  Evaluation nothing;
  nothing.task = model.preparation.task();
  nothing.target = model.preparation.target_column();
  return nothing;
}

bool names_a_device(const std::string& text) {
  if (text == "auto" || text == "cpu" || text == "cuda") return true;
  const std::string prefix = "cuda:";
  if (!text.starts_with(prefix) || text.size() == prefix.size() || text.size() > prefix.size() + 4)
    return false;
  return text.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
}

config::Value check_training(const config::Value& config, const std::string& path,
                             config::Diagnostics& diagnostics) {
  auto settings = config::read<TrainSettings>(config, path, diagnostics);
  if (!names_a_device(settings.fit.device)) {
    diagnostics.add(line_of(config, "device"), path + ".device",
                    "'" + settings.fit.device + "' is not a device; allowed: auto, cpu, cuda or cuda:N");
  }
  if (const std::string problem = problem_of(settings.fit.gpu, settings.fit.device); !problem.empty())
    diagnostics.add(line_of(config, "gpu_mode"), path + ".gpu_mode", problem);
  settings.fit.device = device_asked_for(settings.fit.gpu, settings.fit.device);
  if (const std::string problem = problem_of(settings.fit.ensemble); !problem.empty())
    diagnostics.add(line_of(config, "ensemble"), path + ".ensemble", problem);
  if (const std::string problem = problem_of_variants(settings.fit.ensemble.variants); !problem.empty())
    diagnostics.add(line_of(config, "ensemble"), path + ".ensemble.variants", problem);
  if (const std::string problem = problem_of(settings.fit.decision); !problem.empty())
    diagnostics.add(line_of(config, "threshold_metric"), path + ".threshold_metric", problem);
  if (const std::string problem = problem_of_stages(settings.fit); !problem.empty())
    diagnostics.add(line_of(config, "stages"), path + ".stages", problem);
  if (const std::string problem = problem_of(settings.fit.placement); !problem.empty())
    diagnostics.add(line_of(config, "preload_to_gpu"), path + ".preload_to_gpu", problem);
  for (const std::string& column : settings.preparation.feature_columns) {
    if (column != settings.preparation.target_column) continue;
    diagnostics.add(line_of(config, "feature_columns"), path + ".feature_columns",
                    "contains the target column " + column + ", which cannot predict itself");
  }
  return config::write(settings);
}

// What the evaluation would find out when all the training is done.
void look_at_cubes_to_evaluate(const Table& test, const ModelSpec& spec, const Notes& notes) {
  if (test.rows() == 0)
    refuse("there are no cubes to evaluate on: hold some back (test_ratio), or leave the evaluation out");
  if (spec.is_solved() || !test.cubes) return;  // which others refuse
  if (!form_of(family_of(spec), spec.settings).takes_odd_pixels) refuse_odd_cubes(test, " to evaluate on");
  if (!test.cubes->has_masks())
    notes(Severity::warning,
          fmt::format("the cubes to evaluate on come without masks: their scores, spectra and components are "
                      "drawn, but nothing is measured against marks. {}",
                      how_to_give_masks));
}

// Warns of experts that receive no rows, and if the saved model is older than changes of its experts.
std::optional<ExpertUse> use_of_experts(const FitResult& result, const Table& trained_on,
                                        const Notes& notes) {
  if (trained_on.cubes) return std::nullopt;
  const Table rows = even_rows(trained_on, most_rows_to_measure);
  if (const std::string warning = unused_experts_warning(result.model, rows); !warning.empty())
    notes(Severity::warning, warning);
  if (result.structure.empty()) return std::nullopt;
  ExpertUse use = expert_use_of(result, rows_per_expert(result.model, rows), rows.rows());
  if (const std::string later = saved_before_changes(use); !later.empty())
    notes(use.precedes_all_changes() ? Severity::warning : Severity::info, later);
  return use;
}

PortValues train_model(const CardContext& context) {
  const auto settings = settings_of<TrainSettings>(context.config);
  const Notes notes = [&context](Severity severity, const std::string& message) {
    context.listener.note(severity, message);
  };
  tell_of_gpu_mode(settings.fit.gpu, notes);
  const auto& spec = input<ModelSpec>(context, "model_spec");
  const Table training =
      trainable_rows(input<Table>(context, "train_dataset"), spec, settings.preparation, notes);
  const FitRequest request{.training = training,
                           .spec = spec,
                           .preparation = settings.preparation,
                           .config = settings.fit,
                           .checkpoints = context.checkpoints,
                           .resume = context.resume};
  for (const Table& test : context.tables_to_evaluate) {
    refuse_unusable_targets(test, training, settings.preparation);
    if (training.cubes) look_at_cubes_to_evaluate(test, spec, notes);
  }
  const FitResult result = fit(request, context.listener, context.stop);
  context.work_returned();
  const Traced measuring(TraceKind::training, "measuring on training rows");
  const Table trained_on = rows_of_kept_model(training, settings.fit.walk_forward);
  const Evaluation on_training_rows = measured_on(result.model, trained_on);
  const std::optional<ExpertUse> expert_use = use_of_experts(result, trained_on, notes);
  return {{"trained_model", std::make_shared<const Model>(result.model)},
          {"train_metrics", std::make_shared<const nlohmann::json>(
                                training_report(result, trained_on.rows(), on_training_rows, expert_use))}};
}

// Both cards are this one; the device is a setting.
CardType train_card(const std::string& name, const std::string& title) {
  return {.name = name,
          .version = 8,
          .title = title,
          .help =
              "Trains the model on the rows: values are imputed, encoded and scaled as fitted on the "
              "training rows, and the best weights are kept. train and train_gpu are the same card; the "
              "setting device decides "
              "where it runs.",
          .inputs = {{"train_dataset", PortType::table, "Rows to train on", Rows::trained_on},
                     {"model_spec", PortType::model_spec, "The model to train"}},
          .outputs = {{"trained_model", PortType::model, "The model with its preparation, ready to predict",
                       Keep::model},
                      {"train_metrics", PortType::report,
                       "How the training went, and how well the training rows fit", Keep::training}},
          .file_settings = {},
          .passing_settings = {"checkpoint_seconds", "keep_last", "keep_best", "tensorboard"},
          .column_settings = {"target_column", "feature_columns", "mask_column", "weight_column"},
          .first_settings = {"target_column", "feature_columns", "task", "device"},
          .describe = described<TrainSettings>,
          .check = check_training,
          .run = train_model,
          .training = settings_of<TrainSettings>};
}

}  // namespace

CardType train() {
  return train_card("train", "Train");
}

CardType train_gpu() {
  return train_card("train_gpu", "Train (GPU)");
}

}  // namespace stoker::cards
