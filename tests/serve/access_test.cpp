// Who may do what: tokens, roles, sessions of browsers, pages of other sites.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/running_service.h"

namespace stoker::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

using Headers = RunningService::Headers;

const std::pair<std::string, std::string> no_token{"Authorization", ""};
const std::pair<std::string, std::string> is_json{"Content-Type", "application/json"};

std::string origin_of(const RunningService& service) {
  return fmt::format("http://127.0.0.1:{}", service.port());
}

std::string content_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Browser {
  explicit Browser(const RunningService& service, const std::string& token)
      : opened(service.ask("POST", "/api/session", json{{"token", token}}.dump(),
                           {no_token, is_json, {"Origin", origin_of(service)}})),
        cookie(opened.header("set-cookie").substr(0, opened.header("set-cookie").find(';'))),
        csrf(opened.json().value("csrf_token", "")) {}

  HttpAnswer get(const RunningService& service, const std::string& path) const {
    return service.ask("GET", path, "", {no_token, {"Cookie", cookie}});
  }
  HttpAnswer post(const RunningService& service, const std::string& path, const json& body,
                  Headers more) const {
    more.insert(more.end(), {no_token, is_json, {"Cookie", cookie}});
    return service.ask("POST", path, body.dump(), more);
  }

  HttpAnswer opened;
  std::string cookie;
  std::string csrf;
};

TEST(ServiceSession, IsACookieThatScriptsCannotReadAndOtherSitesDoNotSend) {
  const RunningService service;
  const Browser browser(service, service.token());
  ASSERT_EQ(browser.opened.status, 201) << browser.opened.body;
  EXPECT_THAT(browser.opened.header("set-cookie"), HasSubstr("; HttpOnly; SameSite=Strict"));
  EXPECT_THAT(browser.opened.header("set-cookie"), Not(HasSubstr("Secure")));
  EXPECT_THAT(browser.opened.header("set-cookie"), Not(HasSubstr(service.token())));
  const HttpAnswer who = browser.get(service, "/api/session");
  EXPECT_EQ(who.status, 200);
  EXPECT_EQ(who.json()["role"], "admin");
  EXPECT_EQ(who.json()["csrf_token"], browser.csrf);
  EXPECT_EQ(browser.get(service, "/api/training/jobs").status, 200);
}

TEST(ServiceSession, ChangesNothingWithoutItsCsrfTokenAndItsOwnOrigin) {
  const RunningService service;
  const Browser browser(service, service.token());
  const std::string path = "/api/training/jobs";
  const std::string own = origin_of(service);
  const auto status = [&](Headers headers) {
    return browser.post(service, path, small_training(1), std::move(headers)).status;
  };
  EXPECT_EQ(status({}), 403);
  EXPECT_EQ(status({{"Origin", own}}), 403);
  EXPECT_EQ(status({{"X-CSRF-Token", browser.csrf}}), 403);
  EXPECT_EQ(status({{"Origin", own}, {"X-CSRF-Token", browser.csrf + "0"}}), 403);
  for (const char* foreign : {"http://evil.example", "null", "https://127.0.0.1.evil.example",
                              "http://127.0.0.1", "http://127.0.0.1:1", "file://", "http://"})
    EXPECT_EQ(status({{"Origin", foreign}, {"X-CSRF-Token", browser.csrf}}), 403) << foreign;
  EXPECT_EQ(service.get(path).json()["total"], 0);
  EXPECT_EQ(status({{"Origin", own}, {"X-CSRF-Token", browser.csrf}}), 201);
}

TEST(ServiceSession, CannotBeOpenedByAnotherSiteOrWithAWrongToken) {
  const RunningService service;
  const auto open = [&](const std::string& body, const std::string& origin, const std::string& type) {
    return service.ask("POST", "/api/session", body, {no_token, {"Content-Type", type}, {"Origin", origin}});
  };
  const std::string good = json{{"token", service.token()}}.dump();
  EXPECT_EQ(open(good, "http://evil.example", "application/json").status, 403);
  EXPECT_EQ(open(good, origin_of(service), "text/plain").status, 415);
  EXPECT_EQ(open(R"({"token": "stk_0"})", origin_of(service), "application/json").status, 401);
  EXPECT_EQ(open(R"({"tokens": 1})", origin_of(service), "application/json").status, 422);
  EXPECT_EQ(open("", origin_of(service), "application/json").status, 400);
  EXPECT_EQ(service.ask("GET", "/api/session", "", {no_token}).status, 401);
  EXPECT_EQ(service.ask("GET", "/api/session", "", {no_token, {"Cookie", "stoker_session=1"}}).status, 401);
}

