#include "advise/measurements.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "advise/measured_json.h"
#include "advise/way.h"
#include "base/error.h"
#include "base/files/files.h"
#include "base/process/child_program.h"
#include "base/text/text.h"
#include "base/time/measure.h"
#include "device/device.h"
#include "model/family.h"
#include "pipeline/training/training_card.h"
#include "train/loop/loop.h"

namespace stoker::advise {
namespace {

using nlohmann::json;

constexpr double least_window = 0.4;
constexpr double longest_window = 3;
// Left for what is made of it, and for the start and the end of this process itself.
constexpr double kept_back = 0.5;
constexpr double quick_load = 1;
// From the rows to the first step, where no kernel is compiled.
constexpr double most_ready_seconds = 1;
// An engine whose steps take so many times as long as the fastest's is not worth a run.
constexpr double hopeless = 4;

// The time was over before it answered.
class OutOfTime : public Error {
 public:
  using Error::Error;
};

std::string text_of(const json& question) {
  try {
    return question.dump();
  } catch (const json::type_error&) {
    refuse("a setting given with --set, or TMPDIR, is not UTF-8, which no document can have");
  }
}

json asked(const std::filesystem::path& document, json question, const Laboratory& laboratory,
           double* end_of_process = nullptr) {
  question["asked_by"] = getpid();
  const ChildOutcome child = run_child(
      {laboratory.program.string(), "advise", question_flag, text_of(question), "--", document.string()},
      std::filesystem::current_path(), {laboratory.until, &laboratory.stop}, [](pid_t) {});
  if (end_of_process != nullptr) *end_of_process = clock_seconds();
  if (laboratory.stop.reason() != StopReason::none)
    throw Error(ExitCode::interrupted, "interrupted; nothing was changed");
  if (!child.has_ended) throw OutOfTime(ExitCode::run_failed, "the time for measuring was over");
  json told = json::parse(child.output, nullptr, false);
  if (!told.is_object())
    fail("a process that measures ended with code {} and without an answer; it said: {}", child.exit_code,
         last_words(child).empty() ? "nothing" : last_words(child));
  if (told.contains("error"))
    throw Error(static_cast<ExitCode>(told.at("code").get<int>()), told.at("error").get<std::string>(),
                told.at("is_of_machine").get<bool>() ? Cause::machine : Cause::request);
  return told;
}

json answered(const std::filesystem::path& document, const json& question, const StopSignal& stop) {
  end_with_parent(question.at("asked_by").get<pid_t>());
  if (question.contains("steps")) {
    auto wanted = question.at("steps").get<StepsToMeasure>();
    wanted.document = document;
    return measure_steps(wanted, stop);
  }
  if (question.contains("devices")) return {{"devices", list_devices().devices}};
  auto wanted = question.at("run").get<RunToMeasure>();
  wanted.document = document;
  return measure_run(wanted, stop);
}

// Everything that is measured of one document, in the order in which it tells most.
class Measuring {
 public:
  Measuring(const Question& question, std::function<void(const std::string&)> tell, const StopSignal& stop)
      : question_(question),
        tell_(std::move(tell)),
        laboratory_{own_program(), later_by(now(), question.seconds - kept_back), stop} {
    bool has_steps = false;
    for (const Card& card : question.document.cards) {
      if (!trains(card)) continue;
      cards_.push_back(&card);
      const std::optional<ModelSpec> spec = spec_to_train(question.document, card);
      if (!spec || spec->is_solved() || std::exchange(has_steps, true)) continue;
      found_.lacks_kernels = !no_gpu_because(family_of(*spec), spec->settings).empty();
    }
    if (cards_.empty())
      refuse("{}: nothing is trained in this document, so there is nothing to advise on",
             question.file.string());
  }

  Measurements all() {
    look_at_load();
    list_what_is_here();
    window_ = std::clamp((question_.seconds - 8) / (3.0 * static_cast<double>(found_.devices.size())),
                         least_window, longest_window);
    // The GPU first: it has what is more likely to be worth knowing.
    for (auto info = found_.devices.rbegin(); info != found_.devices.rend(); ++info)
      run_on(info->device.name());
    if (found_.runs.empty()) fail("{}{}", join(found_.left_out, "; "), told_of_whole_runs());
    for (const DeviceInfo& info : found_.devices) measure_steps_on(info.device.name());
    for (const DeviceInfo& info : found_.devices) run_other_engines(info.device.name());
    found_.seconds = question_.seconds - kept_back - seconds_left();
    return std::move(found_);
  }

 private:
  // Why it may have taken so long.
  std::string told_of_whole_runs() const {
    const bool is_cut = std::ranges::all_of(
        cards_, [&](const Card* card) { return is_to_be_cut(question_.document, *card, window_); });
    if (is_cut) return was_too_late_ ? ". Give more time with --seconds" : "";
    return ". A model that is solved, one that walks forward and one with a short time_limit are "
           "measured whole: give more time with --seconds";
  }

  // Before anything of ours adds to it.
  void look_at_load() {
    double average = 0;
    if (getloadavg(&average, 1) == 1) found_.load = average;
    found_.cores = cpu_cores();
  }

