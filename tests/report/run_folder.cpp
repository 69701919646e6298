#include "report/run_folder.h"

#include <cmath>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/random.h"

namespace stoker::testing {

RunFolder::RunFolder() : paths_{folder_.path() / "2026-11-15_10-20-30_boston-housing"} {
  make_folder(paths_.folder);
  record_.name = "boston-housing";
  record_.status = RunStatus::finished;
  record_.started = "2026-11-15T10:20:30.123Z";
  record_.seconds = 64.2;
  record_.peak_memory_bytes = 345'000'000;
  record_.stoker_version = "0.1.0";
  record_.torch_version = "2.13.0";
  record_.cpu = "Neoverse-N1";
  record_.cores = 2;
  record_.cards = {{"load", "data_load", true, 0.012},
                   {"split", "data_split", true, 0.004},
                   {"train", "train_gpu", false, 61.3},
                   {"evaluate", "evaluate", false, 0.21}};
  record_.trainings = {
      {"train", "neural_network", "eager", "cpu", "host", "stopped_early", 50, 41, 62500, 12161, 60.9}};
  record_.results = {
      {"evaluate", 10'000, {{"r2", 0.98321}, {"rmse", 11.4271}, {"mae", 9.1034}, {"mse", 130.58}}}};
  save();
}

void RunFolder::write_document(const std::string& yaml) {
  write_file(paths_.document(), yaml);
}

void RunFolder::write_metrics(const std::vector<std::string>& cards, bool with_validation, double factor) {
  std::string text = "epoch,card,train_loss,validation_loss,learning_rate,seconds,rows_per_second\n";
  for (const std::string& card : cards) {
    for (int epoch = 0; epoch < 50; ++epoch) {
      const double loss = std::pow(factor, epoch) + 0.01;
      const double validation = loss * 0.9 + 0.0004 * (epoch - 40) * (epoch - 40) / 40;
      text += fmt::format("{},{},{},{},0.001,1.25,32000\n", epoch + 1, card, loss,
                          with_validation ? fmt::format("{}", validation) : "");
    }
  }
  write_file(paths_.metrics(), text);
}

void RunFolder::write_evaluation(const std::string& card, const Evaluation& evaluation) {
  make_folder(paths_.evaluations());
  write_file(paths_.evaluations() / (card + ".json"), evaluation.to_json().dump());
}

void RunFolder::write_experts(const std::string& card, const ExpertsRecord& experts) {
  make_folder(paths_.experts());
  write_file(paths_.experts() / (card + ".json"), to_json(experts).dump());
}

std::string RunFolder::report() const {
  return read_file(paths_.report(), 64U << 20);
}

Evaluation regression_of(const std::string& target) {
  Evaluation evaluation;
  evaluation.task = Task::regression;
  evaluation.rows = 10'000;
  evaluation.target = target;
  evaluation.metrics = {{"r2", 0.98321}, {"rmse", 11.4271}, {"mae", 9.1034}, {"mse", 130.58}};
  PredictedAgainstActual rows;
  const RandomKey key = random_key(1, Purpose::sample, 0);
  for (std::uint32_t row = 0; row < 2'000; ++row) {
    const double actual = 250 + 85 * normal(key, row);
    rows.actual.push_back(actual);
    rows.predicted.push_back(actual + 10 * normal(key, row + 2'000));
  }
  evaluation.charts.emplace_back(std::move(rows));
  return evaluation;
}

Evaluation classification_of(const std::string& target, const std::vector<std::string>& classes) {
  Evaluation evaluation;
  evaluation.task = classes.size() == 2 ? Task::binary : Task::multiclass;
  evaluation.target = target;
  evaluation.metrics = {
      {"accuracy", 0.9312}, {"macro_f1", 0.9298}, {"log_loss", 0.2113}, {"roc_auc", 0.9911}};
  ConfusionMatrix matrix{classes, {}};
  for (std::size_t actual = 0; actual < classes.size(); ++actual) {
    for (std::size_t predicted = 0; predicted < classes.size(); ++predicted)
      matrix.counts.push_back(actual == predicted
                                  ? 940 + static_cast<std::int64_t>(actual)
                                  : static_cast<std::int64_t>((actual * 7 + predicted * 3) % 11));
  }
  for (const std::int64_t count : matrix.counts) evaluation.rows += count;
  evaluation.charts.emplace_back(std::move(matrix));
  return evaluation;
}

ExpertsRecord mixture_of(std::size_t experts, const std::vector<std::string>& classes) {
  ExpertsRecord record;
  record.device = "cpu";
  record.steps = 160;
  record.steps_per_epoch = 10;
  record.top_k = 2;
  record.room = 32;
  record.parameters = 9'000;
  record.active_parameters = 3'000;
  record.classes = classes;
  record.events = {{20, "born", "expert 3 was born as a copy of expert 1"},
                   {30, "removed", "expert 2 was removed because <nobody> asked it"},
                   {40, "slept", "slept at step 40"}};
  for (std::int64_t number = 1; number <= 8; ++number) {
    ExpertsRecord::Moment moment;
    moment.step = 20 * number;
    moment.epoch = record.epoch_of(moment.step);
    moment.hesitation = number == 1 ? std::nan("") : 1.0 / static_cast<double>(number);
    for (std::size_t e = 0; e < experts; ++e) {
      const auto own = static_cast<std::int64_t>(e);
      ExpertsRecord::Node node{.number = own,
                               .parent = own == 3 ? 1 : -1,
                               .rows = static_cast<double>((e * 37 + 11) % 100),
                               .activations = 100.0 * static_cast<double>(e),
                               .specialisation = static_cast<double>(e % 5) / 4,
                               .adaptation_rate = 0.5,
                               .classes = {}};
      for (std::size_t c = 0; c < classes.size(); ++c)
        node.classes.push_back(c % experts == e ? 0.75 : 0.125);
      moment.nodes.push_back(std::move(node));
      if (e == 0) continue;
      moment.edges.push_back({own, own - 1, ExpertTie::similar, 0.75});
      moment.edges.push_back({own, 0, ExpertTie::follows, 0.5});
      moment.edges.push_back({own - 1, own, ExpertTie::specialises, 0.25});
    }
    record.moments.push_back(std::move(moment));
  }
  record.last = record.moments.back();
  return record;
}

}  // namespace stoker::testing
