#include <nlohmann/json.hpp>

#include "advise/advice.h"

namespace stoker::advise {
namespace {

using nlohmann::json;

json way_json(const Prediction& way) {
  return {{"device", way.device},
          {"engine", way.engine},
          {"placement", way.placement},
          {"predicted_seconds", way.seconds},
          {"predicted_training_seconds", way.training_seconds},
          {"predicted_seconds_of_all_epochs", way.all_steps_seconds},
          {"predicted_peak_bytes", way.peak_bytes},
          {"predicted_device_bytes", way.device_bytes},
          {"basis", way.is_measured ? "whole run"
                    : way.was_run   ? "short run"
                                    : "steps"}};
}

json change_json(const Change& change) {
  return {{"batch_size", change.batch_size},           {"precision", change.precision},
          {"predicted_seconds", change.seconds},       {"step_seconds", change.step_seconds},
          {"steps_per_epoch", change.steps_per_epoch}, {"changes_result", true}};
}

json gpu_json(const GpuEstimate& gpu) {
  return {{"name", gpu.name},
          {"estimated_seconds", gpu.seconds},
          {"estimated_training_seconds", gpu.training_seconds},
          {"estimated_step_seconds", gpu.step_seconds},
          {"pays", gpu.pays && gpu.has_room},
          {"has_room", gpu.has_room}};
}

template <class Each>
json list_of(const std::vector<Each>& values, json (*one)(const Each&)) {
  json list = json::array();
  for (const Each& each : values) list.push_back(one(each));
  return list;
}

json devices_json(const Measurements& found) {
  json devices = json::array();
  for (const DeviceInfo& each : found.devices)
    devices.push_back({{"device", each.device.name()}, {"model", each.model}, {"bytes", each.total_bytes}});
  return devices;
}

json impossible_json(const std::vector<Impossible>& all) {
  json list = json::array();
  for (const Impossible& each : all)
    list.push_back(
        {{"device", each.device}, {"engine", each.engine}, {"placement", each.placement}, {"why", each.why}});
  return list;
}

// The first that was opened; the others were measured behind it.
double libtorch_seconds_of(const Measurements& found) {
  for (const MeasuredSteps& each : found.steps)
    if (each.libtorch_seconds > 0) return each.libtorch_seconds;
  return 0;
}

// By device, since each is measured in a process of its own, which opens LibTorch anew.
json libtorch_by_device(const Measurements& found) {
  json seconds = json::object();
  for (const MeasuredSteps& each : found.steps) seconds[each.device] = each.libtorch_seconds;
  return seconds;
}

json works_json(const Measurements& found) {
  json works = json::array();
  if (found.steps.empty()) return works;
  for (const Work& each : found.steps.front().works)
    works.push_back({{"card", each.card},
                     {"model", each.family},
                     {"rows", each.rows},
                     {"parameters", each.parameters},
                     {"batch_size", each.batch_size},
                     {"epochs", each.epochs},
                     {"multiply_adds_per_step", demand_of(each).multiply_adds},
                     {"bytes_per_step", demand_of(each).bytes}});
  return works;
}

}  // namespace

json to_json(const Advice& advice) {
  json told = {{"devices", devices_json(advice.found)},
               {"measured_seconds", advice.found.seconds},
               {"machine_load", advice.found.load},
               {"is_steady", advice.is_steady()},
               {"libtorch_seconds", libtorch_seconds_of(advice.found)},
               {"libtorch_seconds_by_device", libtorch_by_device(advice.found)},
               {"is_solved", advice.is_solved},
               {"gpu_not_estimated", nullptr},
               {"trainings", works_json(advice.found)},
               {"recommended", way_json(advice.best)},
               {"as_written", nullptr},
               {"ways", list_of(advice.predictions.ways, way_json)},
               {"impossible", impossible_json(advice.predictions.impossible)},
               {"batches", list_of(advice.batches, change_json)},
               {"precisions", list_of(advice.precisions, change_json)},
               {"rule_of_thumb", nullptr},
               {"gpu_estimates", list_of(advice.gpus, gpu_json)},
               {"gpu_needed", nullptr},
               {"left_out", advice.found.left_out},
               {"sentences", sentences_of(advice)}};
  if (advice.found.devices.size() < 2 && !advice.not_estimated.empty())
    told["gpu_not_estimated"] = advice.not_estimated;
  told["recommended"]["times_as_written"] = advice.times_as_written();
  if (advice.as_written) told["as_written"] = way_json(*advice.as_written);
  if (advice.rule)
    told["rule_of_thumb"] = {{"says", advice.rule->says_gpu ? "gpu" : "cpu"},
                             {"disagrees", advice.rule->disagrees}};
  if (!advice.gpus.empty())
    told["gpu_needed"] = {{"is_estimate", true},
                          {"is_possible", advice.needed.is_possible},
                          {"step_seconds", advice.needed.step_seconds},
                          {"multiply_adds_per_second", advice.needed.products * 1e12},
                          {"bytes_per_second", advice.needed.bandwidth * 1e9}};
  return told;
}

}  // namespace stoker::advise
