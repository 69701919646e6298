#include <algorithm>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "config/usual_bounds.h"
#include "pipeline/document/document.h"
#include "serve/access/allowed_sources.h"
#include "serve/access/client_words.h"
#include "serve/http/body.h"
#include "serve/jobs/job_description.h"
#include "serve/jobs/job_document.h"
#include "serve/jobs/job_events.h"
#include "serve/jobs/job_view.h"
#include "serve/jobs/new_job.h"
#include "serve/service.h"
#include "store/dataset_store.h"
#include "store/runs.h"
#include "train/loop/epoch_report.h"

namespace stoker::serve {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<std::string> columns_of(const std::string& id, config::Diagnostics& diagnostics) {
  DatasetStore store;
  std::vector<std::string> columns;
  if (!store.is_known(id)) {
    diagnostics.add(0, "config.dataset_ids", no_such_dataset(id));
    return columns;
  }
  for (const auto& [name, type] : store.find_known(id).columns) columns.push_back(name);
  return columns;
}

struct JobRequest {
  std::string job_name;
  config::Value config;
  config::Value document;
  std::int64_t priority = 0;
  double time_limit = 0;
  std::string card;
};

config::Fields fields(JobRequest& r) {
  return {
      config::field("job_name", r.job_name, "For people"),
      config::field("config", r.config, "Settings of a training"),
      config::field("document", r.document, "A whole document, as a map or as text, in place of config"),
      config::field("priority", r.priority, "Jobs with more are started first").within(-1000, 1000),
      config::field("time_limit", r.time_limit, "Seconds after which it is stopped; 0: none")
          .within(0, config::most_seconds),
      config::field("card", r.card, "Run this card of the document and what it needs"),
  };
}

json request_schema() {
  JobRequest usual;
  TrainingSettings settings;
  json schema = config::json_schema(fields(usual));
  json of_training = config::json_schema(fields(settings));
  of_training["title"] = "TrainingSettings";
  schema["title"] = "JobRequest";
  schema["properties"]["config"] = std::move(of_training);
  schema["properties"]["document"]["type"] = {"object", "string"};
  schema["oneOf"] = json::array({{{"required", {"config"}}}, {{"required", {"document"}}}});
  return schema;
}

JobRecord job_of(Service& service, const Call& call) {
  const config::Value body = body_with_document(call);
  const auto request = body_as<JobRequest>(body);
  if (request.config.is_null() == request.document.is_null())
    refuse("a job takes either config, the settings of a training, or document, a whole pipeline");
  NewJob asked{request.job_name, request.card, request.priority, request.time_limit, config::to_json(body)};
  if (!request.document.is_null())
    return job_to_run(service, call.caller, read_document(request.document, "document", service.folder()),
                      asked);
  const std::string name = request.job_name.empty() ? "training" : request.job_name;
  const Document document = document_of_job(request.config, name, service.folder(), columns_of, asked.notes);
  return job_to_run(service, call.caller, document, asked);
}

std::vector<JobState> states_in(const std::string& text) {
  std::vector<JobState> states;
  if (text.empty()) return states;
  const auto& names = config::names<JobState>;
  for (const std::string& name : split_text(text, ',')) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end())
      throw HttpError(400, fmt::format("state: there is no state '{}'; they are {}", printable(name),
                                       join(std::vector<std::string>(names.begin(), names.end()), ", ")));
    states.push_back(static_cast<JobState>(found - names.begin()));
  }
  return states;
}

Response list_jobs(Service& service, Call& call) {
  JobFilter filter;
  filter.states = states_in(call.text("state"));
  filter.name_contains = call.text("name");
  filter.owner = call.text("owner");
  filter.dataset = call.text("dataset");
  filter.stored_document = call.text("document");
  constexpr std::int64_t most_jobs_of_a_page = 500;
  filter.limit = call.number("limit", 50, 1, most_jobs_of_a_page);
  if (call.request.query.contains("before")) filter.before = call.number("before", 0, 0, INT64_MAX);
  json jobs = json::array();
  std::int64_t last = 0;
  for (const JobRecord& job : service.jobs().list(filter)) {
    jobs.push_back(job_view(service, job, false));
    last = job.number;
  }
  json answer{{"total", service.jobs().count(filter)}};
  if (jobs.size() == static_cast<std::size_t>(filter.limit) && last > 1) answer["next"] = last;
  answer["jobs"] = std::move(jobs);
  return json_response(answer);
}

Response events_of(Service& service, Call& call) {
  const JobRecord job = job_named(service, call.part("id"));
  const std::string_view last = call.request.header("last-event-id");
  const std::string from = last.empty() ? call.text("from") : std::string(last);
  const auto place = from.empty() ? EventPlace() : EventPlace::from(from);
  if (!place) throw HttpError(400, "Last-Event-ID is not the id of an event of a job");
  Response response;
  response.type = "text/event-stream";
  response.stream = std::make_unique<JobEvents>(job.id, *place, service.queue(), service.jobs());
  return response;
}

Response metrics_of(Service& service, Call& call) {
  const JobRecord job = job_named(service, call.part("id"));
  const fs::path file = RunPaths{service.queue().run_folder_of(job)}.metrics();
  json epochs = json::array();
  std::ifstream lines(file);
  std::string line;
  std::getline(lines, line);  // the names
  while (std::getline(lines, line)) {
    try {
      const auto [card, epoch] = epoch_from_line(line);
      json each = epoch_event(epoch);
      each["card"] = card;
      epochs.push_back(std::move(each));
    } catch (const Error&) {
      continue;  // cut short by a process that was killed
    }
  }
  return json_response({{"id", job.id}, {"epochs", std::move(epochs)}});
}

