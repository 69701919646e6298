#include "serve/service.h"

#include <algorithm>
#include <any>
#include <cstdio>

#include <fmt/format.h>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "serve/log.h"
#include "store/dataset_store.h"
#include "store/store_owner.h"

namespace stoker::serve {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr auto token_is_known_for = std::chrono::seconds(1);
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

bool changes_something(const std::string& method) {
  return method != "GET" && method != "HEAD" && method != "OPTIONS";
}

bool takes_type(const Route& route, std::string_view type) {
  const std::string_view kind = type.substr(0, type.find(';'));
  return std::ranges::any_of(route.body_types, [&](const std::string& each) {
    return each == "*/*" || (kind.size() == each.size() && std::ranges::equal(kind, each, [](char a, char b) {
                               return std::tolower(static_cast<unsigned char>(a)) == b;
                             }));
  });
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
  if (!job.reason.empty()) details.emplace_back("reason", job.reason.substr(0, job.reason.find('\n')));
  log_event("job", details);
}

void log_failure(const Request& request, const std::string& why) {
  log_event("error", {{"method", request.method}, {"path", request.path}, {"why", why}});
}

double seconds_since(steady_clock::time_point began) {
  return std::chrono::duration<double>(steady_clock::now() - began).count();
}

}  // namespace

struct Service::Held {
  explicit Held(const fs::path& data) : lock(take(data)) {}
  static JobLock take(const fs::path& data) {
    make_folder(data);
    auto lock = JobLock::take(data / "serve.lock");
    if (!lock)
      refuse("another stoker serve works in {}; stop it, or choose another folder with --data",
             data.string());
    return std::move(*lock);
  }
  JobLock lock;
};

AuditLog::AuditLog(const fs::path& file) : file_(file, std::ios::app) {
  if (!file_) refuse("{} cannot be written", file.string());
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
}

void AuditLog::write(const std::string& what, const Caller& who, const std::string& address,
                     const nlohmann::json& details) {
  nlohmann::ordered_json line{{"time", time_stamp_utc()}, {"what", what}, {"address", address}};
  if (!who.name.empty()) line["who"] = who.name;
  if (!details.is_null()) line["details"] = details;
  const std::lock_guard lock(mutex_);
  file_.clear();  // a disk that was full may have room again
  file_ << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n' << std::flush;
}

bool RateLimit::allows(const std::string& who, double cost) {
  if (per_second_ <= 0) return true;
  constexpr std::size_t most_remembered = 10'000;
  const double most = 2 * per_second_;
  const auto now = steady_clock::now();
  const std::lock_guard lock(mutex_);
  if (buckets_.size() > most_remembered) buckets_.clear();
  auto [found, is_new] = buckets_.try_emplace(who, Bucket{most, now});
  Bucket& bucket = found->second;
  bucket.tokens = std::min(
      most, bucket.tokens + per_second_ * std::chrono::duration<double>(now - bucket.filled).count());
  bucket.filled = now;
  if (bucket.tokens < cost) return false;
  bucket.tokens -= cost;
  return true;
}

std::string bearer_token(const Request& request) {
  const std::string_view header = request.header("authorization");
  constexpr std::string_view scheme = "bearer ";
  if (header.size() <= scheme.size()) return "";
  for (std::size_t i = 0; i < scheme.size(); ++i)
    if (std::tolower(static_cast<unsigned char>(header[i])) != scheme[i]) return "";
  return std::string(header.substr(scheme.size()));
}

Service::Service(ServiceConfig config)
    : config_(std::move(config)),
      held_(std::make_unique<Held>(config_.data)),
      jobs_(records_),
      tokens_(records_),
      models_(records_),
      served_(models_, config_.model_bytes),
      queue_({config_.data, config_.program, slots_of_machine(config_.processor_slots), config_.grace,
              config_.hang_after, 5,
              [this](const JobRecord& job) { put_model_on_record(job.id, job.name, job.run); }},
             jobs_),
      audit_(config_.data / "audit.jsonl"),
      rate_(config_.requests_per_second) {
  jobs_.when_changed(log_job);
  own_store(records_, config_.data, config_.takes_store);
  routes_.add(job_routes(*this));
  routes_.add(dataset_routes(*this));
  routes_.add(model_routes(*this));
  routes_.add(prediction_routes(*this));
  routes_.add(system_routes(*this));
  routes_.add(card_routes());
  routes_.add(project_routes(*this));
  routes_.add(document_routes(*this));
  routes_.add(run_routes(*this));
  routes_.add(run_file_routes(*this));
  routes_.add(sweep_routes(*this));
  routes_.add(continue_routes(*this));
}

