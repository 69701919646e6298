#include "serve/service.h"

#include <algorithm>
#include <any>
#include <csignal>
#include <cstdio>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/hidden_values.h"
#include "base/text/text.h"
#include "serve/access/client_words.h"
#include "serve/access/request_project.h"
#include "serve/jobs/program_run.h"
#include "serve/jobs/record_copies.h"
#include "serve/system/log.h"
#include "store/dataset_store.h"
#include "store/document_store.h"
#include "store/store_owner.h"

namespace stoker::serve {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

// Of what a token may do in a second: predictions are small and many.
constexpr double cost_of_prediction = 0.05;
// The id that job requests of seed-style guides name.
constexpr const char* sample_id = "29b7b2f4-eb9b-4e22-a77f-c03f0c4ca876";

bool may(const Caller& caller, Access access) {
  switch (access) {
    case Access::anybody:
    case Access::viewer:
      return true;
    case Access::user:
      return caller.role != UserRole::viewer;
    case Access::admin:
      return caller.role == UserRole::admin;
  }
  return false;
}

// "user or admin"
std::string who_may(Access access) {
  return access == Access::admin ? "admin" : access == Access::user ? "user or admin" : "any role";
}

// What looks without changing anything, predictions among it, is not worth a line each.
bool is_recorded(const Route& route) {
  return changes_something(route.method) &&
         (route.access == Access::user || route.access == Access::admin || route.path == "/api/session");
}

// Ends with the token or the session that it was opened with.
class WatchedStream : public Stream {
 public:
  WatchedStream(std::unique_ptr<Stream> stream, Caller caller, Gate& gate,
                std::shared_ptr<const void> counted)
      : stream_(std::move(stream)), caller_(std::move(caller)), gate_(gate), counted_(std::move(counted)) {}
  bool more(std::string& text) override {
    if (!gate_.is_still_good(caller_)) return false;
    const ProjectScope project(caller_.project.empty() ? default_project : caller_.project);
    return stream_->more(text);
  }

 private:
  std::unique_ptr<Stream> stream_;
  Caller caller_;
  Gate& gate_;
  std::shared_ptr<const void> counted_;
};

// Empty if the route takes all parameters of the query. Pages and probes may be asked with any.
std::string unknown_parameter(const Route& route, const Request& request) {
  if (route.is_page || route.access == Access::anybody) return "";
  std::vector<std::string> known;
  for (const Parameter& each : route.parameters)
    if (each.place == "query") known.push_back(each.name);
  for (const auto& [name, value] : request.query) {
    if (name == "project" || std::ranges::find(known, name) != known.end()) continue;
    const std::string meant = did_you_mean(name, known);
    if (!meant.empty()) return fmt::format("there is no parameter '{}'{}", printable(name), meant);
    known.emplace_back("project");
    return fmt::format("there is no parameter '{}'; {} {} takes {}", printable(name), route.method,
                       route.path, join(known, ", "));
  }
  return "";
}

bool takes_type(const Route& route, std::string_view type) {
  const std::string kind = lower_case(type.substr(0, type.find(';')));
  return std::ranges::any_of(route.body_types,
                             [&](const std::string& each) { return each == "*/*" || each == kind; });
}

std::string joined_methods(std::vector<std::string> methods) {
  return join(methods, ", ");
}

// What its process said last is not for this log.
void log_job(const JobRecord& job) {
  std::vector<std::pair<std::string_view, std::string>> details{
      {"id", job.id}, {"state", std::string(config::name_of(job.state))}};
  if (job.asked != JobWish::none) details.emplace_back("asked", config::name_of(job.asked));
  if (!job.slot.empty()) details.emplace_back("slot", job.slot);
  if (!job.reason.empty()) {
    const std::string first = job.reason.substr(0, job.reason.find('\n'));
    details.emplace_back("reason", first.substr(0, first.find("; its last words:")));
  }
  log_event("job", details);
}

void log_failure(const Request& request, const std::string& why) {
  log_event("error",
            {{"method", request.method}, {"path", without_tokens(printable(request.path))}, {"why", why}});
}

double seconds_since(steady_clock::time_point began) {
  return std::chrono::duration<double>(steady_clock::now() - began).count();
}

}  // namespace