Response log_of(Service& service, Call& call) {
  const JobRecord job = job_named(service, call.part("id"));
  Response response;
  response.type = "text/plain; charset=utf-8";
  const auto lines = static_cast<std::size_t>(call.number("lines", 200, 1, 100'000));
  response.body =
      without_folder(last_lines(service.queue().folder_of(job.id).log(), lines), service.config().data);
  return response;
}

Response remove_job(Service& service, Call& call) {
  for (const ModelRecord& model : service.models().of_job(call.part("id")))
    if (const auto names = service.models().names_of(model.id); !names.empty())
      throw Conflict(fmt::format("the model of job {} is deployed as {}; withdraw it first", call.part("id"),
                                 join(names, ", ")));
  const auto freed = service.queue().remove(call.part("id"));
  if (!freed) return json_response({{"id", call.part("id")}, {"state", "running"}, {"asked", "delete"}}, 202);
  return json_response({{"id", call.part("id")}, {"freed_bytes", *freed}, {"freed", human_bytes(*freed)}});
}

}  // namespace

std::vector<Route> job_routes(Service& service) {
  const std::string base = "/api/training/jobs";
  const auto on_job = [&](JobRecord (JobQueue::*what)(const std::string&)) {
    return [&service, what](Call& call) {
      return json_response(job_view(service, (service.queue().*what)(call.part("id")), true), 202);
    };
  };
  const json body = request_schema();
  return {
      {"POST",
       base,
       "createJob",
       "Put a training job into the queue",
       Access::user,
       [&service](Call& call) {
         JobRecord job = job_of(service, call);
         service.queue().submit(job);
         return json_response(job_view(service, job, true), 201);
       },
       {},
       body,
       {"application/json"},
       {{201, "The job", job_schema()}, {400, "No JSON"}, {422, "What is wrong with it"}},
       1 << 20,
       false,
       job_example()},
      {"GET",
       base,
       "listJobs",
       "List jobs, newest first",
       Access::viewer,
       [&service](Call& call) { return list_jobs(service, call); },
       {{"state", "States, separated by commas"},
        {"name", "Part of the name"},
        {"owner", "Name of the token that asked for it"},
        {"dataset", "An id that it reads"},
        {"document", "The id of the stored document that it runs"},
        {"limit", "At most so many", {{"type", "integer"}, {"minimum", 1}, {"maximum", 500}}},
        {"before",
         "`next` of the page before",
         {{"type", "integer"}, {"minimum", 0}, {"maximum", INT64_MAX}}}},
       nullptr,
       {},
       {{200, "Jobs", job_list_schema()}, {400, "A parameter is wrong"}}},
      {"GET",
       base + "/{id}",
       "showJob",
       "Show a job",
       Access::viewer,
       [&service](Call& call) {
         return json_response(job_view(service, job_named(service, call.part("id")), true));
       },
       {},
       nullptr,
       {},
       {{200, "The job", job_schema()}, {404, "There is none"}}},
      {"DELETE",
       base + "/{id}",
       "deleteJob",
       "Delete a job with its files",
       Access::user,
       [&service](Call& call) { return remove_job(service, call); },
       {},
       nullptr,
       {},
       {{200, "What was freed", job_removal_schema()},
        {202, "It ends first", job_late_removal_schema()},
        {404, "There is none"},
        {409, "Not now"}}},
      {"POST",
       base + "/{id}/cancel",
       "cancelJob",
       "Cancel a job",
       Access::user,
       [&service](Call& call) {
         const JobRecord job = service.queue().cancel(call.part("id"), call.caller.name);
         return json_response(job_view(service, job, true), 202);
       },
       {},
       nullptr,
       {},
       {{202, "The job", job_schema()}, {404, "There is none"}, {409, "Its state does not allow it"}}},
      {"POST",
       base + "/{id}/pause",
       "pauseJob",
       "Pause a job: a checkpoint, then its process ends",
       Access::user,
       on_job(&JobQueue::pause),
       {},
       nullptr,
       {},
       {{202, "The job", job_schema()}, {404, "There is none"}, {409, "Its state does not allow it"}}},
      {"POST",
       base + "/{id}/resume",
       "resumeJob",
       "Go on with a job from its checkpoint",
       Access::user,
       on_job(&JobQueue::resume),
       {},
       nullptr,
       {},
       {{202, "The job", job_schema()}, {404, "There is none"}, {409, "Its state does not allow it"}}},
      {"GET",
       base + "/{id}/metrics",
       "jobMetrics",
       "Losses and rates, epoch by epoch",
       Access::viewer,
       [&service](Call& call) { return metrics_of(service, call); },
       {},
       nullptr,
       {},
       {{200, "Epochs", job_epochs_schema()}, {404, "There is none"}}},
      {"GET",
       base + "/{id}/log",
       "jobLog",
       "The last lines of what its process said",
       Access::viewer,
       [&service](Call& call) { return log_of(service, call); },
       {{"lines", "At most so many", {{"type", "integer"}, {"minimum", 1}, {"maximum", 100000}}}},
       nullptr,
       {},
       {{200, "Lines", {{"type", "string"}}, "text/plain"},
        {400, "A parameter is wrong"},
        {404, "There is none"}}},
      {"GET",
       base + "/{id}/events",
       "jobEvents",
       "What happens to it, as server-sent events",
       Access::viewer,
       [&service](Call& call) { return events_of(service, call); },
       {{"Last-Event-ID", "Go on behind this event", {{"type", "string"}}, "header"},
        {"from", "The same, where no header can be set"}},
       nullptr,
       {},
       {{200, "Events", job_event_schema(), "text/event-stream"},
        {400, "No such event"},
        {404, "There is none"}}},
  };
}

}  // namespace stoker::serve