TEST(ServiceSession, SurvivesARestartAndEndsWhenItIsEnded) {
  RunningService service;
  const Browser browser(service, service.token());
  ASSERT_EQ(browser.opened.status, 201);
  service.kill();
  service.start();
  // The port is another one now, and the name of the cookie has it.
  const std::string secret = browser.cookie.substr(browser.cookie.find('='));
  const std::string cookie = fmt::format("stoker_session_{}{}", service.port(), secret);
  const Headers with_cookie{no_token, {"Cookie", cookie}};
  EXPECT_EQ(service.ask("GET", "/api/session", "", with_cookie).status, 200);
  Headers to_end = with_cookie;
  EXPECT_EQ(service.ask("DELETE", "/api/session", "", to_end).status, 403);
  to_end.insert(to_end.end(), {{"Origin", origin_of(service)}, {"X-CSRF-Token", browser.csrf}});
  const HttpAnswer ended = service.ask("DELETE", "/api/session", "", to_end);
  EXPECT_EQ(ended.status, 200);
  EXPECT_THAT(ended.header("set-cookie"), HasSubstr("Max-Age=0"));
  EXPECT_EQ(service.ask("GET", "/api/session", "", with_cookie).status, 401);
}

TEST(ServiceSession, EndsByItselfAfterItsTime) {
  const RunningService service({"--session-hours", "0.0006"});  // two seconds
  const Browser browser(service, service.token());
  ASSERT_EQ(browser.opened.status, 201);
  int status = 200;
  comes_true([&] {
    status = browser.get(service, "/api/session").status;
    return status != 200;
  });
  EXPECT_EQ(status, 401);
}

TEST(ServiceTokens, AreMadeShownOnceAndRevokedByAdminsAlone) {
  const RunningService service;
  const HttpAnswer made = service.post("/api/tokens", {{"name", "anna"}, {"role", "user"}, {"days", 3}});
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string token = made.json()["token"];
  EXPECT_FALSE(made.json()["expires"].get<std::string>().empty());
  EXPECT_THAT(service.get("/api/tokens").body, Not(HasSubstr(token)));
  EXPECT_THAT(service.get("/api/tokens").body, HasSubstr("anna"));
  const Headers of_anna{{"Authorization", "Bearer " + token}, is_json};
  EXPECT_EQ(service.ask("GET", "/api/tokens", "", of_anna).status, 403);
  EXPECT_EQ(service.ask("POST", "/api/tokens", R"({"name": "anna", "role": "admin"})", of_anna).status, 403);
  const std::string path = "/api/tokens/" + made.json()["id"].get<std::string>();
  EXPECT_EQ(service.ask("DELETE", path, "", of_anna).status, 403);
  EXPECT_EQ(service.ask("GET", "/api/training/jobs", "", of_anna).status, 200);
  const HttpAnswer second = service.post("/api/tokens", {{"name", "anna"}, {"role", "viewer"}});
  EXPECT_EQ(second.status, 409);
  EXPECT_THAT(second.body, HasSubstr(made.json()["id"].get<std::string>()));
  EXPECT_EQ(service.ask("DELETE", path).status, 200);
  EXPECT_EQ(service.ask("GET", "/api/training/jobs", "", of_anna).status, 401);
  EXPECT_EQ(service.post("/api/tokens", {{"name", "anna"}, {"role", "viewer"}}).status, 201);
}

