#include "pipeline/training_report.h"

#include <nlohmann/json.hpp>

namespace stoker {
namespace {

using nlohmann::json;

std::string end_text(TrainingEnd end) {
  switch (end) {
    case TrainingEnd::finished:
      return "finished";
    case TrainingEnd::stopped_early:
      return "stopped_early";
    case TrainingEnd::time_limit:
      return "time_limit";
    case TrainingEnd::interrupted:
      return "interrupted";
  }
  return "";
}

json epoch_json(const EpochReport& epoch) {
  json line{{"epoch", epoch.record.epoch + 1}, {"train_loss", epoch.record.train_loss},
            {"is_best", epoch.record.is_best}, {"learning_rate", epoch.learning_rate},
            {"seconds", epoch.seconds},        {"rows_per_second", epoch.rows_per_second},
            {"validation_loss", json(nullptr)}};
  if (epoch.record.validation_loss) line["validation_loss"] = *epoch.record.validation_loss;
  return line;
}

// A diverged loss is NaN, which JSON writes as null.
double number_or_nan(const json& value) {
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

// One line for each column and, where there are several, each output.
json coefficients_json(const Model& model, std::span<const double> coefficients) {
  json lines = json::array();
  const std::vector<std::string> names = model.preparation.feature_names();
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    json line{{"feature", names.at(i % names.size())}, {"coefficient", coefficients[i]}};
    if (model.network.outputs > 1) line["class"] = model.preparation.classes().at(i / names.size());
    lines.push_back(std::move(line));
  }
  return lines;
}

void add_solution(json& report, const Model& model, const Solution& solution) {
  const std::span<const double> intercept = find_array(model.parameters, "intercept").as<double>();
  report["coefficients"] =
      coefficients_json(model, find_array(model.parameters, "coefficients").as<double>());
  report["intercept"] = intercept.size() == 1 ? json(intercept[0])
                                              : json(std::vector<double>(intercept.begin(), intercept.end()));
  if (model.alpha) report["alpha"] = *model.alpha;
  report["iterations"] = solution.iterations;
  report["path_alphas"] = solution.path_alphas;
  report["path_mean_errors"] = solution.path_mean_errors;
}

std::int64_t parameter_count(const Model& model) {
  std::int64_t count = 0;
  for (const NamedArray& each : model.parameters) count += each.array.size();
  return count;
}

}  // namespace

json training_report(const FitResult& result, const Evaluation& on_training_rows) {
  json report{{"model_type", result.model.type()},
              {"task", config::name_of(result.model.preparation.task())},
              {"target", result.model.preparation.target_column()},
              {"features", result.model.preparation.feature_names()},
              {"rows", on_training_rows.rows},
              {"engine", result.engine},
              {"device", result.device},
              {"placement", result.placement},
              {"end", end_text(result.end)},
              {"best_epoch", result.best_epoch < 0 ? json() : json(result.best_epoch + 1)},
              {"steps", result.steps},
              {"seconds", result.seconds},
              {"parameters", parameter_count(result.model)}};
  for (const auto& [name, value] : on_training_rows.metrics) report["metrics"][name] = value;
  report["epochs"] = json::array();
  for (const EpochReport& epoch : result.epochs) report["epochs"].push_back(epoch_json(epoch));
  if (!result.epochs.empty()) report["final_loss"] = result.epochs.back().record.train_loss;
  if (result.solution) add_solution(report, result.model, *result.solution);
  return report;
}

RunRecord::Training training_line(const json& report, const std::string& card) {
  const auto whole = [&](const char* name) {
    return report.at(name).is_null() ? std::int64_t{0} : report.at(name).get<std::int64_t>();
  };
  RunRecord::Training line{.card = card,
                           .model_type = report.at("model_type"),
                           .engine = report.at("engine"),
                           .device = report.at("device"),
                           .placement = report.at("placement"),
                           .end = report.at("end"),
                           .epochs = static_cast<std::int64_t>(report.at("epochs").size()),
                           .best_epoch = whole("best_epoch"),
                           .steps = report.at("steps"),
                           .parameters = report.at("parameters"),
                           .seconds = report.at("seconds")};
  if (report.contains("alpha")) line.alpha = report.at("alpha").get<double>();
  return line;
}

std::vector<EpochReport> epochs_of(const json& report) {
  std::vector<EpochReport> epochs;
  for (const json& line : report.at("epochs")) {
    EpochReport epoch;
    epoch.record.epoch = line.at("epoch").get<std::int64_t>() - 1;
    epoch.record.train_loss = number_or_nan(line.at("train_loss"));
    epoch.record.is_best = line.at("is_best");
    if (!line.at("validation_loss").is_null()) epoch.record.validation_loss = line.at("validation_loss");
    epoch.learning_rate = line.at("learning_rate");
    epoch.seconds = line.at("seconds");
    epoch.rows_per_second = line.at("rows_per_second");
    epochs.push_back(epoch);
  }
  return epochs;
}

bool ended_by_time_limit(const json& report) {
  return report.value("end", "") == end_text(TrainingEnd::time_limit);
}

}  // namespace stoker
