#include "sweep/score.h"

#include <cmath>

#include "base/error.h"
#include "predict/evaluate.h"

namespace stoker {
namespace {

constexpr std::size_t most_points = 200;

class NobodyListens : public TrainingListener {
 public:
  void epoch_finished(const EpochReport&) override {}
  void advanced(std::int64_t, std::int64_t, double) override {}
  void note(Severity, const std::string&) override {}
};

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

void keep_score(std::optional<double> score, FoldResult& result) {
  if (score && std::isfinite(*score)) {
    result.score = score;
  } else if (score) {
    result.end = "diverged";
    result.reason = fmt::format("its score is {}", *score);
  }
}

void keep_curve(const Progress& progress, FoldResult& result) {
  const std::size_t step = progress.epochs.size() / most_points + 1;
  for (std::size_t i = 0; i < progress.epochs.size(); ++i) {
    if (i % step != 0 && i + 1 != progress.epochs.size()) continue;
    const EpochRecord& epoch = progress.epochs[i].record;
    result.curve_epochs.push_back(epoch.epoch + 1);
    result.training.push_back(epoch.train_loss);
    result.validation.push_back(epoch.validation_loss.value_or(std::nan("")));
  }
}

}  // namespace

void score_network(const Work& work, const MemberResult& trained, bool keeps_best, const std::string& metric,
                   FoldResult& result) {
  keep_curve(trained.progress, result);
  if (metric == loss_of_training) {
    keep_score(validation_loss(trained.progress, keeps_best), result);
    return;
  }
  const EngineRequest request = request_without_data(work.spec, work.rows->data.preparation, work.device);
  const Model model{request.network, work.rows->data.preparation, trained.parameters};
  keep_score(metric_of(model, work.rows->validation, metric), result);
}

void fit_and_score_solved(const Work& work, const std::string& metric, const StopSignal& stop,
                          FoldResult& result) {
  NobodyListens nobody;
  const FitRequest request{.training = work.rows->training,
                           .spec = work.spec,
                           .preparation = work.settings.preparation,
                           .config = work.settings.fit,
                           .checkpoints = {},
                           .resume = false};
  const FitResult fitted = fit(request, nobody, stop);
  result.engine = fitted.engine;
  result.seconds = fitted.seconds;
  result.complete = true;
  keep_score(metric_of(fitted.model, work.rows->validation, metric), result);
}

}  // namespace stoker