struct Service::Held {
  explicit Held(const fs::path& data) : lock(take(data)) {}
  static JobLock take(const fs::path& data) {
    make_folder(data);
    // One that was killed while it started a job has a child for a moment that holds it still.
    constexpr int tries = 50;
    for (int i = 0; i < tries; ++i) {
      if (auto lock = JobLock::take(data / "serve.lock")) return std::move(*lock);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    refuse("another stoker serve works in {}; stop it, or choose another folder with --data", data.string());
  }
  JobLock lock;
};

Service::Service(ServiceConfig config)
    : config_(std::move(config)),
      held_(std::make_unique<Held>(config_.data)),
      jobs_(records_),
      tokens_(records_),
      gate_(config_.gate, tokens_),
      models_(records_),
      served_(models_, config_.model_bytes),
      gauges_(config_.program),
      queue_(
          {config_.data, config_.program, slots_of_machine(gauges_.devices(), config_.processor_slots),
           config_.grace, config_.hang_after, 5, [this](const JobRecord& job) { put_model_on_record(job); },
           [this](const JobRecord& job) { take_models_off_record(job); }},
          jobs_),
      audit_(config_.data / "audit.jsonl"),
      rate_(config_.requests_per_second) {
  jobs_.when_changed([this](const JobRecord& job) {
    log_job(job);
    copy_job(job, queue_.folder_of(job.id));
  });
  take_store();
  routes_.add(job_routes(*this));
  routes_.add(session_routes(*this));
  routes_.add(dataset_routes(*this));
  routes_.add(model_routes(*this));
  routes_.add(prediction_routes(*this));
  routes_.add(cube_prediction_routes(*this));
  routes_.add(system_routes(*this));
  routes_.add(device_routes(*this));
  routes_.add(card_routes());
  routes_.add(node_routes());
  routes_.add(upgrade_routes());
  routes_.add(project_routes(*this));
  routes_.add(document_routes(*this));
  routes_.add(document_run_routes(*this));
  routes_.add(explain_routes(*this));
  routes_.add(run_routes(*this));
  routes_.add(run_file_routes(*this));
  routes_.add(sweep_routes(*this));
  routes_.add(continue_routes(*this));
  routes_.add(token_routes(*this));
  routes_.add(page_routes());
}

void Service::take_store() {
  if (config_.rebuilds_store) {
    rebuilt_ = rebuild_store(records_, config_.data);
  } else if (exists(mark_of_rebuild(config_.data))) {
    refuse("rebuilding the store {} was cut short; start again with --rebuild-store", records_.place());
  }
  store_lock_ = own_store(records_, config_.data, config_.takes_store);
  store_lock_->when_lost([this] {
    log_event("error", {{"what", "another service works with the store, so this one stops"},
                        {"store", records_.place()}});
    ::kill(::getpid(), SIGTERM);
  });
}

Service::~Service() {
  stop();
}

std::optional<std::string> Service::start() {
  std::optional<std::string> first;
  const auto all = tokens_.all();
  if (std::ranges::none_of(all, [](const TokenRecord& token) { return token.revoked.empty(); }))
    first = tokens_.create("first", UserRole::admin);
  tokens_.remove_expired_sessions();
  make_project_folders();
  clear_uploads();
  put_sample_on_record();
  DocumentStore documents(records_);
  copy_missing(jobs_, documents, config_.data);
  correct_metrics(models_);
  served_.read_names();
  queue_.start();
  return first;
}

void Service::stop() {
  queue_.stop();
}

// A model that cannot be read is told of and left out: its job is complete all the same.
void Service::put_model_on_record(const JobRecord& job) {
  const ProjectScope project(job.project);
  try {
    record_model_of(job.id, job.name, queue_.run_folder_of(job), models_);
  } catch (const std::exception& error) {
    log_event("error",
              {{"what", "the model of a job is not on record"}, {"id", job.id}, {"why", error.what()}});
  }
}

// Their files are gone. Somebody may have deployed one while its job was being deleted.
void Service::take_models_off_record(const JobRecord& job) {
  const ProjectScope project(job.project);
  for (const ModelRecord& model : models_.of_job(job.id)) {
    for (const std::string& name : models_.names_of(model.id)) served_.withdraw(name);
    models_.remove(model.id);
  }
}

void Service::make_folder_of(const std::string& project) const {
  for (const char* folder : {"uploads", "runs"})
    make_folder(folder_of_project(config_.data, project) / folder);
}

// Those of projects that were made by another service with this store, or by the command line.
void Service::make_project_folders() {
  for (const ProjectRecord& project : DocumentStore(records_).projects()) make_folder_of(project.id);
}

// By the command that everybody has for it, in the project `default`.
void Service::put_sample_on_record() {
  if (DatasetStore().has(sample_id)) return;
  const fs::path folder = config_.data / "datasets";
  make_folder(folder);
  std::error_code ignored;
  fs::remove(folder / "uhf_mixed.sqlite", ignored);
  try {
    constexpr auto longest = std::chrono::minutes(5);
    run_program({config_.program.string(), "datasets", "generate", sample_id, "--sample", "uhf_mixed", "--to",
                 (folder / "uhf_mixed.sqlite").string(), "--table", "uhf_mixed"},
                config_.data, longest);
  } catch (const std::exception& error) {
    log_event("error", {{"what", "the sample uhf_mixed could not be put on record"}, {"why", error.what()}});
  }
}

Response Service::finished(Response response) const {
  if (response.type.find("json") != std::string::npos) {
    response.body = json_without_hidden_values(std::move(response.body));
  } else if (response.type.starts_with("text/")) {
    response.body = without_hidden_values(std::move(response.body));
  }
  const auto unless_said = [&](const char* name, const char* value) {
    const bool is_said =
        std::ranges::any_of(response.headers, [&](const auto& each) { return each.first == name; });
    if (!is_said) response.headers.emplace_back(name, value);
  };
  unless_said("X-Content-Type-Options", "nosniff");
  unless_said("X-Frame-Options", "DENY");
  unless_said("Referrer-Policy", "no-referrer");
  unless_said("Cross-Origin-Resource-Policy", "same-origin");
  unless_said("Content-Security-Policy",
              "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; "
              "object-src 'none'");
  unless_said("Cache-Control", "no-store");
  return response;
}

Response Service::answer_to_malformed(int status, const std::string& why, const std::string& address) {
  audit_.write("malformed request", {}, address, {{"status", status}, {"why", why}});
  figures_.add(nullptr, status, 0);
  Response response = error_response(status, why);
  response.ends_connection = true;
  return finished(std::move(response));
}

// What others left to receive when they were killed.
void Service::clear_uploads() const {
  std::error_code ignored;
  std::vector<fs::path> folders{config_.data / "uploads"};
  for (const auto& project : fs::directory_iterator(config_.data / "projects", ignored))
    folders.push_back(project.path() / "uploads");
  for (const fs::path& folder : folders) {
    for (const auto& each : fs::directory_iterator(folder, ignored))
      if (each.path().filename().string().starts_with(receiving)) fs::remove_all(each.path(), ignored);
    clear_half_made(folder);
  }
}

void Service::refuse_missing_project(const Caller& caller) {
  if (caller.project.empty() || caller.project == default_project || !caller.is_operator()) return;
  if (!DocumentStore(records_).find_project(caller.project))
    throw HttpError(404, fmt::format("there is no project '{}'", caller.project));
}

std::optional<Response> Service::refuse_caller(const Request& head, const Routes::Found& found,
                                               std::optional<Caller>& caller) {
  const Route& route = *found.route;
  const auto refused = [&](int status, const std::string& message, const std::string& why) {
    audit_.write("refused", caller.value_or(Caller()), head.address,
                 {{"route", route.name}, {"path", head.path}, {"status", status}, {"why", why}});
    return error_response(status, message);
  };
  if (const std::string why = gate_.why_forged(head, caller); !why.empty()) return refused(403, why, why);
  if (route.access == Access::anybody) return std::nullopt;
  if (!caller) {
    Response response = refused(
        401,
        head.header("authorization").empty()
            ? "a token is needed: send it as 'Authorization: Bearer …'; stoker tokens create makes one"
            : "the token is unknown, has expired or was revoked; stoker tokens create makes another",
        "no token, or one that is not good");
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
    return response;
  }
  try {
    caller = caller_in_project(*caller, head, found, records_);
    refuse_missing_project(*caller);
  } catch (const HttpError& error) {
    return refused(error.status(), error.what(), "project");
  }
  if (!may(*caller, route.access))
    return refused(403,
                   fmt::format("the role {} may not do that; it takes a token of {}",
                               config::name_of(caller->role), who_may(route.access)),
                   "role");
  return std::nullopt;
}

// Whoever asks must have been seen a moment ago, so that nothing is read from the store.
bool Service::is_quick(const Request& request) {
  const Routes::Found found = routes_.find(request.method, request.path);
  if (found.route == nullptr || !found.route->is_quick || !gate_.knows(request)) return false;
  const auto caller = gate_.caller_of(request);
  if (!caller) return false;
  try {
    const ProjectScope project(caller_in_project(*caller, request, found, records_).project);
    return found.route->is_quick(request, found.parts);
  } catch (const HttpError&) {
    return false;  // what is wrong with it is told by the answer
  }
}

std::optional<Response> Service::refuse_early(const Request& head, Reception& reception) {
  const auto began = steady_clock::now();
  const Route* route = nullptr;
  std::optional<Response> early = early_answer(head, reception, route);
  if (early) figures_.add(route, early->status, seconds_since(began));
  return early;
}

std::optional<Response> Service::early_answer(const Request& head, Reception& reception,
                                              const Route*& asked_for) {
  try {
    if (!gate_.knows_host(head)) {
      const std::string host = printable(head.header("host"));
      audit_.write("refused", {}, head.address, {{"host", host}, {"status", 421}, {"why", "Host"}});
      return finished(error_response(
          421,
          fmt::format("this service does not go by the name {}; its operator can name it (--public-name)",
                      host)));
    }
    const Routes::Found found = routes_.find(head.method, head.path);
    asked_for = found.route;
    std::optional<Caller> caller;
    if (found.route != nullptr && found.route->access != Access::anybody) caller = gate_.caller_of(head);
    const bool is_small = caller && found.route->changes_nothing;
    if (!rate_.allows(caller ? caller->token : head.address, is_small ? cost_of_prediction : 1)) {
      Response response = error_response(429, "too many requests; wait a second");
      response.headers.emplace_back("Retry-After", "1");
      return finished(std::move(response));
    }
    if (found.route == nullptr) {
      if (found.allowed.empty())
        return finished(error_response(404, fmt::format("there is nothing at {}", printable(head.path))));
      Response response = error_response(
          405, fmt::format("{} takes {}", printable(head.path), joined_methods(found.allowed)));
      response.headers.emplace_back("Allow", joined_methods(found.allowed));
      return finished(std::move(response));
    }
    const Route& route = *found.route;
    if (auto refused = refuse_caller(head, found, caller)) return finished(std::move(*refused));
    if (const std::string unknown = unknown_parameter(route, head); !unknown.empty())
      return finished(error_response(400, unknown));
    const bool has_body = !head.header("content-length").empty() && head.header("content-length") != "0";
    if (!route.body.is_null() && (has_body || !head.header("transfer-encoding").empty()) &&
        !takes_type(route, head.header("content-type")))
      return finished(
          error_response(415, fmt::format("the body must be {}", join(route.body_types, " or "))));
    reception.most_bytes = route.body.is_null() && !route.is_upload ? 64 * 1024 : route.most_body;
    if (route.is_upload) {
      const fs::path uploads =
          folder_of_project(config_.data,
                            caller && !caller->project.empty() ? caller->project : default_project) /
          "uploads";
      make_folder(uploads);
      reception.into = uploads / (receiving + random_id());
    }
    return std::nullopt;
  } catch (const std::exception& error) {
    log_failure(head, error.what());
    return finished(error_response(503, "the service cannot answer now; try again"));
  }
}

Response Service::answer(Request& request) {
  const auto began = steady_clock::now();
  const Routes::Found found = routes_.find(request.method, request.path);
  if (found.route == nullptr) return finished(error_response(404, "there is nothing here"));
  Call call{request, {}, found.parts};
  std::optional<ProjectScope> project;
  const auto respond = [&]() -> Response {
    std::optional<Caller> caller;
    if (found.route->access != Access::anybody) caller = gate_.caller_of(request);
    // It took a while to receive; a token may have been revoked meanwhile.
    if (auto refused = refuse_caller(request, found, caller)) return std::move(*refused);
    if (caller) call.caller = *caller;
    if (!call.project().empty()) project.emplace(call.project());
    Response response = found.route->answer(call);
    if (response.stream)
      response.stream = std::make_unique<WatchedStream>(std::move(response.stream), call.caller, gate_,
                                                        streams_.enter(call.caller.token));
    return response;
  };
  const auto told = [&](int status, const std::exception& error) {
    return error_response(status, without_folder(error.what(), config_.data));
  };
  Response response;
  try {
    response = respond();
  } catch (const HttpError& error) {
    response = told(error.status(), error);
  } catch (const NotFound& error) {
    response = told(404, error);
  } catch (const Conflict& error) {
    response = told(409, error);
  } catch (const Error& error) {
    const bool is_wrong = error.code() == ExitCode::wrong_request && error.cause() == Cause::request;
    response = told(is_wrong ? 422 : 503, error);
    if (!is_wrong) log_failure(request, error.what());
  } catch (const std::bad_alloc&) {
    response = error_response(503, "the service has no memory for that now");
  } catch (const std::exception& error) {
    log_failure(request, error.what());
    response = error_response(500, "the service failed; its log says why");
  }
  if (is_recorded(*found.route))
    audit_.write(found.route->name, call.caller, request.address,
                 {{"path", request.path}, {"status", response.status}, {"project", call.project()}});
  std::error_code ignored;
  if (!request.body_file.empty()) fs::remove(request.body_file, ignored);
  figures_.add(found.route, response.status, seconds_since(began));
  return finished(std::move(response));
}

}  // namespace stoker::serve
