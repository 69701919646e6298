#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/usual_bounds.h"
#include "report/sweep/sweep_contents.h"
#include "serve/http/body.h"
#include "serve/jobs/job_outcome.h"
#include "serve/jobs/job_view.h"
#include "serve/jobs/new_job.h"

namespace stoker::serve {
namespace {

using nlohmann::json;

struct SweepRequest {
  std::string job_name;
  config::Value document;
  std::int64_t priority = 0;
  double time_limit = 0;
};

config::Fields fields(SweepRequest& r) {
  return {
      config::field("job_name", r.job_name, "For people; empty: the document's name"),
      config::field("document", r.document, "The document with searched settings, as a map or as text")
          .required(),
      config::field("priority", r.priority, "Jobs with more are started first").within(-1000, 1000),
      config::field("time_limit", r.time_limit, "Seconds after which it is stopped; 0: none")
          .within(0, config::most_seconds),
  };
}

Response create_sweep(Service& service, Call& call) {
  const config::Value body = body_with_document(call);
  const auto request = body_as<SweepRequest>(body);
  const SweepDocument sweep = read_sweep(request.document, "document", service.folder());
  JobRecord job = job_to_search(
      service, call.caller, sweep,
      {request.job_name, "", request.priority, request.time_limit, config::to_json(call.body())});
  service.queue().submit(job);
  json view = job_view(service, job, true);
  view["candidates"] = sweep.candidate_count();
  return json_response(view, 201);
}

Response list_sweeps(Service& service, Call& call) {
  JobFilter filter;
  filter.kinds = {JobKind::sweep};
  filter.limit = call.number("limit", 50, 1, 500);
  if (call.request.query.contains("before")) filter.before = call.number("before", 0, 0, INT64_MAX);
  json sweeps = json::array();
  std::int64_t last = 0;
  for (const JobRecord& job : service.jobs().list(filter)) {
    sweeps.push_back(job_view(service, job, false));
    last = job.number;
  }
  json answer{{"total", service.jobs().count(filter)}};
  if (sweeps.size() == static_cast<std::size_t>(filter.limit) && last > 1) answer["next"] = last;
  answer["sweeps"] = std::move(sweeps);
  return json_response(answer);
}

json trial_view(const SweepContents& sweep, const SweepContents::Trial& trial) {
  json view{{"trial", trial.number},
            {"status", trial.status},
            {"score", trial.score ? number_to_json(*trial.score) : json()},
            {"spread", number_to_json(trial.spread)},
            {"epochs", trial.epochs},
            {"seconds", number_to_json(trial.seconds)},
            {"settings", json::object()}};
  if (!trial.reason.empty()) view["reason"] = trial.reason;
  for (std::size_t i = 0; i < std::min(sweep.settings.size(), trial.values.size()); ++i)
    view["settings"][sweep.settings[i].name] = trial.values[i];
  return view;
}

// The best first.
Response show_sweep(Service& service, Call& call) {
  const JobRecord job = job_named(service, call.part("id"));
  if (job.kind != JobKind::sweep)
    throw NotFound(fmt::format("the job {} is no sweep; look at /api/training/jobs/{}", job.id, job.id));
  const auto limit = static_cast<std::size_t>(call.number("limit", 100, 1, 1000));
  const auto offset = static_cast<std::size_t>(call.number("offset", 0, 0, most_candidates));
  json view = job_view(service, job, true);
  view["trials"] = json::array();
  const std::filesystem::path folder = service.queue().run_folder_of(job);
  if (!has_sweep_contents(folder)) return json_response(view);
  const SweepContents sweep = read_sweep_contents(folder);
  const std::vector<std::size_t> ranking = sweep.ranking();
  for (std::size_t i = offset; i < std::min(ranking.size(), offset + limit); ++i)
    view["trials"].push_back(trial_view(sweep, sweep.trials[ranking[i]]));
  view["total_trials"] = ranking.size();
  view["metric"] = sweep.metric;
  view["higher_is_better"] = sweep.higher_is_better;
  if (const auto winner = winner_of({folder})) view["winner"] = winner_view(*winner);
  return json_response(view);
}

}  // namespace

std::vector<Route> sweep_routes(Service& service) {
  const auto with = [&service](Response (*what)(Service&, Call&)) {
    return [&service, what](Call& call) { return what(service, call); };
  };
  SweepRequest usual;
  json body = config::json_schema(fields(usual));
  body["properties"]["document"]["type"] = {"object", "string"};
  const json page{{"type", "integer"}, {"minimum", 1}, {"maximum", 500}};
  return {
      {"POST",
       "/api/sweeps",
       "createSweep",
       "Put a job into the queue that searches settings of a document",
       Access::user,
       with(create_sweep),
       {},
       body,
       {"application/json"},
       {{201, "The job"}, {422, "What is wrong with it"}}},
      {"GET",
       "/api/sweeps",
       "listSweeps",
       "List sweeps, newest first",
       Access::viewer,
       with(list_sweeps),
       {{"limit", "At most so many", page},
        {"before", "`next` of the page before", {{"type", "integer"}, {"minimum", 0}}}},
       nullptr,
       {},
       {{200, "Jobs that are sweeps"}}},
      {"GET",
       "/api/sweeps/{id}",
       "showSweep",
       "Show a sweep: its job, its trials, the best first, and the winner",
       Access::viewer,
       with(show_sweep),
       {{"limit", "At most so many trials", {{"type", "integer"}, {"minimum", 1}, {"maximum", 1000}}},
        {"offset",
         "Without so many of the best",
         {{"type", "integer"}, {"minimum", 0}, {"maximum", 100000}}}},
       nullptr,
       {},
       {{200, "The sweep"}, {404, "There is none"}, {422, "Its record cannot be read"}}},
  };
}

}  // namespace stoker::serve