Service::~Service() {
  stop();
}

std::optional<std::string> Service::start() {
  std::optional<std::string> first;
  const auto all = tokens_.all();
  if (std::ranges::none_of(all, [](const TokenRecord& token) { return token.revoked.empty(); }))
    first = tokens_.create("first", UserRole::admin);
  put_sample_on_record();
  put_models_on_record();
  served_.read_names();
  queue_.start();
  return first;
}

void Service::stop() {
  queue_.stop();
}

// A model that cannot be read is told of and left out: its job is complete all the same.
void Service::put_model_on_record(const std::string& job, const std::string& name, const std::string& run) {
  try {
    record_model_of(job, name, config_.data / "runs" / run, models_);
  } catch (const std::exception& error) {
    fmt::print(stderr, "stoker: the model of job {} is not on record: {}\n", job, error.what());
  }
}

// Those of jobs that completed when the service before was just ending.
void Service::put_models_on_record() {
  for (const auto& job : models_.jobs_without_models()) put_model_on_record(job.id, job.name, job.run);
}

// By the command that everybody has for it.
void Service::put_sample_on_record() {
  if (DatasetStore().has(sample_id)) return;
  const fs::path folder = config_.data / "datasets";
  make_folder(folder);
  const JobFolder place{folder};
  std::error_code ignored;
  fs::remove(folder / "uhf_mixed.sqlite", ignored);
  const std::string command = fmt::format(
      "'{}' datasets generate {} --sample uhf_mixed --to '{}' --table uhf_mixed >'{}' 2>&1",
      config_.program.string(), sample_id, (folder / "uhf_mixed.sqlite").string(), place.log().string());
  if (std::system(command.c_str()) != 0)
    log_event("error", {{"what", "the sample uhf_mixed could not be put on record"},
                        {"why", last_lines(place.log(), 1)}});
  fs::remove(place.log(), ignored);
}

std::optional<Caller> Service::caller_of(const Request& request, bool& has_session) {
  has_session = false;
  const std::string token = bearer_token(request);
  if (token.empty()) return std::nullopt;
  const std::string hash = hash_of_secret(token);
  const auto now = steady_clock::now();
  {
    const std::lock_guard lock(known_mutex_);
    const auto found = known_.find(hash);
    if (found != known_.end() && found->second.until > now)
      return Caller{found->second.token.id, found->second.token.name, found->second.token.role};
  }
  const auto record = tokens_.find(token);
  const std::lock_guard lock(known_mutex_);
  if (!record) {
    known_.erase(hash);
    return std::nullopt;
  }
  known_[hash] = {*record, now + token_is_known_for};
  return Caller{record->id, record->name, record->role};
}

