#include "train/choose/auto_device.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text/text.h"

namespace stoker {
namespace {

constexpr double shortest_training = 10;
constexpr double share_to_measure = 0.02;
constexpr double longest_trial = 0.5;  // more does not make a step known any better
// The first, which comes with getting ready, and three to go by.
constexpr double fewest_steps = 4;

double seconds_on_gpu(const OpenDevice& open, std::span<const StepFigures> figures) {
  const double predicted =
      open.on_gpu.ready_seconds + static_cast<double>(open.steps) * open.on_gpu.step_seconds;
  const double seconds = known_seconds(open.gpu, figures, open.steps).value_or(predicted);
  return open.time_limit > 0 ? std::min(seconds, open.time_limit) : seconds;
}

struct Untried {
  Device device;
  double least_seconds = 0;  // that measuring it takes
  double seconds = 0;        // that it may take
};

// Within so many seconds, which they share. The GPU comes first: where it has no engine without LibTorch,
// there is nothing to compare. None where there is too little time for one of them.
std::vector<Untried> devices_to_try(const OpenDevice& open, std::span<const StepFigures> figures,
                                    double seconds) {
  const auto least = [](const PredictedWay& way) {
    return way.ready_seconds + fewest_steps * way.step_seconds;
  };
  std::vector<Untried> all{{open.gpu, least(open.on_gpu)}, {Device::cpu(), least(open.on_cpu)}};
  std::erase_if(
      all, [&](const Untried& each) { return known_seconds(each.device, figures, open.steps).has_value(); });
  for (Untried& each : all) {
    const double share = seconds / static_cast<double>(all.size());
    if (each.least_seconds > share) return {};
    each.seconds = std::min(share, std::max(longest_trial, 2 * each.least_seconds));
  }
  return all;
}

std::vector<Untried> devices_to_try(const OpenDevice& open, std::span<const StepFigures> figures) {
  const double training = seconds_on_gpu(open, figures);
  if (training <= shortest_training) return {};
  return devices_to_try(open, figures, share_to_measure * training);
}

double seconds_of(std::span<const Untried> untried) {
  double seconds = 0;
  for (const Untried& each : untried) seconds += each.seconds;
  return seconds;
}

std::string text_of_gpu(const OpenDevice& open, std::span<const StepFigures> figures) {
  const std::optional<double> gpu = known_seconds(open.gpu, figures, open.steps);
  const std::optional<double> cpu = known_seconds(Device::cpu(), figures, open.steps);
  if (!gpu || !cpu)
    return fmt::format("training on {}: whether the CPU is faster could not be measured in time",
                       open.gpu_model);
  return fmt::format(
      "training on {}: as measured on this machine, this training takes {} there and {} on the CPU",
      open.gpu_model, human_seconds(*gpu), human_seconds(*cpu));
}

}  // namespace

double seconds_to_measure(const OpenDevice& open, std::span<const StepFigures> figures) {
  return seconds_of(devices_to_try(open, figures));
}

DeviceChoice choose_known_device(const OpenDevice& open, std::span<const StepFigures> figures) {
  DeviceChoice choice;
  const Notes telling = [&](Severity, const std::string& message) { choice.told = message; };
  choice.device = device_by_figures(open.gpu, figures, open.steps, telling);
  return choice;
}

DeviceChoice choose_open_device(const OpenDevice& open, std::vector<StepFigures> figures,
                                const Trials& trials) {
  const std::vector<Untried> untried = devices_to_try(open, figures);
  if (untried.empty()) return choose_known_device(open, figures);
  const double began = trials.clock();
  std::vector<StepFigures> measured;
  bool is_possible = true;
  for (const Untried& each : untried) {
    const double left = seconds_of(untried) - (trials.clock() - began);
    if (left < each.least_seconds) break;
    Trial trial = trials.measure(each.device, std::min(left, each.seconds));
    is_possible = trial.is_possible;
    if (!trial.figures) break;
    figures.push_back(*trial.figures);
    measured.push_back(std::move(*trial.figures));
  }
  DeviceChoice choice = choose_known_device(open, figures);
  choice.measured = std::move(measured);
  if (!is_possible) return choice;
  if (choice.told.empty()) choice.told = text_of_gpu(open, figures);
  choice.told += fmt::format(" (measuring took {})", human_seconds(trials.clock() - began));
  return choice;
}

}  // namespace stoker
