#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/project_scope.h"
#include "serve/access/allowed_variables.h"
#include "serve/access/audit_log.h"
#include "serve/access/gate.h"
#include "serve/http/http.h"
#include "serve/http/rate_limit.h"
#include "serve/http/route.h"
#include "serve/http/stream_count.h"
#include "serve/jobs/job_queue.h"
#include "serve/jobs/rebuild_store.h"
#include "serve/models/served_models.h"
#include "serve/system/device_gauges.h"
#include "serve/system/request_figures.h"
#include "store/job_store.h"
#include "store/model_store.h"
#include "store/records.h"
#include "store/service_lock.h"
#include "store/token_store.h"

namespace stoker::serve {

// Begins the names in uploads/ of what is there until its request is answered.
constexpr const char* receiving = ".receiving-";

struct ServiceConfig {
  std::filesystem::path data;     // everything that the service keeps, of all projects; absolute
  std::filesystem::path program;  // stoker itself, absolute
  int processor_slots = 1;
  std::chrono::seconds grace{30};
  std::chrono::seconds hang_after{600};
  bool takes_store = false;       // of another data folder
  bool rebuilds_store = false;    // one without records, from the data folder
  bool allows_urls = false;       // sources that are fetched from an address
  bool allows_databases = false;  // sources that are read from a server
  std::vector<AllowedVariable> variables = {};
  int requests_per_second = 500;  // of a token, or of an address without one; 0: any number
  GateConfig gate;
  std::uint64_t model_bytes = std::uint64_t{512} << 20;  // of models that are kept in memory to predict
};

// The whole service behind its HTTP server.
class Service : public Site {
 public:
  // Takes the data folder for itself; refuses one that another service has.
  explicit Service(ServiceConfig config);
  ~Service() override;

  // What was put into the store again; none if it was not rebuilt.
  const std::optional<RebuiltStore>& rebuilt() const { return rebuilt_; }

  // Returns the first token, where one had to be made: it is shown once.
  std::optional<std::string> start();
  void stop();

  bool is_quick(const Request& request) override;
  std::optional<Response> refuse_early(const Request& head, Reception& reception) override;
  Response answer(Request& request) override;
  Response answer_to_malformed(int status, const std::string& why, const std::string& address) override;

  const ServiceConfig& config() const { return config_; }
  // Where the files of the project are that this thread works in. Routes name no other place.
  std::filesystem::path folder() const { return folder_of_project(config_.data, ProjectScope::or_default()); }
  void make_folder_of(const std::string& project) const;
  Records& records() { return records_; }
  JobStore& jobs() { return jobs_; }
  JobQueue& queue() { return queue_; }
  const JobQueue& queue() const { return queue_; }
  TokenStore& tokens() { return tokens_; }
  Gate& gate() { return gate_; }
  ModelStore& models() { return models_; }
  ServedModels& served() { return served_; }
  DeviceGauges& gauges() { return gauges_; }
  AuditLog& audit() { return audit_; }
  const Routes& routes() const { return routes_; }
  const RequestFigures& figures() const { return figures_; }
  // How many there are is known to the server alone.
  void count_connections_by(std::function<std::size_t()> count) { count_connections_ = std::move(count); }
  std::size_t connections() const { return count_connections_ ? count_connections_() : 0; }

 private:
  struct Held;  // the lock on the data folder
  std::optional<Response> early_answer(const Request& head, Reception& reception, const Route*& route);
  void put_sample_on_record();
  // Gives the caller the project that the request works in.
  std::optional<Response> refuse_caller(const Request& head, const Routes::Found& found,
                                        std::optional<Caller>& caller);
  void refuse_missing_project(const Caller& caller);
  void make_project_folders();
  void clear_uploads() const;
  void put_model_on_record(const JobRecord& job);
  void take_models_off_record(const JobRecord& job);
  void take_store();
  Response finished(Response response) const;

  ServiceConfig config_;
  std::unique_ptr<Held> held_;
  Records records_;
  JobStore jobs_;
  TokenStore tokens_;
  Gate gate_;
  ModelStore models_;
  ServedModels served_;
  DeviceGauges gauges_;
  JobQueue queue_;
  AuditLog audit_;
  RateLimit rate_;
  StreamCount streams_;
  Routes routes_;
  RequestFigures figures_;
  std::function<std::size_t()> count_connections_;
  std::optional<RebuiltStore> rebuilt_;
  std::unique_ptr<ServiceLock> store_lock_;
};

// The routes, one file for each kind of thing.
std::vector<Route> job_routes(Service& service);
std::vector<Route> session_routes(Service& service);
std::vector<Route> dataset_routes(Service& service);
std::vector<Route> model_routes(Service& service);
std::vector<Route> prediction_routes(Service& service);
std::vector<Route> cube_prediction_routes(Service& service);
std::vector<Route> system_routes(Service& service);
std::vector<Route> device_routes(Service& service);
std::vector<Route> card_routes();
std::vector<Route> node_routes();
std::vector<Route> upgrade_routes();
std::vector<Route> project_routes(Service& service);
std::vector<Route> document_routes(Service& service);
std::vector<Route> document_run_routes(Service& service);
std::vector<Route> explain_routes(Service& service);
std::vector<Route> run_routes(Service& service);
std::vector<Route> run_file_routes(Service& service);
std::vector<Route> sweep_routes(Service& service);
std::vector<Route> continue_routes(Service& service);
std::vector<Route> token_routes(Service& service);
std::vector<Route> page_routes();

// The OpenAPI document of all routes.
nlohmann::json openapi_of(const Routes& routes);
std::string tag_of(const Route& route);
// What is told to Prometheus, in its text format.
std::string metrics_text(Service& service);

}  // namespace stoker::serve
