#include "database/postgres_cluster.h"

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "database/postgres/postgres_library.h"
#include "patience.h"

namespace stoker::test {
namespace {

namespace fs = std::filesystem;

fs::path programs_folder() {
  fs::path newest;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", error)) {
    const bool is_newer = newest.empty() || std::atoi(entry.path().filename().c_str()) >
                                                std::atoi(newest.parent_path().filename().c_str());
    if (is_newer && fs::exists(entry.path() / "bin" / "initdb")) newest = entry.path() / "bin";
  }
  return newest;
}

// None is needed where the tests are not run as root.
const passwd* other_user() {
  if (::getuid() != 0) return nullptr;
  const passwd* found = ::getpwnam("postgres");
  return found != nullptr ? found : ::getpwnam("nobody");
}

int free_port() {
  const int probe = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (::bind(probe, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("no free port");
  ::close(probe);
  return ntohs(address.sin_port);
}

pid_t start_program(const std::vector<std::string>& words, const fs::path& log) {
  const passwd* user = other_user();
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child != 0) return child;
  const int output = ::open(log.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0666);
  ::dup2(output, 1);
  ::dup2(output, 2);
  if (user != nullptr &&
      (::setgroups(0, nullptr) != 0 || ::setgid(user->pw_gid) != 0 || ::setuid(user->pw_uid) != 0))
    ::_exit(126);
  ::prctl(PR_SET_PDEATHSIG, SIGQUIT);  // PostgreSQL ends at once
  if (::getppid() != parent || ::chdir("/") != 0) ::_exit(126);
  ::unsetenv("PGPASSWORD");
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

std::string log_text(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

std::unique_ptr<PostgresCluster> PostgresCluster::start() {
  const fs::path programs = programs_folder();
  if (programs.empty()) return nullptr;
  std::unique_ptr<PostgresCluster> cluster(new PostgresCluster);
  cluster->make(programs);
  cluster->begin(programs);
  return cluster;
}

void PostgresCluster::make(const fs::path& programs) {
  std::string pattern = (fs::temp_directory_path() / "stoker-pg-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = pattern;
  std::ofstream(folder_ / "password") << password << "\n";
  if (const passwd* owner = other_user()) {
    for (const fs::path& each : {folder_, folder_ / "password"})
      if (::chown(each.c_str(), owner->pw_uid, owner->pw_gid) != 0) throw std::runtime_error("chown failed");
  }
  const pid_t child = start_program({(programs / "initdb").string(), "-D", (folder_ / "data").string(), "-U",
                                     user, "--auth-local=trust", "--auth-host=scram-sha-256", "--pwfile",
                                     (folder_ / "password").string(), "-E", "UTF8", "--locale=C", "-N"},
                                    folder_ / "log");
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) throw std::runtime_error("initdb failed: " + log_text(folder_ / "log"));
}

void PostgresCluster::begin(const fs::path& programs) {
  for (int attempt = 0; attempt < 5; ++attempt) {  // somebody else may take the port meanwhile
    port_ = free_port();
    server_ = start_program({(programs / "postgres").string(), "-D", (folder_ / "data").string(), "-p",
                             std::to_string(port_), "-k", folder_.string(), "-c",
                             "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "max_connections=20"},
                            folder_ / "log");
    for (const auto end = std::chrono::steady_clock::now() + test::an_hour;
         std::chrono::steady_clock::now() < end;) {
      int status = 0;
      if (::waitpid(server_, &status, WNOHANG) == server_) break;
      if (is_ready()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
  throw std::runtime_error("PostgreSQL does not start: " + log_text(folder_ / "log"));
}

PostgresCluster::~PostgresCluster() {
  if (server_ > 0) {
    ::kill(server_, SIGQUIT);
    ::waitpid(server_, nullptr, 0);
  }
  std::error_code error;
  fs::remove_all(folder_, error);
}

std::string PostgresCluster::local_address() const {
  return "host=" + folder_.string() + " port=" + std::to_string(port_) + " user=" + user + " dbname=postgres";
}

std::string PostgresCluster::network_address(const std::string& secret) const {
  return std::string("postgres://") + user + (secret.empty() ? "" : ":" + secret) +
         "@127.0.0.1:" + std::to_string(port_) + "/postgres";
}

namespace {

using OpenConnection = std::unique_ptr<database::PGconn, void (*)(database::PGconn*)>;

OpenConnection connected(const std::string& address) {
  const database::PostgresLibrary& pq = database::postgres_library();
  const std::array<const char*, 2> keywords{"dbname", nullptr};
  const std::array<const char*, 2> values{address.c_str(), nullptr};
  return {pq.connect(keywords.data(), values.data(), 1), pq.finish};
}

}  // namespace

bool PostgresCluster::is_ready() const {
  return database::postgres_library().status(connected(local_address()).get()) ==
         database::ConnectionStatus::ok;
}

std::string PostgresCluster::run(const std::string& statement) const {
  const database::PostgresLibrary& pq = database::postgres_library();
  const OpenConnection connection = connected(local_address());
  pq.send_query(connection.get(), statement.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 0);
  std::string value;
  while (database::PGresult* result = pq.result(connection.get())) {
    const std::string error = pq.result_error(result);
    if (pq.tuples(result) > 0 && pq.fields(result) > 0) value = pq.value(result, 0, 0);
    pq.clear(result);
    if (!error.empty()) throw std::runtime_error(statement + ": " + error);
  }
  return value;
}

}  // namespace stoker::test
