#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/commands_flag.h"
#include "cli/terminal.h"
#include "device/device.h"
#include "pipeline/document.h"
#include "serve/http_server.h"
#include "serve/log.h"
#include "serve/service.h"

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
  bool allows_urls = false;
  bool allows_databases = false;
};

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
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

ExitCode serve_until_ended(ServeCommand command) {
  const fs::path data = fs::absolute(command.data);
  fs::create_directories(data);
  fs::permissions(data, fs::perms::owner_all);
  // For everything on record, here and in the processes of jobs.
  const std::string store = command.store.empty() ? (data / "store.sqlite").string() : command.store;
  setenv("STOKER_STORE", store.c_str(), 1);
  if (command.server.certificate.empty() != command.server.key.empty())
    refuse("--certificate and --key belong together");
  card_types();  // a declaration of a command that is wrong is told now, not to who asks for it
  const EndOfService end;
  serve::ServiceConfig config;
  config.data = data;
  config.program = fs::read_symlink("/proc/self/exe");
  config.processor_slots = command.workers > 0 ? command.workers : std::max(1, cpu_cores() / 2);
  config.grace = std::chrono::seconds(command.grace);
  config.hang_after = std::chrono::seconds(command.hang_after);
  config.takes_store = command.takes_store;
  config.allows_urls = command.allows_urls;
  config.allows_databases = command.allows_databases;
  config.requests_per_second = command.requests_per_second;
  serve::Service service(config);
  serve::HttpServer server(command.server, service);
  const auto first_token = service.start();
  const std::string scheme = command.server.certificate.empty() ? "http" : "https";
  print(fmt::format("stoker serves {}://{}:{}, data in {}\n", scheme, command.server.host, server.port(),
                    data.string()));
  if (first_token) print(fmt::format("first token (admin), shown this once: {}\n", *first_token));
  if (!is_loopback(command.server.host) && command.server.certificate.empty())
    tell(
        "stoker: this listens on more than this machine without encryption: tokens can be read on the way "
        "(--certificate, --key)");
  std::fflush(stdout);
  service.count_connections_by([&server] { return server.connections(); });
  serve::log_event("start",
                   {{"address", fmt::format("{}://{}:{}", scheme, command.server.host, server.port())},
                    {"data", data.string()},
                    {"store", service.records().place()},
                    {"slots", std::to_string(service.queue().slots().size())}});
  std::thread serving([&] { server.serve(); });
  end.wait();
  server.stop();
  serving.join();
  service.stop();
  serve::log_event("stop", {{"running_jobs", std::to_string(service.queue().running())}});
  return ExitCode::done;
}

}  // namespace

Action declare_serve(CLI::App& app) {
  const auto command = std::make_shared<ServeCommand>();
  app.add_option("--host", command->server.host, "Address to listen on")->capture_default_str();
  app.add_option("--port", command->server.port, "Port to listen on; 0: any that is free")
      ->capture_default_str();
  app.add_option("--data", command->data, "Folder for all that the service keeps")->capture_default_str();
  app.add_option(
      "--store", command->store,
      "Where jobs, datasets and models are on record: sqlite:PATH or postgresql://…; by default a file in "
      "the data folder");
  app.add_option("--workers", command->workers,
                 "Jobs that run on the processor at a time; by default half as many as there are cores");
  app.add_option("--certificate", command->server.certificate, "File with the certificate chain, for https");
  app.add_option("--key", command->server.key, "File with its private key");
  app.add_option("--grace", command->grace, "Seconds that a job has to stop before it is ended by force")
      ->capture_default_str();
  app.add_option("--hang-after", command->hang_after,
                 "Seconds without any progress after which a job is ended")
      ->capture_default_str();
  app.add_option("--requests-per-second", command->requests_per_second, "Of one token; 0: any number")
      ->capture_default_str();
  app.add_flag("--take-store", command->takes_store,
               "Run the jobs of this store here, though they were those of another data folder that is gone");
  app.add_flag("--allow-urls", command->allows_urls, "Documents may fetch data from addresses");
  app.add_flag("--allow-databases", command->allows_databases,
               "Documents may read databases by their address");
  add_commands_flag(app);
  app.footer(
      "Examples:\n"
      "  stoker serve\n"
      "  stoker serve --host 0.0.0.0 --certificate chain.pem --key key.pem --data /srv/stoker");
  return [command] { return serve_until_ended(*command); };
}

}  // namespace stoker::cli