TEST(ServiceTokens, RefusesWhatIsWrongWithOne) {
  const RunningService service;
  for (const json& wrong : std::vector<json>{{{"role", "user"}},
                                             {{"name", ""}},
                                             {{"name", "a\nb"}},
                                             {{"name", std::string(200, 'x')}},
                                             {{"name", "a"}, {"role", "root"}},
                                             {{"name", "a"}, {"days", -1}},
                                             {{"name", "a"}, {"id", "1"}}})
    EXPECT_EQ(service.post("/api/tokens", wrong).status, 422) << wrong;
  EXPECT_EQ(service.ask("DELETE", "/api/tokens/first").status, 404);
  const std::string first = service.get("/api/tokens").json()["tokens"][0]["id"];
  const HttpAnswer last = service.ask("DELETE", "/api/tokens/" + first);
  EXPECT_EQ(last.status, 409);
  EXPECT_THAT(last.body, HasSubstr("make another first"));
}

TEST(ServiceTokens, OfViewersLookAndChangeNothing) {
  const RunningService service;
  const std::string token =
      service.post("/api/tokens", {{"name", "eve"}, {"role", "viewer"}}).json()["token"];
  const Headers of_eve{{"Authorization", "Bearer " + token}, is_json};
  EXPECT_EQ(service.ask("GET", "/api/training/jobs", "", of_eve).status, 200);
  const HttpAnswer refused = service.ask("POST", "/api/training/jobs", small_training(1).dump(), of_eve);
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("user or admin"));
  EXPECT_THAT(service.ask("GET", "/api/tokens", "", of_eve).body, HasSubstr("a token of admin"));
  service.post("/api/datasets/generate", {{"id", "rows"}, {"sample", "boston_housing"}, {"rows", 20}});
  EXPECT_EQ(service.ask("POST", "/api/datasets/rows/validate", "{}", of_eve).status, 200);
  EXPECT_EQ(service.ask("POST", "/api/datasets/rows/repair", "{}", of_eve).status, 403);
  // A session has the rights of its token, no more.
  const Browser browser(service, token);
  EXPECT_EQ(browser.opened.json()["role"], "viewer");
  const Headers proof{{"Origin", origin_of(service)}, {"X-CSRF-Token", browser.csrf}};
  EXPECT_EQ(browser.post(service, "/api/training/jobs", small_training(1), proof).status, 403);
}

// What the command does goes around the service, which must notice.
TEST(ServiceTokens, RevokedByTheCommandStopWithTheirSessionsAndEventStreams) {
  const RunningService service;
  const std::string folder = service.data().string();
  const Finished made = service.place().stoker({"tokens", "create", "bob", "--data", folder});
  ASSERT_EQ(made.code, 0) << made.errors;
  const std::string token = made.output.substr(0, made.output.find('\n'));
  const Browser browser(service, token);
  ASSERT_EQ(browser.opened.status, 201);
  const std::string id = service.post("/api/training/jobs", small_training(1'000'000)).json()["id"];
  Connection listener(service.port());
  listener.send(fmt::format(
      "GET /api/training/jobs/{}/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n", id,
      token));
  Connection browsing(service.port());
  browsing.send(
      fmt::format("GET /api/training/jobs/{}/events HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nCookie: {}\r\n\r\n", id,
                  service.port(), browser.cookie));
  const auto has_state = [](const std::string& text) {
    return text.find("event: state") != std::string::npos;
  };
  ASSERT_THAT(listener.read_until(has_state), HasSubstr("event: state"));
  ASSERT_THAT(browsing.read_until(has_state), HasSubstr("event: state"));
  ASSERT_EQ(service.place().stoker({"tokens", "revoke", "bob", "--data", folder}).code, 0);
  const auto has_ended = [](const std::string& text) { return text.ends_with("\r\n0\r\n\r\n"); };
  EXPECT_TRUE(has_ended(listener.read_until(has_ended)));
  EXPECT_TRUE(has_ended(browsing.read_until(has_ended)));
  EXPECT_EQ(service.ask("GET", "/api/training/jobs", "", {{"Authorization", "Bearer " + token}}).status, 401);
  EXPECT_EQ(browser.get(service, "/api/training/jobs").status, 401);
}

