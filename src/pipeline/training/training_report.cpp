#include "pipeline/training/training_report.h"

#include <nlohmann/json.hpp>

#include "pipeline/training/experts_report.h"
#include "predict/decide/out_of_fold.h"
#include "predict/measure/metrics.h"
#include "predict/measure/real_coefficients.h"
#include "store/record/stage_record.h"
#include "store/record/walk_forward_record.h"

namespace stoker {
namespace {

using nlohmann::json;

// A record is read whole to list a run; coefficients.csv has them all.
constexpr std::size_t most_recorded_coefficients = 500;
constexpr std::size_t longest_recorded_name = 200;

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

json real_coefficients_json(const Model& model) {
  json lines = json::array();
  for (const RealCoefficient& each : coefficients_in_real_units(model)) {
    lines.push_back({{"feature", each.feature}, {"coefficient", each.value}});
    if (!each.of_class.empty()) lines.back()["class"] = each.of_class;
    if (each.deviation) lines.back()["deviation"] = *each.deviation;
  }
  return lines;
}

void add_solution(json& report, const Model& model, const Solution& solution) {
  const std::span<const double> intercept = find_array(model.parameters, "intercept").as<double>();
  report["coefficients"] =
      coefficients_json(model, find_array(model.parameters, "coefficients").as<double>());
  report["intercept"] = intercept.size() == 1 ? json(intercept[0])
                                              : json(std::vector<double>(intercept.begin(), intercept.end()));
  report["real_coefficients"] = real_coefficients_json(model);
  if (model.alpha) report["alpha"] = *model.alpha;
  report["iterations"] = solution.iterations;
  report["path_alphas"] = solution.path_alphas;
  report["path_mean_errors"] = solution.path_mean_errors;
}

void add_ensemble(json& report, const Model& model) {
  report["members"] = model.members.size();
  if (family_of(model.network).is_solved()) report["real_coefficients"] = real_coefficients_json(model);
  for (const Model& member : model.members)
    if (member.alpha) report["alphas"].push_back(*member.alpha);
  const Evaluation evaluation = evaluate_out_of_fold(model);
  if (evaluation.metrics.empty()) return;
  json& part = report["out_of_fold"];
  part["rows"] = evaluation.rows;
  // A list, because an object would not keep the order in which people want the metrics.
  for (const auto& [name, value] : evaluation.metrics)
    part["metrics"].push_back({{"name", name}, {"value", value}});
}

void add_chosen(json& report, const std::vector<ChosenNumber>& chosen) {
  for (const ChosenNumber& each : chosen)
    report["chosen"].push_back({{"name", each.name},
                                {"value", each.value},
                                {"metric", each.metric},
                                {"before", each.before},
                                {"after", each.after},
                                {"rows", each.rows}});
}

// Of a network that was trained by itself.
void add_steps(json& report, const FitResult& result) {
  if (result.batch_size == 0) return;
  report["precision"] = config::name_of(result.precision);
  report["batch_size"] = result.batch_size;
  report["learning_rate"] = result.learning_rate;
  report["adjustments"] = result.adjustments;
  report["device_memory"] = {{"allocated", result.memory.allocated},
                             {"reserved", result.memory.reserved},
                             {"peak", result.memory.peak}};
  if (result.computing_share > 0) report["computing_share"] = result.computing_share;
  if (result.waiting_share > 0) report["waiting_share"] = result.waiting_share;
  if (result.gpu.readings > 0)
    report["gpu"] = {{"readings", result.gpu.readings},
                     {"busy", result.gpu.busy},
                     {"watts", result.gpu.watts},
                     {"megahertz", result.gpu.megahertz},
                     {"most_bytes", result.gpu.most_bytes}};
}

RunRecord::Training::Steps steps_of(const json& report) {
  if (!report.contains("batch_size")) return {};
  const json& memory = report.at("device_memory");
  RunRecord::Training::Steps steps{
      report.at("precision").get<std::string>(),   report.at("batch_size").get<std::int64_t>(),
      report.at("learning_rate").get<double>(),    report.at("adjustments").get<std::vector<std::string>>(),
      memory.at("allocated").get<std::uint64_t>(), memory.at("reserved").get<std::uint64_t>(),
      memory.at("peak").get<std::uint64_t>(),      report.value("computing_share", 0.0),
      report.value("waiting_share", 0.0),          {}};
  if (report.contains("gpu")) {
    const json& gpu = report.at("gpu");
    steps.gpu = {gpu.at("readings").get<std::int64_t>(), gpu.at("busy").get<double>(),
                 gpu.at("watts").get<double>(), gpu.at("megahertz").get<double>(),
                 gpu.at("most_bytes").get<std::uint64_t>()};
  }
  return steps;
}

std::vector<ChosenNumber> chosen_of(const json& report) {
  std::vector<ChosenNumber> chosen;
  if (!report.contains("chosen")) return chosen;
  for (const json& each : report.at("chosen"))
    chosen.push_back({each.at("name").get<std::string>(), each.at("value").get<double>(),
                      each.at("metric").get<std::string>(), number_from(each.at("before")),
                      number_from(each.at("after")), each.at("rows").get<std::int64_t>()});
  return chosen;
}

// What earlier versions kept in the cache has less.
void add_what_was_learnt(const json& report, RunRecord::Training& line) {
  line.target = report.value("target", "");
  line.task = report.value("task", "");
  line.rows = report.value("rows", std::int64_t{0});
  line.features = report.value("columns", std::int64_t{0});
  line.measured_rows = report.value("measured_rows", line.rows);
  if (report.contains("metrics")) {
    for (const Metric& metric : metrics_of_records())
      if (const auto found = report.at("metrics").find(metric.name); found != report.at("metrics").end())
        line.metrics.emplace_back(metric.name, number_from(*found));
  }
  for (const RunRecord::Coefficient& each : real_coefficients_of(report)) {
    if (line.coefficients.size() == most_recorded_coefficients) break;
    line.coefficients.push_back(each);
    line.coefficients.back().feature = each.feature.substr(0, longest_recorded_name);
    line.coefficients.back().of_class = each.of_class.substr(0, longest_recorded_name);
  }
}

}  // namespace

std::vector<RunRecord::Coefficient> real_coefficients_of(const json& report) {
  std::vector<RunRecord::Coefficient> coefficients;
  if (!report.contains("real_coefficients")) return coefficients;
  for (const json& line : report.at("real_coefficients")) {
    coefficients.push_back({line.at("feature").get<std::string>(), line.value("class", ""),
                            number_from(line.at("coefficient"))});
    if (line.contains("deviation")) coefficients.back().deviation = number_from(line.at("deviation"));
  }
  return coefficients;
}

json training_report(const FitResult& result, std::int64_t rows, const Evaluation& on_training_rows,
                     const std::optional<ExpertUse>& expert_use) {
  json report{{"model_type", result.model.type()},
              {"task", config::name_of(result.model.preparation.task())},
              {"target", result.model.preparation.target_column()},
              {"features", result.model.preparation.feature_names()},
              {"columns", result.model.preparation.column_names().size()},
              {"rows", rows},
              {"measured_rows", on_training_rows.rows},
              {"engine", result.engine},
              {"device", result.device},
              {"placement", result.placement},
              {"end", config::name_of(result.end)},
              {"best_epoch", result.best_epoch < 0 ? json() : json(result.best_epoch + 1)},
              {"steps", result.steps},
              {"seconds", result.seconds},
              {"parameters", parameter_count(result.model)}};
  if (result.checkpoints.taken > 0 || result.checkpoints.last_seconds > 0)
    report["checkpoints"] = {{"taken", result.checkpoints.taken},
                             {"seconds", result.checkpoints.seconds},
                             {"last_seconds", result.checkpoints.last_seconds}};
  for (const auto& [name, value] : on_training_rows.metrics) report["metrics"][name] = value;
  report["epochs"] = json::array();
  for (const EpochReport& epoch : result.epochs) report["epochs"].push_back(epoch_to_json(epoch, 1));
  if (!result.epochs.empty()) report["final_loss"] = result.epochs.back().record.train_loss;
  if (result.solution) add_solution(report, result.model, *result.solution);
  if (result.model.is_ensemble()) add_ensemble(report, result.model);
  add_chosen(report, result.chosen);
  add_steps(report, result);
  if (!result.structure.empty()) report["experts"] = to_json(experts_of(result));
  if (expert_use) report["expert_use"] = stoker::to_json(*expert_use);
  if (!result.stages.empty()) report["stages"] = stoker::to_json(result.stages);
  if (result.walk_forward) report["walk_forward"] = stoker::to_json(*result.walk_forward);
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
  if (report.contains("alphas")) line.alphas = report.at("alphas").get<std::vector<double>>();
  add_what_was_learnt(report, line);
  line.chosen = chosen_of(report);
  line.steps_taken = steps_of(report);
  if (report.contains("checkpoints")) {
    const json& cost = report.at("checkpoints");
    line.checkpoints = {cost.at("taken").get<std::int64_t>(), cost.at("seconds").get<double>(),
                        cost.at("last_seconds").get<double>()};
  }
  if (report.contains("members")) line.members = report.at("members");
  line.stages = stages_from(RecordPart(report, [&] { return card; }));
  if (report.contains("expert_use"))
    line.experts =
        expert_use_from(RecordPart(report.at("expert_use"), [&] { return card + ": expert_use"; }));
  if (report.contains("walk_forward"))
    line.walk_forward =
        walk_forward_from(RecordPart(report.at("walk_forward"), [&] { return card + ": walk_forward"; }));
  if (!report.contains("out_of_fold")) return line;
  const json& out_of_fold = report.at("out_of_fold");
  line.out_of_fold = {card, out_of_fold.at("rows"), {}};
  for (const json& each : out_of_fold.at("metrics"))
    line.out_of_fold.metrics.emplace_back(each.at("name"), each.at("value").get<double>());
  return line;
}

std::vector<EpochReport> epochs_of(const json& report) {
  std::vector<EpochReport> epochs;
  for (const json& line : report.at("epochs")) epochs.push_back(epoch_from_json(line, 1));
  return epochs;
}

bool ended_by_time_limit(const json& report) {
  return report.value("end", "") == config::name_of(TrainingEnd::time_limit);
}

}  // namespace stoker
