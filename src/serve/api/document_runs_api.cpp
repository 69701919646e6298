#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "config/usual_bounds.h"
#include "serve/api/document_answers.h"
#include "serve/http/body.h"
#include "serve/jobs/job_view.h"
#include "serve/jobs/new_job.h"

namespace stoker::serve {
namespace {

struct RunRequest {
  std::int64_t version = 0;
  std::string card;
  std::string job_name;
  std::int64_t priority = 0;
  double time_limit = 0;
};

config::Fields fields(RunRequest& r) {
  return {
      config::field("version", r.version, "The version to run; 0: the newest").at_least(0),
      config::field("card", r.card, "Run this card and what it needs; empty: all"),
      config::field("job_name", r.job_name, "For people; empty: the document's name"),
      config::field("priority", r.priority, "Jobs with more are started first").within(-1000, 1000),
      config::field("time_limit", r.time_limit,
                    "Seconds after which it is stopped; 0: none, or 600 for a card")
          .within(0, config::most_seconds),
  };
}

Response run_document(Service& service, Call& call) {
  const config::Value body = call.request.body.empty() ? config::Value(config::Value::Map{}) : call.body();
  const auto request = body_as<RunRequest>(body);
  const DocumentRecord document = document_named(service, call.part("id"));
  const std::int64_t number = request.version == 0 ? document.version : request.version;
  const CheckedDocument checked = check_text(service, version_named(service, document, number).content);
  if (!checked.problems.empty())
    return json_response({{"error", fmt::format("version {} of the document has {} and cannot be run", number,
                                                counted(checked.problems.size(), "problem"))},
                          {"status", 422},
                          {"problems", problems_view(checked.problems)}},
                         422);
  NewJob asked{request.job_name.empty() ? document.name : request.job_name, request.card, request.priority,
               request.time_limit, config::to_json(body)};
  asked.request[document_of_request] = document.id;
  asked.request[version_of_request] = number;
  JobRecord job = checked.sweep ? job_to_search(service, call.caller, *checked.sweep, asked)
                                : job_to_run(service, call.caller, *checked.pipeline, asked);
  service.queue().submit(job);
  return json_response(job_view(service, job, true), 201);
}

}  // namespace

std::vector<Route> document_run_routes(Service& service) {
  RunRequest usual;
  return {
      {"POST",
       "/api/documents/{id}/run",
       "runDocument",
       "Put a job that runs the document into the queue",
       Access::user,
       [&service](Call& call) { return run_document(service, call); },
       {},
       config::json_schema(fields(usual)),
       {"application/json"},
       {{201, "The job"}, {404, "There is none"}, {422, "What is wrong with it"}}},
  };
}

}  // namespace stoker::serve
