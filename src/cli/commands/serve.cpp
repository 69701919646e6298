#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/resource.h>

#include "base/address_rule.h"
#include "base/error.h"
#include "base/files/files.h"
#include "base/process/child_program.h"
#include "base/process/confinement.h"
#include "base/project_scope.h"
#include "cli/commands/command.h"
#include "cli/flags/commands_flag.h"
#include "cli/flags/number_range.h"
#include "cli/view/terminal.h"
#include "data/confined/confined_reader.h"
#include "data/url/url_secrets.h"
#include "database/postgres/lost_clients.h"
#include "database/postgres/role_rights.h"
#include "device/device.h"
#include "pipeline/document/document.h"
#include "serve/access/known_databases.h"
#include "serve/http/http_server.h"
#include "serve/jobs/program_run.h"
#include "serve/service.h"
#include "serve/system/log.h"

namespace stoker::cli {
namespace {

namespace fs = std::filesystem;

struct ServeCommand {
  serve::ServerConfig server;
  std::string data = "stoker-data";
  std::string store;
  int workers = 0;
  std::int64_t grace = 30;
  std::int64_t hang_after = 600;
  int requests_per_second = 500;
  bool takes_store = false;
  bool rebuilds_store = false;
  bool allows_urls = false;
  bool allows_databases = false;
  bool allows_private_urls = false;
  std::vector<std::string> variables;
  std::vector<std::string> public_names;
  double session_hours = 12;
};

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

// A command line can be read by everybody on the machine.
void refuse_told_password(const std::string& store) {
  if (has_password(store))
    refuse(
        "--store has a password, which everybody on this machine could read: write it as ${{NAME}} and set "
        "that variable, or keep it in ~/.pgpass");
}

void refuse_no_name(const std::string& name) {
  const bool is_name = !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '.';
  });
  if (!is_name)
    refuse("--public-name {}: this is no name of a machine, such as stoker.example.org, without a port",
           name);
}

// Each connection takes a descriptor, and the usual limit leaves room for fewer than the service allows.
void allow_many_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  constexpr rlim_t enough = 65'536;
  limit.rlim_cur = std::min(std::max(limit.rlim_cur, enough), limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Waits for the end that somebody asks for. The signals are blocked in every thread that comes after.
class EndOfService {
 public:
  EndOfService() {
    sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals_, signal);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  }
  void wait() const {
    int signal = 0;
    sigwait(&signals_, &signal);
  }

 private:
  sigset_t signals_{};
};

// For its owner alone: it has data of all users and the hashes of tokens.
void make_data_folder(const fs::path& data) {
  make_folder(data);
  std::error_code error;
  fs::permissions(data, fs::perms::owner_all, error);
  if (error)
    refuse(
        "--data {}: the folder must belong to the user who runs the service, on a disk that can be "
        "written ({}); choose another folder",
        data.string(), error.message());
}

std::vector<serve::AllowedVariable> allowed_variables(const ServeCommand& command) {
  std::vector<serve::AllowedVariable> variables;
  for (const std::string& each : command.variables) variables.push_back(serve::allowed_variable(each));
  for (const std::string& each : serve::hide_variables(variables)) tell("stoker: " + each);
  if (command.allows_databases)
    for (const std::string& each : serve::check_known_databases(variables)) tell("stoker: " + each);
  return variables;
}

ExitCode serve_until_ended(ServeCommand command) {
  refuse_told_password(command.store);
  for (const std::string& name : command.public_names) refuse_no_name(name);
  allow_many_descriptors();
  const fs::path data = fs::absolute(command.data);
  make_data_folder(data);
  // For everything on record, here and in the processes of jobs.
  const std::string store = command.store.empty() ? (data / "store.sqlite").string() : command.store;
  setenv("STOKER_STORE", store.c_str(), 1);
  setenv(confined_readers_variable, data.c_str(), 1);
  setenv(public_addresses_variable, command.allows_private_urls ? "0" : "1", 1);
  setenv(database::plain_roles_variable, "1", 1);
  constexpr const char* seconds_of_a_day = "86400";  // of jobs without a time limit; others have less
  setenv(database::query_seconds_variable, seconds_of_a_day, 1);
  if (command.server.certificate.empty() != command.server.key.empty())
    refuse("--certificate and --key belong together");
  unsetenv(project_variable);  // the service works in all of them
  card_types();                // a declaration of a command that is wrong is told now, not to who asks for it
  const EndOfService end;
  serve::ServiceConfig config;
  config.data = data;
  config.program = own_program();
  config.processor_slots = command.workers > 0 ? command.workers : std::max(1, cpu_cores() / 2);
  config.grace = std::chrono::seconds(command.grace);
  config.hang_after = std::chrono::seconds(command.hang_after);
  config.takes_store = command.takes_store;
  config.rebuilds_store = command.rebuilds_store;
  config.allows_urls = command.allows_urls;
  config.allows_databases = command.allows_databases;
  config.variables = allowed_variables(command);
  config.requests_per_second = command.requests_per_second;
  config.gate.is_on_loopback = is_loopback(command.server.host);
  config.gate.public_names = command.public_names;
  constexpr double seconds_of_an_hour = 3600;
  config.gate.session_time =
      std::chrono::seconds(static_cast<std::int64_t>(command.session_hours * seconds_of_an_hour));
  serve::Service service(config);
  serve::HttpServer server(command.server, service);
  const auto first_token = service.start();
  const std::string scheme = command.server.certificate.empty() ? "http" : "https";
  print(fmt::format("stoker serves {}://{}:{}, data in {}\n", scheme, command.server.host, server.port(),
                    data.string()));
  if (first_token) print(fmt::format("first token (admin), shown this once: {}\n", *first_token));
  if (service.rebuilt()) print(fmt::format("rebuilt the store: {}\n", service.rebuilt()->text()));
  if (!confinement_means().hides_files())
    tell(
        "stoker: this machine offers neither Landlock nor mount namespaces: the processes that read files of "
        "clients can open all files that the service can open");
  if (!is_loopback(command.server.host) && command.server.certificate.empty())
    tell(
        "stoker: this listens on more than this machine without encryption: tokens can be read on the way "
        "(--certificate, --key)");
  std::fflush(stdout);
  service.count_connections_by([&server] { return server.connections(); });
  serve::log_event("start",
                   {{"confinement", to_text(confinement_means())},
                    {"address", fmt::format("{}://{}:{}", scheme, command.server.host, server.port())},
                    {"data", data.string()},
                    {"store", service.records().place()},
                    {"slots", std::to_string(service.queue().slots().size())}});
  std::thread serving([&] { server.serve(); });
  end.wait();
  serve::end_program_runs();  // which requests under way would wait for
  server.stop();
  serving.join();
  service.stop();
  serve::log_event("stop", {{"running_jobs", std::to_string(service.queue().running())}});
  return ExitCode::done;
}