  // GPUs of one kind take the same time. A process of its own looks for them: as long as one has a GPU open,
  // others have less to begin with, and a run would take longer than it looks.
  void list_what_is_here() {
    std::map<std::string, std::string> by_model;
    const json told = asked(question_.file, {{"devices", true}}, laboratory_);
    for (DeviceInfo& each : told.at("devices").get<std::vector<DeviceInfo>>()) {
      const auto [first, is_new] = by_model.emplace(each.model, each.device.name());
      if (is_new || !each.device.is_cuda())
        found_.devices.push_back(std::move(each));
      else
        found_.twins[each.device.name()] = first->second;
    }
  }

  double seconds_left() const { return std::chrono::duration<double>(laboratory_.until - now()).count(); }

  std::vector<std::string> assignments_for(const Way& way, double window) const {
    std::vector<std::string> all = question_.assignments;
    for (std::string& each : assignments_of_way(question_.document, way)) all.push_back(std::move(each));
    for (std::string& each : assignments_of_cut(question_.document, window)) all.push_back(std::move(each));
    return all;
  }

  void leave_out(const std::string& what, const Error& error) {
    if (error.code() == ExitCode::interrupted) throw error;
    was_too_late_ = was_too_late_ || dynamic_cast<const OutOfTime*>(&error) != nullptr;
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

  // Then every run reads the rows itself, as one without the cache does: what that takes of time and memory
  // is measured, and not put together from several.
  bool is_quickly_read() const { return load_seconds_ < quick_load; }

  // Of one that is made again, at most.
  double seconds_without_compiling(const TriedRun& tried) const {
    const double training = tried.run.training_seconds;
    return tried.seconds() - training + std::min(training, window_ + most_ready_seconds);
  }

  void try_engine(const std::string& device, const std::string& engine, double window) {
    tell_(fmt::format("a short run on {}{}", device,
                      engine == "auto" ? "" : fmt::format(" with the engine {}", engine)));
    RunToMeasure wanted{question_.file, assignments_for({device, engine, "auto"}, window), folder_.path(),
                        !is_quickly_read()};
    TriedRun tried = try_run(wanted, laboratory_);
    load_seconds_ = std::max(load_seconds_, tried.run.load_seconds);
    if (tried.run.compiled_kernels && seconds_left() > 2 * seconds_without_compiling(tried)) {
      try {
        // It is like those to come, and trains anew what the first may have finished.
        wanted.use_cache = false;
        TriedRun again = try_run(wanted, laboratory_);
        found_.first_runs.push_back(std::exchange(tried, std::move(again)));
      } catch (const OutOfTime&) {
      }
    }
    tried.device = device;
    tried.engine = engine;
    for (MeasuredTraining& each : tried.run.trainings) {
      const Card& card = card_named(question_.document, each.card);
      each.time_limit = card.kind->training(card.config).fit.time_limit;
      each.was_cut = each.end == config::name_of(TrainingEnd::time_limit) &&
                     is_to_be_cut(question_.document, card, window);
    }
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
    StepsToMeasure wanted{
        question_.file,
        question_.assignments,
        folder_.path() / ".cache",
        device,
        std::min(std::max(5.0, question_.seconds / 4), left / static_cast<double>(found_.devices.size())),
        {}};
    for (const MeasuredTraining& each : run->run.trainings)
      wanted.chosen_batches[each.card] = each.batch_size;
    if (wanted.seconds <= 0.1) {
      found_.left_out.push_back(fmt::format("steps on {}: there was no time left", device));
      return;
    }
    try {
      found_.steps.push_back(asked(wanted.document, {{"steps", wanted}}, laboratory_).get<MeasuredSteps>());
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
  std::vector<const Card*> cards_;
  TemporaryFolder folder_;
  Measurements found_;
  double window_ = 1;
  bool was_too_late_ = false;
  double load_seconds_ = 0;  // the longest that a run took to read the rows
};

}  // namespace

std::string answer(const std::filesystem::path& document, const std::string& question,
                   const StopSignal& stop) {
  json told;
  try {
    told = throwing_errors([&] { return answered(document, json::parse(question), stop); });
  } catch (const Error& error) {
    told = {{"error", error.what()},
            {"code", static_cast<int>(error.code())},
            {"is_of_machine", error.cause() == Cause::machine}};
  }
  return told.dump(-1, ' ', false, json::error_handler_t::replace);
}

TriedRun try_run(const RunToMeasure& wanted, const Laboratory& laboratory) {
  const double began = clock_seconds();
  double ended = 0;
  TriedRun tried;
  tried.run = asked(wanted.document, {{"run", wanted}}, laboratory, &ended).get<MeasuredRun>();
  tried.start_seconds = std::max(0.0, tried.run.began - began);
  tried.end_seconds = std::max(0.0, ended - tried.run.ended);
  return tried;
}

Measurements measure(const Question& question, const std::function<void(const std::string&)>& tell,
                     const StopSignal& stop) {
  return Measuring(question, tell, stop).all();
}

}  // namespace stoker::advise
