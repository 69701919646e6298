#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "config/usual_bounds.h"
#include "pipeline/run/continued_run.h"
#include "serve/http/body.h"
#include "serve/jobs/job_view.h"
#include "serve/jobs/new_job.h"

namespace stoker::serve {
namespace {

using nlohmann::json;

struct ContinueRequest {
  std::int64_t epochs = 0;
  std::string job_name;
  std::optional<double> learning_rate;
  std::int64_t priority = 0;
  double time_limit = 0;
};

config::Fields fields(ContinueRequest& r) {
  constexpr double most_epochs = 1'000'000;
  return {
      config::field("epochs", r.epochs, "Epochs to train on top of those that it has")
          .required()
          .within(1, most_epochs),
      config::field("job_name", r.job_name, "For people; empty: that of the job"),
      config::field("learning_rate", r.learning_rate, "Size of a step from there on; not set: as before")
          .above(0)
          .within(0, config::highest_learning_rate)
          .optional(),
      config::field("priority", r.priority, "Jobs with more are started first").within(-1000, 1000),
      config::field("time_limit", r.time_limit, "Seconds after which it is stopped; 0: none")
          .within(0, config::most_seconds),
  };
}

// The folder comes first: a job in the queue has all that it goes on from, and what is left if the service
// ends in between is a run that nobody owns.
Response continue_job(Service& service, Call& call) {
  const config::Value body = call.body();
  const auto request = body_as<ContinueRequest>(body);
  const JobRecord earlier = job_named(service, call.part("id"));
  if (earlier.state != JobState::completed || earlier.kind != JobKind::training)
    throw Conflict(fmt::format(
        "job {} is {}; only a training that is completed can be continued", earlier.id,
        earlier.kind == JobKind::training ? config::name_of(earlier.state) : config::name_of(earlier.kind)));
  const Document trained =
      read_document(config::parse_yaml(earlier.document, "document"), "document", service.folder());
  const std::filesystem::path from = service.queue().run_folder_of(earlier);
  const Document document = with_more_epochs(trained, request.epochs, request.learning_rate);
  if (const std::string why = why_not_continued(trained, from); !why.empty()) throw Conflict(why);
  JobRecord job = job_to_run(service, call.caller, document,
                             {request.job_name.empty() ? earlier.name : request.job_name, "",
                              request.priority, request.time_limit, config::to_json(body)});
  job.continues = earlier.id;
  make_continued_run(from, job.run, document);
  try {
    service.queue().submit(job);
  } catch (const std::exception&) {
    std::error_code ignored;
    remove_folder(service.queue().run_folder_of(job), ignored);
    throw;
  }
  return json_response(job_view(service, job, true), 201);
}

}  // namespace

std::vector<Route> continue_routes(Service& service) {
  ContinueRequest usual;
  return {
      {"POST",
       "/api/training/jobs/{id}/continue",
       "continueJob",
       "Train the model of a completed job for more epochs, as a new job",
       Access::user,
       [&service](Call& call) { return continue_job(service, call); },
       {},
       config::json_schema(fields(usual)),
       {"application/json"},
       {{201, "The new job"},
        {404, "There is none"},
        {409, "It is not completed, or has nothing to go on from"},
        {422, "What is wrong with the request"}}},
  };
}

}  // namespace stoker::serve