Response Service::finished(Response response) const {
  const auto unless_said = [&](const char* name, const char* value) {
    const bool is_said =
        std::ranges::any_of(response.headers, [&](const auto& each) { return each.first == name; });
    if (!is_said) response.headers.emplace_back(name, value);
  };
  unless_said("X-Content-Type-Options", "nosniff");
  unless_said("X-Frame-Options", "DENY");
  unless_said("Referrer-Policy", "no-referrer");
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

// The token must be one that was seen a moment ago, so that nothing is read from the store.
bool Service::is_quick(const Request& request) {
  const Routes::Found found = routes_.find(request.method, request.path);
  if (found.route == nullptr || !found.route->is_quick) return false;
  const std::string token = bearer_token(request);
  if (token.empty()) return false;
  {
    const std::string hash = hash_of_secret(token);
    const std::lock_guard lock(known_mutex_);
    const auto known = known_.find(hash);
    if (known == known_.end() || known->second.until <= steady_clock::now()) return false;
  }
  return found.route->is_quick(request, found.parts);
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
    const Routes::Found found = routes_.find(head.method, head.path);
    asked_for = found.route;
    if (found.route == nullptr) {
      if (found.allowed.empty())
        return finished(error_response(404, fmt::format("there is nothing at {}", printable(head.path))));
      Response response = error_response(
          405, fmt::format("{} takes {}", printable(head.path), joined_methods(found.allowed)));
      response.headers.emplace_back("Allow", joined_methods(found.allowed));
      return finished(std::move(response));
    }
    const Route& route = *found.route;
    if (route.access != Access::anybody) {
      bool has_session = false;
      const auto caller = caller_of(head, has_session);
      if (!rate_.allows(caller ? caller->token : head.address,
                        caller && route.changes_nothing ? cost_of_prediction : 1)) {
        Response response = error_response(429, "too many requests; wait a second");
        response.headers.emplace_back("Retry-After", "1");
        return finished(std::move(response));
      }
      if (!caller) {
        audit_.write("refused", {}, head.address,
                     {{"path", head.path}, {"why", "no token, or one that is not good"}});
        Response response = error_response(
            401, "a token is needed: send it as 'Authorization: Bearer …'; stoker tokens create makes one");
        response.headers.emplace_back("WWW-Authenticate", "Bearer");
        return finished(std::move(response));
      }
      if (!may(*caller, route.access)) {
        audit_.write("refused", *caller, head.address, {{"path", head.path}, {"why", "role"}});
        return finished(
            error_response(403, fmt::format("the role {} may not do that", config::name_of(caller->role))));
      }
    } else if (!rate_.allows(head.address)) {
      return finished(error_response(429, "too many requests; wait a second"));
    }
    const bool has_body = !head.header("content-length").empty() && head.header("content-length") != "0";
    if (!route.body.is_null() && (has_body || !head.header("transfer-encoding").empty()) &&
        !takes_type(route, head.header("content-type")))
      return finished(
          error_response(415, fmt::format("the body must be {}", join(route.body_types, " or "))));
    reception.most_bytes = route.body.is_null() && !route.is_upload ? 64 * 1024 : route.most_body;
    if (route.is_upload) {
      make_folder(config_.data / "uploads");
      reception.into = config_.data / "uploads" / (".receiving-" + random_id());
    }
    return std::nullopt;
  } catch (const std::exception& error) {
    log_failure(head, error.what());
    return finished(error_response(503, "the service cannot answer now; try again"));
  }
}

Response Service::answer(Request& request) {
  const auto began = steady_clock::now();
  const Route* route = nullptr;
  const auto respond = [&]() -> Response {
    const Routes::Found found = routes_.find(request.method, request.path);
    route = found.route;
    if (found.route == nullptr) return error_response(404, "there is nothing here");
    Call call{request, {}, found.parts};
    bool has_session = false;
    if (const auto caller = caller_of(request, has_session)) call.caller = *caller;
    Response response = found.route->answer(call);
    if (changes_something(request.method) && !found.route->changes_nothing)
      audit_.write(found.route->name, call.caller, request.address,
                   {{"path", request.path}, {"status", response.status}});
    return response;
  };
  Response response;
  try {
    response = respond();
  } catch (const HttpError& error) {
    response = error_response(error.status(), error.what());
  } catch (const NotFound& error) {
    response = error_response(404, error.what());
  } catch (const Conflict& error) {
    response = error_response(409, error.what());
  } catch (const Error& error) {
    const bool is_wrong = error.code() == ExitCode::wrong_request && error.cause() == Cause::request;
    response = error_response(is_wrong ? 422 : 503, error.what());
    if (!is_wrong) log_failure(request, error.what());
  } catch (const std::bad_alloc&) {
    response = error_response(503, "the service has no memory for that now");
  } catch (const std::exception& error) {
    log_failure(request, error.what());
    response = error_response(500, "the service failed; its log says why");
  }
  std::error_code ignored;
  if (!request.body_file.empty()) fs::remove(request.body_file, ignored);
  figures_.add(route, response.status, seconds_since(began));
  return finished(std::move(response));
}

}  // namespace stoker::serve
