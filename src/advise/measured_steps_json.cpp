#include <nlohmann/json.hpp>

#include "advise/measured_steps.h"

namespace stoker::advise {
namespace {

using nlohmann::json;

json work_json(const Work& each) {
  return {{"card", each.card},
          {"family", each.family},
          {"is_solved", each.is_solved},
          {"rows", each.rows},
          {"validation_rows", each.validation_rows},
          {"parameters", each.parameters},
          {"multiply_adds", each.multiply_adds},
          {"batch_size", each.batch_size},
          {"chooses_batch", each.chooses_batch},
          {"epochs", each.epochs},
          {"patience", each.patience},
          {"members", each.members},
          {"training_bytes", each.training_bytes},
          {"has_gpu_kernels", each.has_gpu_kernels}};
}

Work work_in(const json& told) {
  Work each;
  told.at("card").get_to(each.card);
  told.at("family").get_to(each.family);
  told.at("is_solved").get_to(each.is_solved);
  told.at("rows").get_to(each.rows);
  told.at("validation_rows").get_to(each.validation_rows);
  told.at("parameters").get_to(each.parameters);
  told.at("multiply_adds").get_to(each.multiply_adds);
  told.at("batch_size").get_to(each.batch_size);
  told.at("chooses_batch").get_to(each.chooses_batch);
  told.at("epochs").get_to(each.epochs);
  told.at("patience").get_to(each.patience);
  told.at("members").get_to(each.members);
  told.at("training_bytes").get_to(each.training_bytes);
  told.at("has_gpu_kernels").get_to(each.has_gpu_kernels);
  return each;
}

json line_json(const StepLine& each) {
  return {{"card", each.card},
          {"engine", each.engine},
          {"placement", each.placement},
          {"precision", each.precision},
          {"batch_size", each.batch_size},
          {"is_as_written", each.is_as_written},
          {"step_seconds", each.step_seconds},
          {"processor_seconds", each.processor_seconds},
          {"ready_seconds", each.ready_seconds},
          {"refusal", each.refusal}};
}

StepLine line_in(const json& told) {
  StepLine each;
  told.at("card").get_to(each.card);
  told.at("engine").get_to(each.engine);
  told.at("placement").get_to(each.placement);
  told.at("precision").get_to(each.precision);
  told.at("batch_size").get_to(each.batch_size);
  told.at("is_as_written").get_to(each.is_as_written);
  told.at("step_seconds").get_to(each.step_seconds);
  told.at("processor_seconds").get_to(each.processor_seconds);
  told.at("ready_seconds").get_to(each.ready_seconds);
  told.at("refusal").get_to(each.refusal);
  return each;
}

}  // namespace

json to_json(const StepsToMeasure& wanted) {
  return {{"document", wanted.document.string()},
          {"assignments", wanted.assignments},
          {"cache", wanted.cache.string()},
          {"device", wanted.device},
          {"seconds", wanted.seconds}};
}

StepsToMeasure steps_to_measure(const json& told) {
  StepsToMeasure wanted;
  wanted.document = told.at("document").get<std::string>();
  told.at("assignments").get_to(wanted.assignments);
  wanted.cache = told.at("cache").get<std::string>();
  told.at("device").get_to(wanted.device);
  told.at("seconds").get_to(wanted.seconds);
  return wanted;
}

json to_json(const MeasuredSteps& steps) {
  json works = json::array();
  for (const Work& each : steps.works) works.push_back(work_json(each));
  json lines = json::array();
  for (const StepLine& each : steps.lines) lines.push_back(line_json(each));
  return {{"device", steps.device},
          {"load_seconds", steps.load_seconds},
          {"prepare_seconds", steps.prepare_seconds},
          {"works", works},
          {"lines", lines},
          {"is_cut_short", steps.is_cut_short}};
}

MeasuredSteps measured_steps(const json& told) {
  MeasuredSteps steps;
  told.at("device").get_to(steps.device);
  told.at("load_seconds").get_to(steps.load_seconds);
  told.at("prepare_seconds").get_to(steps.prepare_seconds);
  for (const nlohmann::json& each : told.at("works")) steps.works.push_back(work_in(each));
  for (const nlohmann::json& each : told.at("lines")) steps.lines.push_back(line_in(each));
  told.at("is_cut_short").get_to(steps.is_cut_short);
  return steps;
}

}  // namespace stoker::advise
