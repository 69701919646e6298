#include "sweep/score.h"

#include <cmath>

#include "base/error.h"
#include "predict/measure/evaluate.h"
#include "train/choose/choose_decision.h"

namespace stoker {
namespace {

constexpr std::size_t most_points = 200;

// The loss of the weights that count: the best, or the last.
std::optional<double> validation_loss(const Progress& progress, bool keeps_best) {
  std::optional<double> loss;
  for (const EpochReport& epoch : progress.epochs)
    if (!keeps_best || epoch.record.is_best || !loss) loss = epoch.record.validation_loss;
  return loss;
}

double metric_of(const Model& model, const Table& rows, const std::string& name) {
  const Metric& metric =
      name == loss_of_training ? loss_metric(model.preparation.task()) : *find_metric(name);
  if (const auto value = evaluate(model, rows, no_notes(), {&metric, 1}).metric(metric.name)) return *value;
  fail("the metric {} cannot be computed on these rows: a class is absent, or there are too many",
       metric.name);
}

void keep_score(std::optional<double> score, Training& training) {
  if (score && std::isfinite(*score)) {
    training.score = score;
  } else if (score) {
    training.end = MemberEnd::diverged;
    training.reason = fmt::format("its score is {}", *score);
  }
}

void keep_curve(const Progress& progress, Training& training) {
  const std::size_t step = progress.epochs.size() / most_points + 1;
  for (std::size_t i = 0; i < progress.epochs.size(); ++i) {
    if (i % step != 0 && i + 1 != progress.epochs.size()) continue;
    const EpochRecord& epoch = progress.epochs[i].record;
    training.curve_epochs.push_back(epoch.epoch + 1);
    training.training.push_back(epoch.train_loss);
    training.validation.push_back(epoch.validation_loss.value_or(std::nan("")));
  }
}

}  // namespace

void score_network(const PreparedTraining& prepared, const MemberResult& trained, bool keeps_best,
                   const std::string& metric, Training& training) {
  keep_curve(trained.progress, training);
  if (metric == loss_of_training) {
    keep_score(validation_loss(trained.progress, keeps_best), training);
    return;
  }
  const EngineRequest request =
      request_without_data(prepared.spec, prepared.rows->data.preparation, prepared.device);
  Model model{request.network, prepared.rows->data.preparation, trained.parameters};
  model.decision = given_decision(prepared.settings.fit.decision);
  keep_score(metric_of(model, prepared.rows->validation, metric), training);
}

void fit_and_score_solved(const PreparedTraining& prepared, const std::string& metric, const StopSignal& stop,
                          Training& training) {
  NobodyListens nobody;
  const FitRequest request{.training = prepared.rows->training,
                           .spec = prepared.spec,
                           .preparation = prepared.settings.preparation,
                           .config = prepared.settings.fit,
                           .checkpoints = {},
                           .resume = false};
  const FitResult fitted = fit(request, nobody, stop);
  training.engine = fitted.engine;
  training.seconds = fitted.seconds;
  training.complete = true;
  keep_score(metric_of(fitted.model, prepared.rows->validation, metric), training);
}

}  // namespace stoker
