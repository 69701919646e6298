#include "serve/jobs/job_view.h"

#include <fstream>

#include <fmt/format.h>

#include "base/text/text.h"
#include "serve/jobs/new_job.h"

namespace stoker::serve {
namespace {

nlohmann::json progress_of(Service& service, const JobRecord& job) {
  if (job.state != JobState::running) return nullptr;
  std::ifstream file(service.queue().folder_of(job.id).progress());
  std::string line;
  if (!std::getline(file, line)) return nullptr;
  nlohmann::json progress = nlohmann::json::parse(line, nullptr, false);
  return progress.is_discarded() ? nlohmann::json() : progress;
}

}  // namespace

JobRecord job_named(Service& service, const std::string& id) {
  auto job = service.jobs().find(id);
  if (!job) throw NotFound(fmt::format("there is no job '{}'", printable(id)));
  return std::move(*job);
}

nlohmann::json job_view(Service& service, const JobRecord& job, bool whole) {
  nlohmann::json view{{"id", job.id},
                      {"job_name", job.name},
                      {"state", config::name_of(job.state)},
                      {"kind", config::name_of(job.kind)},
                      {"priority", job.priority},
                      {"device", job.device},
                      {"owner", job.owner},
                      {"project", job.project},
                      {"created", job.created},
                      {"run", job.run}};
  if (job.asked != JobWish::none) view["asked"] = config::name_of(job.asked);
  if (!job.slot.empty()) view["slot"] = job.slot;
  if (!job.started.empty()) view["started"] = job.started;
  if (!job.ended.empty()) view["ended"] = job.ended;
  if (!job.reason.empty()) view["reason"] = job.reason;
  if (job.time_limit > 0) view["time_limit"] = job.time_limit;
  if (!job.continues.empty()) view["continues"] = job.continues;
  if (!job.notes.empty()) view["notes"] = job.notes;
  if (!job.summary.is_null()) view["summary"] = job.summary;
  for (const char* each : {document_of_request, version_of_request})
    if (job.request.is_object() && job.request.contains(each)) view[each] = job.request[each];
  if (nlohmann::json progress = progress_of(service, job); !progress.is_null())
    view["progress"] = std::move(progress);
  if (!whole) return view;
  if (const std::string waits = service.queue().waiting_for(job); !waits.empty()) view["waits_for"] = waits;
  view["attempts"] = job.attempts;
  view["seconds_used"] = service.queue().seconds_used(job);
  view["document"] = job.document;
  view["request"] = job.request;
  return view;
}

}  // namespace stoker::serve
