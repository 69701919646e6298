#include "serve/jobs/new_job.h"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/text.h"
#include "pipeline/card/graph.h"
#include "pipeline/training/training_card.h"
#include "serve/access/allowed_sources.h"
#include "serve/access/request_secrets.h"

namespace stoker::serve {
namespace {

constexpr double seconds_of_a_card = 600;

// Of those cards that are to run.
std::string device_of(const Document& document, const std::string& only) {
  std::set<std::string> needed;
  if (!only.empty()) needed = needed_for(document, only);  // refuses one that is not there
  std::set<std::string> devices;
  for (const Card& card : document.cards) {
    if (!trains(card) || (!only.empty() && !needed.contains(card.id))) continue;
    if (const config::Value* device = card.config.find("device"))
      if (const auto* text = device->get_if<std::string>()) devices.insert(*text);
  }
  const auto is_gpu = [](const std::string& device) { return device.starts_with("cuda"); };
  if (std::ranges::any_of(devices, is_gpu)) return "cuda";
  return devices.contains("auto") ? "auto" : "cpu";
}

std::string name_in_run_folder(const std::string& name) {
  std::string plain;
  for (const char c : name.substr(0, 40)) plain += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  return plain;
}

JobRecord job_of_document(const Service& service, const Caller& caller, const Document& document,
                          const NewJob& asked) {
  refuse_sources_not_allowed(document, service.config());
  refuse_datasets_not_there(document);
  JobRecord job;
  job.id = random_id();
  job.project = ProjectScope::or_default();
  job.owner = caller.name;
  job.priority = asked.priority;
  job.time_limit = asked.time_limit;
  job.request = asked.request;
  job.created = time_stamp_utc();
  job.notes = asked.notes;
  job.notes.insert(job.notes.end(), document.notes.begin(), document.notes.end());
  job.name = asked.name.empty() ? document.name : asked.name;
  job.device = device_of(document, asked.card);
  if (job.device == "cuda" && !has_gpu(service.queue().slots()))
    refuse("the document asks for cuda, and this service has no GPU; available: cpu, auto");
  job.run =
      fmt::format("{}_{}_{}", time_stamp_for_names(), name_in_run_folder(job.name), job.id.substr(0, 8));
  return job;
}

}  // namespace

JobRecord job_to_run(const Service& service, const Caller& caller, const Document& document,
                     const NewJob& asked) {
  JobRecord job = job_of_document(service, caller, document, asked);
  job.document = document.to_yaml();
  if (asked.card.empty()) return job;
  job.kind = JobKind::card;
  if (job.time_limit == 0) job.time_limit = seconds_of_a_card;
  return job;
}

JobRecord job_to_search(const Service& service, const Caller& caller, const SweepDocument& sweep,
                        const NewJob& asked) {
  if (!asked.card.empty()) refuse("card: a sweep trains the whole document; leave it out");
  JobRecord job = job_of_document(service, caller, sweep.base, asked);
  job.document = sweep.to_yaml();
  job.kind = JobKind::sweep;
  return job;
}

config::Value body_with_document(const Call& call) {
  config::Value body = call.body();
  config::Value* given = body.find("document");
  const auto* text = given == nullptr ? nullptr : given->get_if<std::string>();
  if (text != nullptr) *given = config::parse_document(std::string(*text), "document");
  refuse_secrets(body);
  return body;
}

}  // namespace stoker::serve
