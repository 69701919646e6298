#include "train/fit/fit.h"

#include <utility>

#include "base/error.h"
#include "data/cubes/cubes.h"
#include "data/prepare/set_columns.h"
#include "train/choose/choose_decision.h"
#include "train/fit/fit_ensemble.h"
#include "train/fit/fit_network.h"
#include "train/fit/fit_solved.h"
#include "train/fit/walk_forward.h"
#include "train/stages/fit_stages.h"

namespace stoker {

namespace {

Notes notes_to(TrainingListener& listener) {
  return [&listener](Severity severity, const std::string& message) { listener.note(severity, message); };
}

// What is made for rows that each have one answer.
void refuse_for_cubes(const FitConfig& config) {
  if (config.stages.is_wanted()) refuse("stages are for classes of rows, and these are cubes");
  if (config.ensemble.is_wanted()) refuse("an ensemble averages answers of rows, and these are cubes");
  if (config.walk_forward.is_wanted()) refuse("walking forward is for rows in time, and these are cubes");
  if (config.decision.chooses() || config.decision.decision_threshold != Decision{}.threshold)
    refuse("a threshold for cubes is that of a decider among the nodes, such as BinaryDecider");
}

// A model, be it an ensemble.
FitResult fit_one(const FitRequest& given, TrainingListener& listener, const StopSignal& stop) {
  const Notes notes = notes_to(listener);
  FitRequest request = given;
  DecidedPreparation decided = decide_relative_to(given, fit_one, notes, stop);
  request.preparation = std::move(decided.preparation);
  request.config.time_limit = time_limit_after(given.config.time_limit, decided.seconds);
  if (request.config.stages.is_wanted()) return fit_stages(request, listener, notes, stop);
  if (request.config.ensemble.is_wanted()) return fit_ensemble(request, listener, notes, stop);
  return request.spec.is_solved() ? fit_solved(request, notes, stop)
                                  : fit_network(request, listener, notes, stop);
}

}  // namespace

DecidedPreparation decided_preparation(const FitRequest& request, const Notes& notes,
                                       const StopSignal& stop) {
  return decide_relative_to(request, fit_one, notes, stop);
}

Table trainable_rows(const Table& rows, const ModelSpec& spec, const PreparationConfig& preparation,
                     const Notes& notes) {
  if (spec.is_solved() || rows.rows() == 0) return rows;
  const InputForm form = form_of(family_of(spec), spec.settings);
  if (form.members_of_set == 0) return rows;
  return rows_with_members(rows, find_set(rows, preparation, form), preparation.missing_values, "train on",
                           notes);
}

FitResult fit(const FitRequest& request, TrainingListener& listener, const StopSignal& stop) {
  if (const std::string problem = problem_of_stages(request.config); !problem.empty()) refuse("{}", problem);
  // Before its columns are looked at, which say nothing of the cubes.
  if (request.spec.is_solved() || !form_of(family_of(request.spec), request.spec.settings).reads_cubes)
    refuse_cubes(request.training, "the model reads columns of numbers and texts");
  refuse_decision_without_rows(request.spec, request.config);
  if (request.training.cubes) refuse_for_cubes(request.config);
  if (!request.config.walk_forward.is_wanted()) return fit_one(request, listener, stop);
  return fit_walking_forward(request, fit_one, listener, stop);
}

}  // namespace stoker
