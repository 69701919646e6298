#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/text.h"
#include "predict/measure/metrics.h"
#include "report/compare/compared_runs.h"
#include "serve/access/client_words.h"
#include "serve/api/run_answers.h"
#include "serve/http/schema.h"
#include "sweep/sweep.h"

namespace stoker::serve {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Nothing else can be the name of a run folder, and nothing in it leads elsewhere.
bool may_be_run(const std::string& id) {
  constexpr std::size_t longest = 200;
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  };
  return !id.empty() && id.size() <= longest && id.front() != '.' && std::ranges::all_of(id, is_plain);
}

// By names, where the command line tells of folders: where they lie is nobody's business here.
json without_places(const Service& service, json run) {
  const fs::path& data = service.config().data;
  for (const char* each : {"error", "warnings", "notes"}) {
    if (!run.contains(each)) continue;
    json& words = run[each];
    if (words.is_string()) words = without_folder(words.get<std::string>(), data);
    if (!words.is_array()) continue;
    for (json& word : words)
      if (word.is_string()) word = without_folder(word.get<std::string>(), data);
  }
  const bool can_go_on = run.contains("to_go_on");
  run.erase("folder");
  run.erase("to_go_on");
  run["can_go_on"] = can_go_on;
  if (run.contains("winner"))
    for (const char* each : {"run", "final_run"})
      if (run["winner"].contains(each))
        run["winner"][each] = fs::path(run["winner"][each].get<std::string>()).filename().string();
  return run;
}

json line_of_run(const Service& service, const ListedRun& run,
                 const std::map<std::string, std::string>& owners) {
  json line{{"run", run.id},
            {"name", run.record.name},
            {"status", status_name(run.record.status)},
            {"started", run.record.started},
            {"seconds", number_to_json(run.record.seconds)},
            {"results", json::array()},
            {"can_go_on", !run.to_go_on.empty()}};
  for (const RunRecord::Result& result : run.record.results) {
    json metrics = json::object();
    for (const auto& [name, value] : result.metrics) metrics[name] = number_to_json(value);
    line["results"].push_back(
        {{"card", result.card}, {"rows", result.rows}, {"metrics", std::move(metrics)}});
  }
  if (!run.record.error.empty()) line["error"] = without_folder(run.record.error, service.config().data);
  for (const std::string& name : {run.id, sweep_of_winner(run.id)})
    if (const auto owner = owners.find(name); owner != owners.end()) line["job"] = owner->second;
  return line;
}

Response list_runs_of(Service& service, Call& call) {
  RunPage page;
  constexpr std::int64_t most_runs_of_a_page = 200;
  page.limit = static_cast<std::size_t>(call.number("limit", 50, 1, most_runs_of_a_page));
  page.before = call.text("before");
  page.contains = call.text("name");
  const PageOfRuns found = page_of_runs(service.queue().runs(), page);
  std::vector<std::string> names;
  for (const ListedRun& run : found.runs) {
    names.push_back(run.id);
    if (std::string sweep = sweep_of_winner(run.id); !sweep.empty()) names.push_back(std::move(sweep));
  }
  const auto owners = service.jobs().owners_of(names);
  json runs = json::array();
  for (const ListedRun& run : found.runs) runs.push_back(line_of_run(service, run, owners));
  json answer{{"total", found.total}, {"runs", std::move(runs)}, {"damaged", found.damaged}};
  if (!found.next.empty()) answer["next"] = found.next;
  return json_response(answer);
}

Response show_run(Service& service, Call& call) {
  const fs::path folder = run_folder_named(service, call.part("id"));
  json view = without_places(service, whole_run_json(read_run(folder)));
  if (const std::string owner = owner_of_run(service, call.part("id")); !owner.empty()) view["job"] = owner;
  return json_response(view);
}

Response compare_runs(Service& service, Call& call) {
  constexpr std::size_t most_compared = 50;
  const std::vector<std::string> names = split_text(call.text("runs"), ',');
  if (names.size() < 2 || names.size() > most_compared)
    throw HttpError(400, fmt::format("runs: name 2 to {} runs, separated by commas", most_compared));
  std::vector<ListedRun> runs;
  for (const std::string& name : names) runs.push_back(read_run(run_folder_named(service, name)));
  json comparison = comparison_json(std::move(runs));
  for (json& run : comparison["runs"]) run = without_places(service, std::move(run));
  return json_response(comparison);
}

