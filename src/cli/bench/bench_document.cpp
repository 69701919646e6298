#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "advise/measurements.h"
#include "advise/way.h"
#include "base/error.h"
#include "base/files/files.h"
#include "base/process/child_program.h"
#include "base/text/text.h"
#include "base/time/measure.h"
#include "cli/bench/bench.h"
#include "cli/bench/busy_loops.h"
#include "cli/flags/commands_flag.h"
#include "cli/flags/number_range.h"
#include "cli/process/interrupt.h"
#include "cli/view/terminal.h"
#include "device/device.h"
#include "pipeline/training/training_card.h"

namespace stoker::cli {
namespace {

using advise::TriedRun;

// The parts of a run, in the order in which they follow each other.
struct PartOfRun {
  const char* name;
  double (*seconds)(const TriedRun& tried);
};

constexpr std::array parts_of_run{
    PartOfRun{"start", [](const TriedRun& tried) { return tried.start_seconds; }},
    PartOfRun{"load", [](const TriedRun& tried) { return tried.run.load_seconds; }},
    PartOfRun{"statistics", [](const TriedRun& tried) { return tried.run.statistics_seconds; }},
    PartOfRun{"training", [](const TriedRun& tried) { return tried.run.training_seconds; }},
    PartOfRun{"evaluation",
              [](const TriedRun& tried) { return tried.run.evaluation_seconds + tried.end_seconds; }},
};

MedianAndSpread over_runs(const std::vector<TriedRun>& runs,
                          const std::function<double(const TriedRun&)>& value) {
  std::vector<double> values;
  for (const TriedRun& each : runs) values.push_back(value(each));
  return median_and_spread(std::move(values));
}

MedianAndSpread seconds_of_runs(const std::vector<TriedRun>& runs) {
  return over_runs(runs, [](const TriedRun& each) { return each.seconds(); });
}

std::string text_of_trainings(const std::vector<TriedRun>& runs,
                              std::string advise::MeasuredTraining::*member) {
  std::vector<std::string> words;
  for (const advise::MeasuredTraining& each : runs.front().run.trainings)
    if (std::ranges::find(words, each.*member) == words.end()) words.push_back(each.*member);
  return join(words, ", ");
}

// By names that are here, the first of them being what others are compared with.
std::vector<std::string> devices_to_bench(const DocumentBenchOptions& options) {
  std::vector<std::string> names;
  std::vector<std::string> wanted = options.devices;
  if (wanted.empty())
    for (const DeviceInfo& info : list_devices().devices)
      if (wanted.size() < 2) wanted.push_back(info.device.name());
  for (const std::string& each : wanted) {
    const std::string name = choose_device(each, no_notes()).name();
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

std::vector<std::string> assignments_on(const DocumentBenchOptions& options, const Document& document,
                                        const std::string& device) {
  std::vector<std::string> all = options.assignments;
  for (std::string& each : advise::assignments_of_way(document, {device, "", ""}))
    all.push_back(std::move(each));
  return all;
}

nlohmann::json line_of_device(const std::string& device, const std::vector<TriedRun>& runs, double first) {
  const MedianAndSpread seconds = seconds_of_runs(runs);
  nlohmann::json line = {{"times", seconds.median / first},
                         {"device", device},
                         {"seconds", seconds.median},
                         {"spread", seconds.spread},
                         {"runs", runs.size()},
                         {"engine", text_of_trainings(runs, &advise::MeasuredTraining::engine)},
                         {"placement", text_of_trainings(runs, &advise::MeasuredTraining::placement)},
                         {"parts", nlohmann::json::object()}};
  for (const PartOfRun& part : parts_of_run)
    line["parts"][std::string(part.name) + "_seconds"] = over_runs(runs, part.seconds).median;
  line["processor_seconds"] =
      over_runs(runs, [](const TriedRun& each) { return each.run.processor_seconds; }).median;
  line["peak_bytes"] =
      over_runs(runs, [](const TriedRun& each) { return static_cast<double>(each.run.peak_bytes); }).median;
  return line;
}

void show_devices(const DocumentBenchOptions& options, const std::vector<nlohmann::json>& lines) {
  if (options.json) {
    for (const nlohmann::json& line : lines) print_data(line.dump() + "\n");
    return;
  }
  std::vector<std::vector<std::string>> rows{{"×", "s", "spread"}};
  for (const PartOfRun& part : parts_of_run) rows.front().push_back(part.name);
  for (const char* title : {"memory", "device", "engine", "placement"}) rows.front().emplace_back(title);
  for (const nlohmann::json& line : lines) {
    std::vector<std::string> row{fmt::format("{:.2f}", line.at("times").get<double>()),
                                 fmt::format("{:.3f}", line.at("seconds").get<double>()),
                                 fmt::format("{:.0f} %", 100 * line.at("spread").get<double>())};
    for (const PartOfRun& part : parts_of_run)
      row.push_back(
          fmt::format("{:.3f}", line.at("parts").at(std::string(part.name) + "_seconds").get<double>()));
    row.push_back(human_bytes(static_cast<std::uint64_t>(line.at("peak_bytes").get<double>())));
    for (const char* key : {"device", "engine", "placement"}) row.push_back(line.at(key).get<std::string>());
    rows.push_back(std::move(row));
  }
  print(aligned(rows));
}

// The document in turns without and with other processes on its cores, so that both halves of the ratio come
// from one run.
ExitCode bench_next_to_busy_loops(const DocumentBenchOptions& options, const std::string& device,
                                  const std::vector<std::string>& assignments,
                                  const advise::Laboratory& laboratory) {
  const TemporaryFolder folder;
  std::vector<TriedRun> alone;
  std::vector<TriedRun> next_to_others;
  for (int number = 0; number < options.runs; ++number) {
    alone.push_back(advise::try_run({options.document, assignments, folder.path(), false}, laboratory));
    const BusyLoops others(options.busy_loops);
    next_to_others.push_back(
        advise::try_run({options.document, assignments, folder.path(), false}, laboratory));
  }
  const auto cpu_seconds = [](const TriedRun& each) { return each.run.processor_seconds; };
  const double cpu_alone = over_runs(alone, cpu_seconds).median;
  std::vector<std::vector<std::string>> rows{{"busy loops", "× CPU time", "CPU s", "spread", "s"}};
  for (const auto* runs : {&alone, &next_to_others}) {
    const int loops = runs == &alone ? 0 : options.busy_loops;
    const MedianAndSpread cpu = over_runs(*runs, cpu_seconds);
    const double seconds = seconds_of_runs(*runs).median;
    if (options.json)
      print_data(nlohmann::json{{"busy_loops", loops},
                                {"times_cpu", cpu.median / cpu_alone},
                                {"processor_seconds", cpu.median},
                                {"spread", cpu.spread},
                                {"seconds", seconds},
                                {"device", device},
                                {"cores", cpu_cores()},
                                {"runs", runs->size()}}
                     .dump() +
                 "\n");
    rows.push_back({fmt::format("{}", loops), fmt::format("{:.2f}", cpu.median / cpu_alone),
                    fmt::format("{:.3f}", cpu.median), fmt::format("{:.0f} %", 100 * cpu.spread),
                    fmt::format("{:.3f}", seconds)});
  }
  if (!options.json) print(aligned(rows));
  return ExitCode::done;
}

}  // namespace

void add_document_bench(CLI::App& app, DocumentBenchOptions& options) {
  app.add_option("DOC", options.document,
                 "A pipeline document, to be run whole on each device; or the name of a workload");
  app.add_option(
         "--device", options.devices,
         "cpu, cuda or cuda:N; may be repeated, and others are compared with the first; with none, the "
         "CPU and the first GPU")
      ->allow_extra_args(false);
  app.add_option("--runs", options.runs, "Runs of the document on each device, whose median is reported")
      ->check(in_range(1, 1000))
      ->capture_default_str();
  app.add_option(
         "--busy-loops", options.busy_loops,
         "Compare the CPU time of the document with that next to so many processes that keep the cores "
         "busy; on the first device only")
      ->check(in_range(1, 1000));
  app.add_option("--set", options.assignments, "PATH=VALUE: change a setting first; may be repeated")
      ->allow_extra_args(false);
  add_commands_flag(app);
  app.add_flag("--json", options.json, "Print one JSON object per device, each on its own line");
}

ExitCode bench_document(const DocumentBenchOptions& options, const std::vector<std::string>& workloads) {
  if (options.document.empty())
    refuse("bench: what is to be measured? A document, or one of {} (see stoker bench --help)",
           join(workloads, ", "));
  if (!std::filesystem::exists(options.document))
    refuse("bench: {} is neither a document nor a workload ({}){}", options.document, join(workloads, ", "),
           did_you_mean(options.document, workloads));
  const Document document = load_pipeline(options.document, options.assignments);
  if (std::ranges::none_of(document.cards, trains))
    refuse("{}: nothing is trained in this document, so no device differs from another", options.document);
  StopSignal stop;
  const InterruptGuard guard(stop);
  const std::vector<std::string> devices = devices_to_bench(options);
  const advise::Laboratory laboratory{own_program(), later_by(now(), 7 * 86'400.0), stop};
  if (options.busy_loops > 0)
    return bench_next_to_busy_loops(options, devices.front(),
                                    assignments_on(options, document, devices.front()), laboratory);
  std::map<std::string, std::vector<TriedRun>> runs;
  const TemporaryFolder folder;
  for (int number = 0; number < options.runs; ++number)
    for (const std::string& device : devices)
      runs[device].push_back(advise::try_run(
          {options.document, assignments_on(options, document, device), folder.path(), false}, laboratory));
  std::vector<nlohmann::json> lines;
  const double first = seconds_of_runs(runs.at(devices.front())).median;
  for (const std::string& device : devices) lines.push_back(line_of_device(device, runs.at(device), first));
  show_devices(options, lines);
  return ExitCode::done;
}

}  // namespace stoker::cli
