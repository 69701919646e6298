#include "advise/measurements.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/child_program.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "device/device.h"
#include "pipeline/training_card.h"

namespace stoker::advise {
namespace {

using nlohmann::json;

constexpr double least_window = 0.4;
constexpr double longest_window = 3;
// Left for what is made of it, and for the start and the end of this process itself.
constexpr double kept_back = 0.5;
// An engine whose steps take so many times as long as the fastest's is not worth a run.
constexpr double hopeless = 4;

// The time was over before it answered.
class OutOfTime : public Error {
 public:
  using Error::Error;
};

// The words of a process that could not even answer, such as one that the system ended.
std::string last_words(const ChildOutcome& child) {
  const std::vector<std::string> lines = split_text(child.errors, '\n');
  for (auto line = lines.rbegin(); line != lines.rend(); ++line)
    if (!line->empty()) return ": " + *line;
  return "";
}

json asked(const json& question, const Laboratory& laboratory, double* end_of_process = nullptr) {
  const ChildOutcome child =
      run_child({laboratory.program.string(), "advise", question_flag, question.dump()},
                std::filesystem::current_path(), {laboratory.until, &laboratory.stop}, [](pid_t) {});
  if (end_of_process != nullptr) *end_of_process = clock_seconds();
  if (laboratory.stop.reason() != StopReason::none)
    throw Error(ExitCode::interrupted, "interrupted; nothing was changed");
  if (!child.has_ended) throw OutOfTime(ExitCode::run_failed, "the time for measuring was over");
  json told = json::parse(child.output, nullptr, false);
  if (!told.is_object())
    fail("a process that measures ended with code {} and without an answer{}", child.exit_code,
         last_words(child));
  if (told.contains("error"))
    throw Error(static_cast<ExitCode>(told.at("code").get<int>()), told.at("error").get<std::string>(),
                told.at("is_of_machine").get<bool>() ? Cause::machine : Cause::request);
  return told;
}

json answered(const json& question, const StopSignal& stop) {
  if (question.at("kind") == "run") return to_json(measure_run(run_to_measure(question), stop));
  return to_json(measure_steps(steps_to_measure(question), stop));
}

// Everything that is measured of one document, in the order in which it tells most.
class Measuring {
 public:
  Measuring(const Question& question, std::function<void(const std::string&)> tell, const StopSignal& stop)
      : question_(question),
        tell_(std::move(tell)),
        laboratory_{own_program(), later(question.seconds - kept_back), stop},
        document_(load_pipeline(question.document, question.assignments)) {
    for (const Card& card : document_.cards)
      if (trains(card)) cards_.push_back(&card);
    if (cards_.empty())
      refuse("{}: nothing is trained in this document, so there is nothing to advise on",
             question.document.string());
  }

  Measurements all() {
    look_at_load();
    DeviceList list = list_devices();
    found_.no_cuda_because = list.no_cuda_because;
    found_.devices = one_of_each(std::move(list.devices));
    window_ = std::clamp((question_.seconds - 8) / (3.0 * static_cast<double>(found_.devices.size())),
                         least_window, longest_window);
    // The GPU first: it has what is more likely to be worth knowing.
    for (auto info = found_.devices.rbegin(); info != found_.devices.rend(); ++info)
      run_on(info->device.name());
    if (found_.runs.empty()) fail("{}", join(found_.left_out, "; "));
    for (const DeviceInfo& info : found_.devices) measure_steps_on(info.device.name());
    for (const DeviceInfo& info : found_.devices) run_other_engines(info.device.name());
    found_.seconds = question_.seconds - kept_back - seconds_left();
    return std::move(found_);
  }

 private:
  static Moment later(double seconds) {
    return now() + std::chrono::duration_cast<Moment::duration>(std::chrono::duration<double>(seconds));
  }

  // Before anything of ours adds to it.
  void look_at_load() {
    double average = 0;
    if (getloadavg(&average, 1) == 1) found_.load = average;
    found_.cores = cpu_cores();
  }

  // GPUs of one kind take the same time.
  static std::vector<DeviceInfo> one_of_each(std::vector<DeviceInfo> devices) {
    std::set<std::string> models;
    std::erase_if(devices, [&](const DeviceInfo& each) {
      return each.device.is_cuda() && !models.insert(each.model).second;
    });
    return devices;
  }

  double seconds_left() const { return std::chrono::duration<double>(laboratory_.until - now()).count(); }

  std::vector<std::string> assignments_for(const std::string& device, const std::string& engine,
                                           double window) const {
    std::vector<std::string> all = question_.assignments;
    for (const Card* card : cards_) {
      const std::string settings = "cards." + card->id + ".config.";
      all.push_back(settings + "device=" + device);
      all.push_back(settings + "engine=" + engine);
      all.push_back(settings + "placement=auto");
      const double limit = card->kind->training(card->config).fit.time_limit;
      const double share = window / static_cast<double>(cards_.size());
      if (limit == 0 || limit > share) all.push_back(fmt::format("{}time_limit={:.3f}", settings, share));
    }
    return all;
  }

  void leave_out(const std::string& what, const Error& error) {
    if (error.code() == ExitCode::interrupted) throw error;
    if (dynamic_cast<const OutOfTime*>(&error) != nullptr)
      found_.left_out.push_back(
          fmt::format("{}: not done within the {:.0f} s that measuring may take", what, question_.seconds));
    else
      found_.left_out.push_back(fmt::format("{}: {}", what, error.what()));
  }

