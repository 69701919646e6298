// What must not bring the service down: malformed requests, slow and rude clients, too much of anything.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/running_service.h"

namespace stoker::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using namespace std::string_literals;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

// Times that a test can wait for, and as many requests as it likes.
RunningService impatient_service() {
  return RunningService({"--header-seconds", "1", "--body-seconds", "1", "--idle-seconds", "1",
                         "--write-seconds", "1", "--requests-per-second", "0"});
}

void expect_well(const RunningService& service) {
  const HttpAnswer health = service.ask("GET", "/healthz");
  EXPECT_EQ(health.status, 200);
  EXPECT_EQ(service.get("/api/training/jobs").status, 200);
}

std::string audit_of(const RunningService& service) {
  std::ifstream file(service.data() / "audit.jsonl");
  return {std::istreambuf_iterator<char>(file), {}};
}

int status_of_bytes(const RunningService& service, const std::string& bytes) {
  Connection connection(service.port());
  connection.send(bytes);
  return connection.answer().status;
}

std::string post_head(const RunningService& service, const std::string& more) {
  return fmt::format(
      "POST /api/training/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: "
      "application/json\r\n{}\r\n",
      service.token(), more);
}

TEST(HostileRequests, ThatAreMalformedAreRefusedAndTheServiceGoesOn) {
  const RunningService service = impatient_service();
  const std::string host = "Host: localhost\r\n";
  const std::vector<std::string> malformed{
      "GET\r\n\r\n",
      "GET /healthz\r\n\r\n",
      "GET /healthz HTTP/0.9\r\n\r\n",
      "GET /healthz HTTP/9.9\r\n" + host + "\r\n",
      "GET /healthz HTTP/1.1\r\n\r\n",
      "GET  /healthz HTTP/1.1\r\n" + host + "\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      "GET healthz HTTP/1.1\r\n" + host + "\r\n",
      "GET http://localhost/healthz HTTP/1.1\r\n" + host + "\r\n",
      "OPTIONS * HTTP/1.1\r\n" + host + "\r\n",
      "G\x01T /healthz HTTP/1.1\r\n" + host + "\r\n",
      "GET /heal\0thz HTTP/1.1\r\nHost: localhost\r\n\r\n"s,
      "GET /healthz HTTP/1.1\r\nHost: local\0host\r\n\r\n"s,
      "GET /healthz HTTP/1.1\r\nHost localhost\r\n\r\n",
      "GET /healthz HTTP/1.1\r\n" + host + host + "\r\n",
      "GET /healthz HTTP/1.1\r\nHost:\r\nHost: localhost\r\n\r\n",
      "GET /%zz HTTP/1.1\r\n" + host + "\r\n",
      "GET /%00 HTTP/1.1\r\n" + host + "\r\n",
      "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a greeting of TLS\r\n\r\n",
      post_head(service, "Content-Length: 5\r\nContent-Length: 6\r\n") + "{}   ",
      post_head(service, "Content-Length: -1\r\n"),
      post_head(service, "Content-Length: 0x10\r\n"),
      post_head(service, "Content-Length: 99999999999999999999999\r\n"),
      post_head(service, "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n",
      post_head(service, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n",
      post_head(service, "Transfer-Encoding: chunked\r\n") + "zz\r\n{}\r\n0\r\n\r\n",
      post_head(service, "Transfer-Encoding: chunked\r\n") + "-2\r\n{}\r\n0\r\n\r\n",
      post_head(service, "Transfer-Encoding: chunked\r\n") + "2\r\n{}xx0\r\n\r\n",
      post_head(service, "Transfer-Encoding: chunked\r\n") + "ffffffffffffffffff\r\n{}\r\n0\r\n\r\n",
      post_head(service, "Authorization: Bearer x\r\n"),
  };
  for (const std::string& bytes : malformed)
    EXPECT_EQ(status_of_bytes(service, bytes), 400) << testing::PrintToString(bytes);
  EXPECT_EQ(status_of_bytes(service, "GET /" + std::string(100'000, 'x') + " HTTP/1.1\r\n\r\n"), 431);
  EXPECT_EQ(status_of_bytes(service, "GET / HTTP/1.1\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n"), 431);
  std::string many;
  for (int i = 0; i < 5'000; ++i) many += fmt::format("X-{}: 1\r\n", i);
  EXPECT_EQ(status_of_bytes(service, "GET /healthz HTTP/1.1\r\n" + many + "\r\n"), 431);
  expect_well(service);
  EXPECT_EQ(service.get("/api/training/jobs").json()["total"], 0);
  EXPECT_THAT(audit_of(service), HasSubstr("malformed request"));
  EXPECT_THAT(audit_of(service), Not(HasSubstr(service.token())));
}

TEST(HostileRequests, DoNotLeaveThePathsThatThereAre) {
  const RunningService service = impatient_service();
  for (const char* path : {"/../etc/passwd", "/api/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd",
                           "/api/training/jobs/..%2f..%2fstore.sqlite", "/api/training/jobs/%2e%2e/log",
                           "/./healthz", "/api/training/jobs/..%00/log", "/api/training/jobs/%2e/log"})
    EXPECT_EQ(service.get(path).status, 400) << path;
  for (const char* path : {"//etc/passwd", "/api/training/jobs/..%5c..%5cstore.sqlite/log", "/etc/passwd",
                           "/api/training/jobs/....//log", "/api/training/jobs/%252e%252e/log",
                           "/api/training/jobs/..;/log", "/audit.jsonl", "/api/training/jobs/%ff%fe/log"})
    EXPECT_EQ(service.get(path).status, 404) << path;
  expect_well(service);
}

TEST(HostileRequests, DoNotReadFilesOutsideTheDataFolder) {
  const RunningService service = impatient_service();
  fs::create_directories(service.data() / "uploads");
  fs::create_symlink("/etc/passwd", service.data() / "uploads" / "innocent.csv");
  fs::create_directory_symlink("/etc", service.data() / "uploads" / "folder");
  for (const char* path : {"/etc/passwd", "../../../etc/passwd", "uploads/../store.sqlite", "store.sqlite",
                           "audit.jsonl", "uploads/innocent.csv", "uploads/folder/passwd",
                           "/proc/self/environ", "uploads/../../data/audit.jsonl", "serve.lock"}) {
    json job = small_training(1);
    job["document"]["cards"]["load"]["config"] = {{"source", "csv"}, {"path", path}};
    const HttpAnswer answer = service.post("/api/training/jobs", job);
    EXPECT_EQ(answer.status, 422) << path << answer.body;
    EXPECT_THAT(answer.body, AnyOf(HasSubstr("not in the data folder"), HasSubstr("no file that documents")));
  }
  EXPECT_EQ(service.get("/api/training/jobs").json()["total"], 0);
}

TEST(HostileRequests, WithBodiesThatAreBombsAreRefused) {
  const RunningService service = impatient_service();
  const auto post = [&](const std::string& body) {
    return service.ask("POST", "/api/training/jobs", body, {{"Content-Type", "application/json"}}).status;
  };
  EXPECT_EQ(post(std::string(500'000, '[')), 400);
  std::string deep;
  for (int i = 0; i < 50'000; ++i) deep += R"({"a":)";
  EXPECT_EQ(post(deep), 400);
  EXPECT_EQ(post(R"({"job_name": "a", "job_name": "b"})"), 400);
  EXPECT_EQ(post("{\"job_name\": \"\xff\xfe\"}"), 400);
  EXPECT_EQ(post(R"({"job_name": "\ud800"})"), 400);
  EXPECT_EQ(post("{\"job_name\": \"\0\"}"s), 400);
  EXPECT_EQ(post("{\"priority\": 1" + std::string(100'000, '0') + "}"), 400);
  EXPECT_EQ(post(R"({"priority": 1e999})"), 400);
  std::string wide = "[";
  for (int i = 0; i < 300'000; ++i) wide += "1,";
  EXPECT_EQ(post(wide + "1]"), 400);
  EXPECT_EQ(post(R"({"priority": 99999999999999999999, "document": {}})"), 422);
  EXPECT_EQ(post("[]"), 422);
  EXPECT_EQ(post("null"), 422);
  EXPECT_EQ(post(""), 400);
  EXPECT_EQ(post(std::string((1 << 20) + 1, ' ')), 413);
  expect_well(service);
}

TEST(HostileRequests, OfTooManyBytesAreRefusedBeforeTheyHaveCome) {
  const RunningService service = impatient_service();
  EXPECT_EQ(status_of_bytes(service, post_head(service, "Content-Length: 10000000000\r\n")), 413);
  // The length is not told, and found out on the way.
  std::string chunks;
  const std::string chunk = "10000\r\n" + std::string(65'536, ' ') + "\r\n";
  for (int i = 0; i < 17; ++i) chunks += chunk;
  EXPECT_EQ(status_of_bytes(service, post_head(service, "Transfer-Encoding: chunked\r\n") + chunks), 413);
  // Nor is anything kept of a line that has no end.
  const std::string endless = "2;" + std::string(4 << 20, 'x');
  EXPECT_THAT(status_of_bytes(service, post_head(service, "Transfer-Encoding: chunked\r\n") + endless),
              AnyOf(400, 431, 0));
  // Without a token nothing is read at all.
  EXPECT_EQ(status_of_bytes(
                service,
                "POST /api/training/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000000000\r\n\r\n"),
            401);
  expect_well(service);
}

TEST(SlowClients, AreLeft) {
  const RunningService service = impatient_service();
  const auto all = [](const std::string&) { return false; };
  const std::string request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
  Connection resting(service.port());
  resting.send(request);
  Connection half_closed(service.port());
  half_closed.send(request);
  half_closed.half_close();
  Connection silent(service.port());
  Connection slow_head(service.port());
  slow_head.send("GET /healthz HTTP/1.1\r\nHost:");
  Connection slow_body(service.port());
  slow_body.send(post_head(service, "Content-Length: 1000\r\n") + "{");
  expect_well(service);
  silent.read_until(all);  // returns once the other side closes
  EXPECT_EQ(slow_head.read_until(all), "") << "who does not finish a request is not answered";
  EXPECT_EQ(slow_body.read_until(all), "");
  // The connection is closed first, and told of after that.
  EXPECT_TRUE(comes_true([&] { return audit_of(service).find("\"status\":408") != std::string::npos; }));
  EXPECT_THAT(resting.read_until(all), HasSubstr("HTTP/1.1 200"));
  EXPECT_THAT(half_closed.read_until(all), HasSubstr("HTTP/1.1 200"));
  expect_well(service);
}

TEST(RudeClients, WhoLeaveInTheMiddleLeaveNothingBehind) {
  const RunningService service = impatient_service();
  const std::string head = post_head(service, "Content-Length: 100000\r\n");
  for (int i = 0; i < 50; ++i) {
    Connection connection(service.port());
    connection.send((head + std::string(1000, ' ')).substr(0, static_cast<std::size_t>(i) * 20));
  }
  expect_well(service);
}

TEST(RudeClients, WhoAskManyThingsAtOnceGetAllAnswersInTheirOrder) {
  const RunningService service = impatient_service();
  Connection connection(service.port());
  std::string requests;
  constexpr int count = 50;
  for (int i = 0; i < count; ++i)
    requests += i % 2 == 0 ? "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
                           : "GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n";
  connection.send(requests);
  for (int i = 0; i < count; ++i) ASSERT_EQ(connection.answer().status, i % 2 == 0 ? 200 : 404) << i;
}

TEST(ManyConnections, AreClosedBeyondTheLimitAndMakeRoomAgain) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 4096);
  setrlimit(RLIMIT_NOFILE, &limit);
  const RunningService service;
  {
    std::vector<std::unique_ptr<Connection>> all;
    for (int i = 0; i < 2'000; ++i) all.push_back(std::make_unique<Connection>(service.port()));
    // Those that came first are served; of the rest nobody is answered.
    all.front()->send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(all.front()->answer().status, 200);
    all.back()->send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(all.back()->answer().status, 0);
  }
  HttpAnswer health;
  for (int i = 0; i < 100 && health.status != 200; ++i) health = service.ask("GET", "/healthz");
  EXPECT_EQ(health.status, 200);
  EXPECT_THAT(audit_of(service), HasSubstr("too many connections"));
}

std::string events_request(const RunningService& service, const std::string& job) {
  return fmt::format(
      "GET /api/training/jobs/{}/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n", job,
      service.token());
}

bool has_head(const std::string& text) {
  return text.find("\r\n\r\n") != std::string::npos;
}

TEST(ManyListeners, OfOneTokenAreLimitedAndMakeRoomWhenTheyLeave) {
  const RunningService service({"--requests-per-second", "0"});
  const std::string job = service.post("/api/training/jobs", small_training(1'000'000)).json()["id"];
  std::vector<std::unique_ptr<Connection>> listeners;
  for (int i = 0; i < 16; ++i) {
    listeners.push_back(std::make_unique<Connection>(service.port()));
    listeners.back()->send(events_request(service, job));
    ASSERT_THAT(listeners.back()->read_until(has_head), HasSubstr("HTTP/1.1 200"));
  }
  const HttpAnswer refused = service.get("/api/training/jobs/" + job + "/events");
  EXPECT_EQ(refused.status, 429);
  EXPECT_THAT(refused.body, HasSubstr("16 streams"));
  listeners.pop_back();
  std::string head;
  for (int i = 0; i < 100 && head.find("HTTP/1.1 200") == std::string::npos; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    Connection again(service.port());
    again.send(events_request(service, job));
    head = again.read_until(has_head);
  }
  EXPECT_THAT(head, HasSubstr("HTTP/1.1 200"));
}

// More listeners than the service has threads that answer, each of which waits for a file that gives nothing.
TEST(ManyListeners, ThatKeepTheirThreadsBusyKeepNoRequestWaiting) {
  const RunningService service({"--workers", "1", "--requests-per-second", "0"});
  service.post("/api/training/jobs", small_training(1'000'000));
  const std::string waiting = service.post("/api/training/jobs", small_training(1)).json()["id"];
  const fs::path progress = service.data() / "jobs" / waiting / "progress.json";
  ASSERT_EQ(mkfifo(progress.c_str(), 0600), 0);
  std::vector<std::unique_ptr<Connection>> listeners;
  for (int i = 0; i < 14; ++i) {
    listeners.push_back(std::make_unique<Connection>(service.port()));
    listeners.back()->send(events_request(service, waiting));
    EXPECT_THAT(listeners.back()->read_until(has_head), HasSubstr("HTTP/1.1 200"));
  }
  std::this_thread::sleep_for(std::chrono::seconds(1));
  Connection other(service.port());
  other.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(other.answer().status, 200);
  const int writer = open(progress.c_str(), O_RDWR | O_CLOEXEC);
  fs::remove(progress);
  close(writer);
}

TEST(ManyRequests, AreToldToWait) {
  const RunningService service({"--requests-per-second", "5"});
  std::vector<int> statuses;
  for (int i = 0; i < 40; ++i) statuses.push_back(service.get("/api/training/jobs").status);
  EXPECT_EQ(statuses.front(), 200);
  EXPECT_THAT(statuses, testing::Contains(429));
  // Guessing paths is no way around it.
  std::vector<int> guesses;
  for (int i = 0; i < 40; ++i) guesses.push_back(service.get("/nowhere").status);
  EXPECT_THAT(guesses, testing::Contains(429));
}

TEST(Uploads, ThatWereNotWholeWhenTheServiceWasKilledAreRemoved) {
  RunningService service;
  fs::create_directories(service.data() / "uploads");
  const fs::path left = service.data() / "uploads" / ".receiving-1";
  service.kill();
  std::ofstream(left) << "half of it";
  std::ofstream(service.data() / "uploads" / "kept.csv") << "a\n1\n";
  service.start();
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(service.data() / "uploads" / "kept.csv"));
}

TEST(EndOfService, DoesNotWaitForConnectionsThatAreOpen) {
  RunningService service;
  Connection idle(service.port());
  Connection listener(service.port());
  const std::string id = service.post("/api/training/jobs", small_training(1'000'000)).json()["id"];
  listener.send(fmt::format(
      "GET /api/training/jobs/{}/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n", id,
      service.token()));
  listener.read_until([](const std::string& text) { return text.find("event:") != std::string::npos; });
  EXPECT_EQ(service.stop().code, 0);
}

TEST(Encryption, IsByCertificateFilesAndThenTheOnlyWay) {
  const Workplace place;
  const std::string key = (place.folder() / "key.pem").string();
  const std::string certificate = (place.folder() / "chain.pem").string();
  const std::string make = fmt::format(
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost "
      "-keyout "
      "{} -out {} 2>/dev/null",
      key, certificate);
  if (std::system("command -v openssl >/dev/null") != 0) GTEST_SKIP() << "openssl is not installed";
  ASSERT_EQ(std::system(make.c_str()), 0);
  const RunningService service({"--certificate", certificate, "--key", key});
  const std::string answer = (place.folder() / "answer").string();
  const std::string ask = fmt::format(
      "printf 'POST /api/session HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\nContent-Type: "
      "application/json\\r\\nContent-Length: {}\\r\\n\\r\\n{{\"token\":\"{}\"}}' | openssl s_client -quiet "
      "-CAfile {} "
      "-verify_return_error -connect 127.0.0.1:{} >{} 2>/dev/null",
      service.token().size() + 12, service.token(), certificate, service.port(), answer);
  [[maybe_unused]] const int code = std::system(ask.c_str());
  const std::string text = place.read("answer");
  EXPECT_THAT(text, HasSubstr("HTTP/1.1 201"));
  EXPECT_THAT(text, HasSubstr("; HttpOnly; SameSite=Strict; Secure"));
  EXPECT_EQ(status_of_bytes(service, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"), 0);

  const auto refused = [&](const std::string& chain, const std::string& with) {
    return place.stoker({"serve", "--port", "0", "--data", "other", "--certificate", chain, "--key", with});
  };
  EXPECT_THAT(refused("nowhere.pem", key).errors, HasSubstr("the certificate nowhere.pem cannot be read"));
  EXPECT_THAT(refused(certificate, certificate).errors, HasSubstr("cannot be read, or is not that of"));
  EXPECT_EQ(refused(certificate, certificate).code, 2);
  EXPECT_THAT(place.stoker({"serve", "--data", "other", "--key", key}).errors, HasSubstr("belong together"));
}

}  // namespace
}  // namespace stoker::test
