#include <nlohmann/json.hpp>

#include "advise/measured_run.h"

namespace stoker::advise {
namespace {

using nlohmann::json;

json training_json(const MeasuredTraining& each) {
  return {{"card", each.card},
          {"model", each.model},
          {"engine", each.engine},
          {"device", each.device},
          {"placement", each.placement},
          {"precision", each.precision},
          {"end", each.end},
          {"batch_size", each.batch_size},
          {"rows", each.rows},
          {"parameters", each.parameters},
          {"steps", each.steps},
          {"planned_steps", each.planned_steps},
          {"planned_epochs", each.planned_epochs},
          {"ready_seconds", each.ready_seconds},
          {"loop_seconds", each.loop_seconds},
          {"step_seconds", each.pace.step_seconds},
          {"epoch_seconds", each.pace.epoch_seconds},
          {"has_seen_an_epoch", each.pace.has_seen_an_epoch},
          {"device_bytes", each.device_bytes}};
}

MeasuredTraining training_in(const json& told) {
  MeasuredTraining each;
  told.at("card").get_to(each.card);
  told.at("model").get_to(each.model);
  told.at("engine").get_to(each.engine);
  told.at("device").get_to(each.device);
  told.at("placement").get_to(each.placement);
  told.at("precision").get_to(each.precision);
  told.at("end").get_to(each.end);
  told.at("batch_size").get_to(each.batch_size);
  told.at("rows").get_to(each.rows);
  told.at("parameters").get_to(each.parameters);
  told.at("steps").get_to(each.steps);
  told.at("planned_steps").get_to(each.planned_steps);
  told.at("planned_epochs").get_to(each.planned_epochs);
  told.at("ready_seconds").get_to(each.ready_seconds);
  told.at("loop_seconds").get_to(each.loop_seconds);
  told.at("step_seconds").get_to(each.pace.step_seconds);
  told.at("epoch_seconds").get_to(each.pace.epoch_seconds);
  told.at("has_seen_an_epoch").get_to(each.pace.has_seen_an_epoch);
  told.at("device_bytes").get_to(each.device_bytes);
  return each;
}

}  // namespace

json to_json(const RunToMeasure& wanted) {
  return {{"document", wanted.document.string()},
          {"assignments", wanted.assignments},
          {"out", wanted.out.string()},
          {"use_cache", wanted.use_cache}};
}

RunToMeasure run_to_measure(const json& told) {
  RunToMeasure wanted;
  wanted.document = told.at("document").get<std::string>();
  told.at("assignments").get_to(wanted.assignments);
  wanted.out = told.at("out").get<std::string>();
  told.at("use_cache").get_to(wanted.use_cache);
  return wanted;
}

json to_json(const MeasuredRun& run) {
  json cards = json::array();
  for (const MeasuredCard& each : run.cards)
    cards.push_back(
        {{"id", each.id}, {"trains", each.trains}, {"reused", each.reused}, {"seconds", each.seconds}});
  json trainings = json::array();
  for (const MeasuredTraining& each : run.trainings) trainings.push_back(training_json(each));
  return {{"began", run.began},
          {"ended", run.ended},
          {"load_seconds", run.load_seconds},
          {"statistics_seconds", run.statistics_seconds},
          {"training_seconds", run.training_seconds},
          {"evaluation_seconds", run.evaluation_seconds},
          {"processor_seconds", run.processor_seconds},
          {"peak_bytes", run.peak_bytes},
          {"cards", cards},
          {"trainings", trainings},
          {"warnings", run.warnings}};
}

MeasuredRun measured_run(const json& told) {
  MeasuredRun run;
  told.at("began").get_to(run.began);
  told.at("ended").get_to(run.ended);
  told.at("load_seconds").get_to(run.load_seconds);
  told.at("statistics_seconds").get_to(run.statistics_seconds);
  told.at("training_seconds").get_to(run.training_seconds);
  told.at("evaluation_seconds").get_to(run.evaluation_seconds);
  told.at("processor_seconds").get_to(run.processor_seconds);
  told.at("peak_bytes").get_to(run.peak_bytes);
  for (const nlohmann::json& each : told.at("cards"))
    run.cards.push_back({each.at("id").get<std::string>(), each.at("trains").get<bool>(),
                         each.at("reused").get<bool>(), each.at("seconds").get<double>()});
  for (const nlohmann::json& each : told.at("trainings")) run.trainings.push_back(training_in(each));
  told.at("warnings").get_to(run.warnings);
  return run;
}

}  // namespace stoker::advise
