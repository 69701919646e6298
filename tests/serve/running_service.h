#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "patience.h"

namespace stoker::test {

struct HttpAnswer {
  int status = 0;  // 0: the connection ended without an answer
  std::string head;
  std::string body;
  nlohmann::json json() const { return nlohmann::json::parse(body, nullptr, false); }
  std::string header(const std::string& name) const;  // name in lower case; empty: there is none
};

// One connection, on which a test says what it likes.
class Connection {
 public:
  explicit Connection(int port);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  bool send(const std::string& bytes);  // false: the other side has closed it
  void half_close();
  HttpAnswer answer(std::chrono::seconds patience = test::an_hour);
  // What comes until the other side closes, or until `enough` says so.
  std::string read_until(const std::function<bool(const std::string&)>& enough,
                         std::chrono::seconds patience = test::an_hour);

 private:
  int socket_ = -1;
  std::string left_;  // read, and not yet given out
};

// The real service in a process of its own, on a free port of this machine, with a data folder of its own.
class RunningService {
 public:
  explicit RunningService(std::vector<std::string> options = {});
  ~RunningService();  // jobs that still run are ended too

  int port() const { return port_; }
  const std::string& token() const { return token_; }  // of an admin
  void use_token(const std::string& token) { token_ = token; }
  std::filesystem::path data() const { return place_.folder() / "data"; }
  const Workplace& place() const { return place_; }
  std::string errors() const { return program_->errors_so_far(); }
  pid_t process() const { return program_->process(); }

  void kill();      // SIGKILL; jobs go on
  Finished stop();  // SIGTERM
  void start();     // again, on another port, with the same data

  using Headers = std::vector<std::pair<std::string, std::string>>;
  // With the token, unless the headers have an authorization of their own ("" for none).
  HttpAnswer ask(const std::string& method, const std::string& path, const std::string& body = "",
                 const Headers& headers = {}) const;
  HttpAnswer post(const std::string& path, const nlohmann::json& body) const {
    return ask("POST", path, body.dump(), {{"Content-Type", "application/json"}});
  }
  HttpAnswer get(const std::string& path) const { return ask("GET", path); }

  // Waits until a job is in one of these states, and returns it.
  nlohmann::json wait_for_job(const std::string& id, const std::vector<std::string>& states,
                              std::chrono::seconds patience = test::an_hour) const;

 private:
  std::vector<std::string> options_;
  Workplace place_;
  std::unique_ptr<Program> program_;
  int port_ = 0;
  std::string token_;
};

// A small document that trains a network on a sample for so many epochs; `seed` makes it another training.
nlohmann::json small_training(int epochs, int seed = 1);

}  // namespace stoker::test
