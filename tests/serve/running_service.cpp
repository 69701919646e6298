#include "serve/running_service.h"

#include <csignal>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace stoker::test {
namespace {

using std::chrono::steady_clock;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Bytes of a chunked body; empty where it is not whole.
std::string joined_chunks(const std::string& text, bool& is_whole) {
  std::string body;
  std::size_t at = 0;
  is_whole = false;
  for (;;) {
    const std::size_t end = text.find("\r\n", at);
    if (end == std::string::npos) return body;
    const std::size_t size = std::stoul(text.substr(at, end - at), nullptr, 16);
    at = end + 2;
    if (text.size() < at + size + 2) return body;
    if (size == 0) {
      is_whole = true;
      return body;
    }
    body += text.substr(at, size);
    at += size + 2;
  }
}

}  // namespace

std::string HttpAnswer::header(const std::string& name) const {
  const std::string all = lower(head);
  const std::size_t at = all.find("\r\n" + name + ":");
  if (at == std::string::npos) return "";
  std::size_t begin = at + name.size() + 3;
  while (begin < head.size() && head[begin] == ' ') ++begin;
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

Connection::Connection(int port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("no connection to the service");
}

Connection::~Connection() {
  close(socket_);
}

bool Connection::send(const std::string& bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t count = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

void Connection::half_close() {
  shutdown(socket_, SHUT_WR);
}

std::string Connection::read_until(const std::function<bool(const std::string&)>& enough,
                                   std::chrono::seconds patience) {
  const auto until = steady_clock::now() + patience;
  std::string text = std::move(left_);
  left_.clear();
  while (!enough(text) && steady_clock::now() < until) {
    pollfd waiting{socket_, POLLIN, 0};
    if (poll(&waiting, 1, 200) <= 0) continue;
    char bytes[65'536];
    const ssize_t count = recv(socket_, bytes, sizeof bytes, 0);
    if (count <= 0) break;
    text.append(bytes, static_cast<std::size_t>(count));
  }
  return text;
}

HttpAnswer Connection::answer(std::chrono::seconds patience) {
  HttpAnswer answer;
  const std::string text = read_until(
      [&](const std::string& so_far) {
        const std::size_t end = so_far.find("\r\n\r\n");
        if (end == std::string::npos) return false;
        answer.head = so_far.substr(0, end + 2);
        if (lower(answer.header("transfer-encoding")) == "chunked") {
          bool is_whole = false;
          answer.body = joined_chunks(so_far.substr(end + 4), is_whole);
          return is_whole;
        }
        const std::string length = answer.header("content-length");
        const std::size_t expected = length.empty() ? 0 : std::stoul(length);
        return so_far.size() >= end + 4 + expected;
      },
      patience);
  const std::size_t end = text.find("\r\n\r\n");
  if (end == std::string::npos) return answer;
  answer.head = text.substr(0, end + 2);
  answer.status = std::stoi(text.substr(text.find(' ') + 1, 3));
  if (answer.header("transfer-encoding").empty()) {
    const std::string length = answer.header("content-length");
    const std::size_t expected = length.empty() ? 0 : std::stoul(length);
    answer.body = text.substr(end + 4, expected);
    if (text.size() > end + 4 + expected) left_ = text.substr(end + 4 + expected);
  }
  return answer;
}

RunningService::RunningService(std::vector<std::string> options) : options_(std::move(options)) {
  start();
}

RunningService::~RunningService() {
  program_.reset();
  // Processes of jobs outlive the service; those of a test do not outlive the test.
  std::error_code ignored;
  for (const auto& job : std::filesystem::directory_iterator(data() / "jobs", ignored)) {
    std::ifstream file(job.path() / "lock");
    long process = 0;
    if (file >> process && process > 1) ::kill(static_cast<pid_t>(-process), SIGKILL);
  }
}

void RunningService::start() {
  std::vector<std::string> words{STOKER_PROGRAM, "serve", "--port", "0", "--data", data().string()};
  words.insert(words.end(), options_.begin(), options_.end());
  program_ = std::make_unique<Program>(words, place_.folder());
  const auto until = steady_clock::now() + an_hour;
  while (steady_clock::now() < until) {
    const std::string said = program_->output_so_far();
    const std::size_t at = said.find("://127.0.0.1:");
    const std::size_t secret = said.find("stk_");
    // The first token is told behind the address, and only once.
    const bool has_token =
        !token_.empty() || (secret != std::string::npos && said.find('\n', secret) != std::string::npos);
    if (at != std::string::npos && has_token) {
      port_ = std::stoi(said.substr(at + 13));
      if (secret != std::string::npos) token_ = said.substr(secret, said.find('\n', secret) - secret);
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  throw std::runtime_error("the service did not start: " + program_->errors_so_far());
}

void RunningService::kill() {
  program_->send(SIGKILL);
  program_->wait();
}

Finished RunningService::stop() {
  program_->send(SIGTERM);
  return program_->wait();
}

HttpAnswer RunningService::ask(const std::string& method, const std::string& path, const std::string& body,
                               const Headers& headers) const {
  std::string text =
      fmt::format("{} {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n", method, path, port_);
  bool has_authorization = false;
  for (const auto& [name, value] : headers) {
    if (lower(name) == "authorization") has_authorization = true;
    if (!value.empty()) text += name + ": " + value + "\r\n";
  }
  if (!has_authorization) text += "Authorization: Bearer " + token_ + "\r\n";
  if (!body.empty() || method == "POST" || method == "PUT")
    text += fmt::format("Content-Length: {}\r\n", body.size());
  Connection connection(port_);
  connection.send(text + "\r\n" + body);
  return connection.answer();
}

nlohmann::json RunningService::wait_for_job(const std::string& id, const std::vector<std::string>& states,
                                            std::chrono::seconds patience) const {
  const auto until = steady_clock::now() + patience;
  nlohmann::json job;
  while (steady_clock::now() < until) {
    job = get("/api/training/jobs/" + id).json();
    for (const std::string& state : states)
      if (job.value("state", "") == state) return job;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  throw std::runtime_error("the job is still " + job.dump());
}

nlohmann::json small_training(int epochs, int seed) {
  return {
      {"job_name", "small"},
      {"document",
       {{"version", 1},
        {"name", "small"},
        {"cards",
         {{"load",
           {{"type", "data_load"},
            {"config", {{"source", "sample"}, {"sample_name", "boston_housing"}, {"sample_rows", 2000}}}}},
          {"split", {{"type", "data_split"}, {"inputs", {{"dataset", "load.dataset"}}}}},
          {"model",
           {{"type", "model_define_gpu"},
            {"config", {{"hidden_layers", {16}}, {"epochs", epochs}, {"seed", seed}, {"batch_size", 32}}}}},
          {"train",
           {{"type", "train_gpu"},
            {"inputs", {{"train_dataset", "split.train_dataset"}, {"model_spec", "model.model_spec"}}},
            {"config", {{"target_column", "MEDV"}, {"device", "cpu"}}}}},
          {"evaluate",
           {{"type", "evaluate"},
            {"inputs",
             {{"trained_model", "train.trained_model"}, {"test_dataset", "split.test_dataset"}}}}}}}}}};
}

}  // namespace stoker::test