constexpr std::int64_t most_seconds_to_wait = 31'536'000;  // a year

void declare_limits(CLI::App& app, ServeCommand& command) {
  constexpr std::int64_t most_seconds = 86'400;
  const auto seconds = [&](const char* name, std::chrono::seconds& value, const char* help) {
    app.add_option_function<std::int64_t>(
           name, [&value](const std::int64_t& given) { value = std::chrono::seconds(given); }, help)
        ->default_str(std::to_string(value.count()))
        ->check(in_range(std::int64_t{1}, most_seconds));
  };
  serve::ServerLimits& limits = command.server.limits;
  constexpr std::size_t most_connections = 50'000;
  app.add_option("--connections", limits.connections, "Connections at a time; more are closed at once")
      ->check(in_range(std::size_t{1}, most_connections))
      ->capture_default_str();
  app.add_option("--connections-of-an-address", limits.connections_of_an_address,
                 "Connections at a time from one address")
      ->check(in_range(std::size_t{1}, most_connections))
      ->capture_default_str();
  seconds("--header-seconds", limits.header_time, "Seconds in which the head of a request must come");
  seconds("--body-seconds", limits.body_time,
          "Seconds in which the body of a request must come, and one more for each 16 KiB of it");
  seconds("--idle-seconds", limits.idle_time, "Seconds that a connection may rest between two requests");
  seconds("--write-seconds", limits.write_time,
          "Seconds in which an answer must be taken, and one more for each 16 KiB of it");
  app.add_option("--session-hours", command.session_hours, "Hours after which a browser's session ends")
      ->check(in_range(0.0, 8760.0))
      ->capture_default_str();
}

}  // namespace

Action declare_serve(CLI::App& app) {
  const auto command = std::make_shared<ServeCommand>();
  app.add_option("--host", command->server.host, "Address to listen on")->capture_default_str();
  app.add_option("--port", command->server.port, "Port to listen on; 0: any that is free")
      ->check(in_range(0, 65'535))
      ->capture_default_str();
  app.add_option("--data", command->data, "Folder for all that the service keeps")->capture_default_str();
  app.add_option(
      "--store", command->store,
      "Where jobs, datasets and models are on record: sqlite:PATH or postgresql://…; by default a file in "
      "the data folder");
  app.add_option("--workers", command->workers,
                 "Jobs that run on the CPU at a time; by default half as many as there are cores")
      ->check(in_range(1, 4096));
  app.add_option("--certificate", command->server.certificate, "File with the certificate chain, for https");
  app.add_option("--key", command->server.key, "File with its private key");
  app.add_option("--grace", command->grace, "Seconds that a job has to stop before it is ended by force")
      ->check(in_range(std::int64_t{0}, most_seconds_to_wait))
      ->capture_default_str();
  app.add_option("--hang-after", command->hang_after,
                 "Seconds without any progress after which a job is ended")
      ->check(in_range(std::int64_t{1}, most_seconds_to_wait))
      ->capture_default_str();
  app.add_option("--requests-per-second", command->requests_per_second,
                 "Requests per second of one token; 0: any number")
      ->check(in_range(0, 1'000'000))
      ->capture_default_str();
  app.add_flag("--take-store", command->takes_store,
               "Use a store whose data folder is lost; rejected while the service of that folder is running");
  app.add_flag("--rebuild-store", command->rebuilds_store,
               "Fill a lost or emptied store again from the data folder, then serve");
  app.add_option("--public-name", command->public_names,
                 "A name that the service is reached by, beside localhost; may be given several times");
  declare_limits(app, *command);
  app.add_flag("--allow-urls", command->allows_urls, "Documents may fetch data from addresses");
  app.add_flag("--allow-databases", command->allows_databases,
               "Documents may read databases by their address");
  app.add_flag("--allow-private-urls", command->allows_private_urls,
               "Allow private, loopback and link-local addresses for --allow-urls and --allow-databases");
  app.add_option(
         "--allow-variable", command->variables,
         "Environment variable that addresses may name as ${NAME}, and the host that may receive its value; "
         "may be given several times")
      ->type_name("NAME=HOST");
  add_commands_flag(app);
  app.footer(
      "Examples:\n"
      "  stoker serve\n"
      "  stoker serve --host 0.0.0.0 --certificate chain.pem --key key.pem --data /srv/stoker");
  return [command] { return serve_until_ended(*command); };
}

}  // namespace stoker::cli