Response list_metrics() {
  json list = json::array();
  for (const Metric& metric : metrics_of_records())
    list.push_back({{"name", metric.name},
                    {"title", metric.title},
                    {"higher_is_better", metric.higher_is_better},
                    {"of_classes", !metric.is_for(Task::regression)}});
  for (const PixelMetric& metric : pixel_metrics())
    list.push_back(
        {{"name", metric.name}, {"title", metric.title}, {"higher_is_better", true}, {"of_classes", true}});
  return json_response({{"metrics", std::move(list)}});
}

json metrics_schema() {
  const json metric =
      schema::object("Metric", {{"name", schema::text("In records of runs: macro_f1")},
                                {"title", schema::text("For people: Macro F1")},
                                {"higher_is_better", schema::of_type("boolean", "")},
                                {"of_classes", schema::of_type("boolean", "Else of numbers")}});
  return schema::object("Metrics",
                        {{"metrics", schema::list_of(metric, "In the order in which people want them")}});
}

Response remove_run(Service& service, Call& call) {
  const std::string& id = call.part("id");
  const fs::path folder = run_folder_named(service, id);
  if (const std::string owner = owner_of_run(service, id); !owner.empty())
    throw Conflict(fmt::format("the run belongs to the job {}; delete that, and its runs go with it", owner));
  const ListedRun run = read_run(folder);
  if (run.record.status == RunStatus::running)
    throw Conflict(fmt::format("the run {} is still running; stop it first", id));
  const std::uint64_t freed = folder_bytes(folder);
  delete_run(run, false);
  return json_response({{"run", id}, {"freed_bytes", freed}, {"freed", human_bytes(freed)}});
}

}  // namespace

fs::path run_folder_named(Service& service, const std::string& id) {
  std::error_code none;
  const fs::path folder = service.queue().runs() / (may_be_run(id) ? id : "-");
  const bool is_run = may_be_run(id) && fs::is_directory(fs::symlink_status(folder, none)) &&
                      fs::is_regular_file(fs::symlink_status(RunPaths{folder}.record(), none));
  if (!is_run) throw NotFound(fmt::format("there is no run '{}'", printable(id)));
  return folder;
}

std::string owner_of_run(Service& service, const std::string& id) {
  const auto owners = service.jobs().owners_of({id, sweep_of_winner(id)});
  return owners.empty() ? "" : owners.begin()->second;
}

std::vector<Route> run_routes(Service& service) {
  const std::string base = "/api/runs";
  const auto with = [&service](Response (*what)(Service&, Call&)) {
    return [&service, what](Call& call) { return what(service, call); };
  };
  return {
      {"GET",
       base,
       "listRuns",
       "List runs, newest first by their names, which begin with the time",
       Access::viewer,
       with(list_runs_of),
       {{"limit", "At most so many", {{"type", "integer"}, {"minimum", 1}, {"maximum", 200}}},
        {"before", "`next` of the page before"},
        {"name", "Part of the run's name"}},
       nullptr,
       {},
       {{200, "Runs"}}},
      {"GET",
       base + "/compare",
       "compareRuns",
       "Metrics and differing settings of several runs",
       Access::viewer,
       with(compare_runs),
       {{"runs", "Their names, separated by commas; the first is what the others are held against"}},
       nullptr,
       {},
       {{200, "The comparison"},
        {400, "Too few or too many"},
        {404, "One is not there"},
        {422, "The record of one cannot be read"}}},
      {"GET",
       "/api/metrics",
       "listMetrics",
       "What models are measured by, and which way is better",
       Access::viewer,
       [](Call&) { return list_metrics(); },
       {},
       nullptr,
       {},
       {{200, "Metrics", metrics_schema()}}},
      {"GET",
       base + "/{id}",
       "showRun",
       "Show the record of a run",
       Access::viewer,
       with(show_run),
       {},
       nullptr,
       {},
       {{200, "The record"}, {404, "There is none"}, {422, "Its record cannot be read"}}},
      {"DELETE",
       base + "/{id}",
       "deleteRun",
       "Delete a run that no job owns, with its files",
       Access::user,
       with(remove_run),
       {},
       nullptr,
       {},
       {{200, "What was freed"},
        {404, "There is none"},
        {409, "A job owns it, or it is running"},
        {422, "Its record cannot be read"}}},
  };
}

}  // namespace stoker::serve