  // What is wrong with the document or its data is wrong everywhere.
  void run_on(const std::string& device) {
    try {
      try_engine(device, "auto", window_);
    } catch (const Error& error) {
      if (error.code() == ExitCode::wrong_request && device == "cpu" && found_.runs.empty()) throw;
      leave_out(fmt::format("a run on {}", device), error);
    }
  }

  void try_engine(const std::string& device, const std::string& engine, double window) {
    tell_(fmt::format("a short run on {}{}", device,
                      engine == "auto" ? "" : fmt::format(" with the engine {}", engine)));
    TriedRun tried = try_run(
        {question_.document, assignments_for(device, engine, window), folder_.path(), true}, laboratory_);
    tried.device = device;
    tried.engine = engine;
    found_.runs.push_back(std::move(tried));
  }

  const TriedRun* run_of(const std::string& device) const {
    for (const TriedRun& each : found_.runs)
      if (each.device == device) return &each;
    return nullptr;
  }

  void measure_steps_on(const std::string& device) {
    const TriedRun* run = run_of(device);
    if (run == nullptr) return;
    tell_(fmt::format("steps on {}: engines, placements, batch sizes, precisions", device));
    // What it takes to get there, and one line that is slower than it looked.
    const double left =
        seconds_left() - 2 * (run->start_seconds + run->run.load_seconds + run->run.statistics_seconds) - 1.5;
    StepsToMeasure wanted{question_.document, question_.assignments, folder_.path() / ".cache", device,
                          std::min(5.0, left / static_cast<double>(found_.devices.size()))};
    if (wanted.seconds <= 0.1) {
      found_.left_out.push_back(fmt::format("steps on {}: there was no time left", device));
      return;
    }
    try {
      json question = to_json(wanted);
      question["kind"] = "steps";
      found_.steps.push_back(measured_steps(asked(question, laboratory_)));
      if (found_.steps.back().is_cut_short)
        found_.left_out.push_back(
            fmt::format("some ways to take steps on {}: there was no time left", device));
    } catch (const Error& error) {
      leave_out(fmt::format("steps on {}", device), error);
    }
  }

  // Of all trainings together; none where one of them cannot be taken so.
  static std::optional<double> seconds_with(const MeasuredSteps& steps, const std::string& engine) {
    double seconds = 0;
    for (const Work& work : steps.works) {
      if (work.is_solved) continue;
      const auto line = std::ranges::find_if(steps.lines, [&](const StepLine& each) {
        return each.card == work.card && each.engine == engine && each.is_as_written;
      });
      if (line == steps.lines.end() || !line->refusal.empty()) return std::nullopt;
      seconds += line->step_seconds * static_cast<double>(work.epochs * work.rows / work.batch_size);
    }
    return seconds;
  }

  bool has_run_with(const std::string& device, const std::string& engine) const {
    return std::ranges::any_of(found_.runs, [&](const TriedRun& each) {
      return each.device == device &&
             std::ranges::all_of(each.run.trainings, [&](const MeasuredTraining& training) {
               return training.engine == engine || training.planned_steps == 0;
             });
    });
  }

  void run_other_engines(const std::string& device) {
    for (const MeasuredSteps& steps : found_.steps) {
      if (steps.device != device) continue;
      double fastest = std::numeric_limits<double>::infinity();
      for (const char* engine : {"fused", "graph", "eager"})
        fastest = std::min(fastest, seconds_with(steps, engine).value_or(fastest));
      for (const char* engine : {"fused", "graph", "eager"}) {
        const std::optional<double> seconds = seconds_with(steps, engine);
        if (!seconds || *seconds > hopeless * fastest || has_run_with(device, engine)) continue;
        run_other_engine(device, engine);
      }
    }
  }

  void run_other_engine(const std::string& device, const std::string& engine) {
    const TriedRun* first = run_of(device);
    double loops = 0;
    for (const MeasuredTraining& each : first->run.trainings) loops += each.loop_seconds;
    const double around = first->seconds() - loops;
    const double window = std::min(window_, seconds_left() - 1.5 * around - 1);
    if (window < least_window) {
      found_.left_out.push_back(
          fmt::format("a run on {} with the engine {}: there was no time left", device, engine));
      return;
    }
    try {
      try_engine(device, engine, window);
    } catch (const Error& error) {
      leave_out(fmt::format("a run on {} with the engine {}", device, engine), error);
    }
  }

  const Question& question_;
  std::function<void(const std::string&)> tell_;
  Laboratory laboratory_;
  Document document_;
  std::vector<const Card*> cards_;
  TemporaryFolder folder_;
  Measurements found_;
  double window_ = 1;
};

}  // namespace

std::string answer(const std::string& question, const StopSignal& stop) {
  json told;
  try {
    told = throwing_errors([&] { return answered(json::parse(question), stop); });
  } catch (const Error& error) {
    told = {{"error", error.what()},
            {"code", static_cast<int>(error.code())},
            {"is_of_machine", error.cause() == Cause::machine}};
  }
  return told.dump(-1, ' ', false, json::error_handler_t::replace);
}

TriedRun try_run(const RunToMeasure& wanted, const Laboratory& laboratory) {
  json question = to_json(wanted);
  question["kind"] = "run";
  const double began = clock_seconds();
  double ended = 0;
  TriedRun tried;
  tried.run = measured_run(asked(question, laboratory, &ended));
  tried.start_seconds = std::max(0.0, tried.run.began - began);
  tried.end_seconds = std::max(0.0, ended - tried.run.ended);
  return tried;
}

Measurements measure(const Question& question, const std::function<void(const std::string&)>& tell,
                     const StopSignal& stop) {
  return Measuring(question, tell, stop).all();
}

}  // namespace stoker::advise