TEST(ServiceTokens, AreRefusedByTheCommandWithTheReason) {
  const RunningService service;
  const std::string folder = service.data().string();
  const auto refused = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "tokens");
    const Finished finished = service.place().stoker(words);
    EXPECT_EQ(finished.code, 2) << finished.output;
    return finished.errors;
  };
  EXPECT_THAT(refused({"create", "a\x1b[2J", "--data", folder}), HasSubstr("\\x1b"));
  EXPECT_THAT(refused({"create", "a", "--role", "root", "--data", folder}), HasSubstr("root"));
  EXPECT_THAT(refused({"create", "a", "--days", "-1", "--data", folder}), HasSubstr("--days"));
  EXPECT_THAT(refused({"revoke", "frist", "--data", folder}), HasSubstr("did you mean first?"));
  EXPECT_THAT(refused({"list", "--data", "nowhere"}), HasSubstr("no service's data in nowhere"));
  EXPECT_THAT(refused({}), HasSubstr("Available: create, list, grant, withdraw, revoke"));
  EXPECT_THAT(service.place().stoker({"tokens", "create", "--help"}).output, HasSubstr("viewer reads"));
}

TEST(ServiceHost, OnLoopbackIsKnownByItsOwnNamesAndThoseItWasTold) {
  const RunningService service({"--public-name", "stoker.example.org"});
  const auto status = [&](const std::string& host) {
    Connection connection(service.port());
    connection.send("GET /healthz HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    return connection.answer().status;
  };
  for (const char* known : {"localhost", "LOCALHOST:8000", "127.0.0.1:1", "[::1]:80", "stoker.example.org",
                            "Stoker.Example.org:443"})
    EXPECT_EQ(status(known), 200) << known;
  for (const char* foreign : {"evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1",
                              "[::1", "[::2]", "localhost@evil.example", "x:localhost"})
    EXPECT_EQ(status(foreign), 421) << foreign;
}

TEST(ServiceAudit, TellsWhoDidWhatAndNoSecret) {
  const RunningService service;
  const std::string token = service.post("/api/tokens", {{"name", "anna"}}).json()["token"];
  const Browser browser(service, token);
  service.post("/api/training/jobs", {{"job_name", 1}});
  service.ask("GET", "/api/training/jobs", "", {{"Authorization", "Bearer stk_wrong-secret"}});
  service.ask("GET", "/api/tokens", "", {{"Authorization", "Bearer " + token}});
  const std::filesystem::path file = service.data() / "audit.jsonl";
  const std::string log = content_of_file(file) + service.errors();
  EXPECT_THAT(log, HasSubstr(R"("what":"createToken","address":"127.0.0.1","who":"first")"));
  EXPECT_THAT(log, HasSubstr(R"("what":"openSession","address":"127.0.0.1","who":"anna")"));
  EXPECT_THAT(log, HasSubstr(R"("what":"createJob")"));
  EXPECT_THAT(log, HasSubstr("no token, or one that is not good"));
  EXPECT_THAT(log, HasSubstr(R"("who":"anna","token":)"));
  for (const std::string& secret : {token, service.token(), browser.csrf, std::string("wrong-secret"),
                                    browser.cookie.substr(browser.cookie.find('=') + 1)})
    EXPECT_THAT(log, Not(HasSubstr(secret)));
  const auto others = std::filesystem::perms::group_all | std::filesystem::perms::others_all;
  EXPECT_EQ(std::filesystem::status(file).permissions() & others, std::filesystem::perms::none);
}

TEST(ServiceStore, VariableThatIsNotSetIsRejected) {
  const Workplace place;
  const Finished finished =
      place.stoker({"serve", "--port", "0", "--store", "${STOKER_STORE_THAT_IS_NOT_SET}"});
  EXPECT_EQ(finished.code, 2);
  EXPECT_THAT(finished.errors, HasSubstr("STOKER_STORE_THAT_IS_NOT_SET, which is not set"));
  EXPECT_FALSE(std::filesystem::exists(place.folder() / "${STOKER_STORE_THAT_IS_NOT_SET}"));
}

TEST(ServiceStore, IsNotTakenWithAPasswordThatEverybodyCouldRead) {
  const Workplace place;
  const Finished finished = place.stoker({"serve", "--store", "postgresql://anna:hush@localhost/jobs"});
  EXPECT_EQ(finished.code, 2);
  EXPECT_THAT(finished.errors, HasSubstr("~/.pgpass"));
  EXPECT_THAT(finished.errors, Not(HasSubstr("hush")));
}

}  // namespace
}  // namespace stoker::test
