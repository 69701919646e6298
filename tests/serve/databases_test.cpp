// Databases that clients of the service read by their address, with a real server.
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "database/running_postgres.h"
#include "serve/running_service.h"

namespace stoker::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

class ServiceDatabases : public RunningPostgres {
 protected:
  void SetUp() override {
    RunningPostgres::SetUp();
    if (IsSkipped()) return;
    run("CREATE TABLE IF NOT EXISTS wells AS SELECT i AS depth FROM generate_series(1, 40) i");
  }

  // Its address, for a role that the statements have made.
  static std::string address_of(const std::string& role) {
    return "postgresql://" + role + ":Role-passw0rd@127.0.0.1:" + std::to_string(cluster()->port()) +
           "/postgres";
  }
  static void make_role(const std::string& role, const std::string& more = "") {
    run("CREATE ROLE " + role + " LOGIN PASSWORD 'Role-passw0rd' " + more);
    run("GRANT SELECT ON wells TO " + role);
  }
  static json source(const std::string& query) {
    return {{"source", "postgres"}, {"uri", "${STOKER_WELLS}"}, {"query", query}};
  }
  static HttpAnswer record(const RunningService& service, const std::string& id, const std::string& query) {
    return service.post("/api/datasets", {{"id", id}, {"source", source(query)}});
  }
  static Finished started_with(const std::string& address) {
    const Workplace place;
    setenv("STOKER_WELLS", address.c_str(), 1);
    Finished finished =
        place.stoker({"serve", "--port", "0", "--allow-databases", "--allow-variable", "STOKER_WELLS"});
    unsetenv("STOKER_WELLS");
    return finished;
  }
};

TEST_F(ServiceDatabases, PlainRoleReadsItsTablesAndNoFilesOfTheServer) {
  make_role("plain_reader");
  setenv("STOKER_WELLS", address_of("plain_reader").c_str(), 1);
  const RunningService service({"--allow-databases", "--allow-variable", "STOKER_WELLS"});
  unsetenv("STOKER_WELLS");
  const HttpAnswer read = record(service, "wells", "SELECT depth FROM wells");
  EXPECT_EQ(read.status, 201) << read.body;
  EXPECT_EQ(record(service, "passwords", "SELECT pg_read_file('/etc/passwd') AS a").status, 422);
  EXPECT_EQ(record(service, "role", "SELECT set_config('role', 'stoker_tests', false) AS a").status, 422);
}

// The operator names the database only when the service runs already: its role gets its rights afterwards.
TEST_F(ServiceDatabases, QueriesOfPrivilegedRolesAreRejected) {
  make_role("later_reader");
  setenv("STOKER_WELLS", address_of("later_reader").c_str(), 1);
  const RunningService service({"--allow-databases", "--allow-variable", "STOKER_WELLS"});
  unsetenv("STOKER_WELLS");
  const std::vector<std::pair<std::string, std::string>> rights{
      {"ALTER ROLE later_reader SUPERUSER", "ALTER ROLE later_reader NOSUPERUSER"},
      {"GRANT pg_read_server_files TO later_reader", "REVOKE pg_read_server_files FROM later_reader"},
      {"GRANT pg_write_server_files TO later_reader", "REVOKE pg_write_server_files FROM later_reader"},
      {"GRANT pg_execute_server_program TO later_reader",
       "REVOKE pg_execute_server_program FROM later_reader"},
      {"GRANT stoker_tests TO later_reader", "REVOKE stoker_tests FROM later_reader"},
      {"GRANT EXECUTE ON FUNCTION pg_read_file(text) TO later_reader",
       "REVOKE EXECUTE ON FUNCTION pg_read_file(text) FROM later_reader"}};
  int number = 0;
  for (const auto& [grant, revoke] : rights) {
    run(grant);
    const HttpAnswer answer = record(service, "a" + std::to_string(++number), "SELECT depth FROM wells");
    run(revoke);
    EXPECT_EQ(answer.status, 422) << grant << ": " << answer.body;
    EXPECT_THAT(answer.body, AllOf(HasSubstr("could read files of the database server"),
                                   Not(HasSubstr("later_reader")), Not(HasSubstr("Role-passw0rd"))))
        << grant;
  }
  EXPECT_EQ(record(service, "afterwards", "SELECT depth FROM wells").status, 201);
}

// The reader of the query is killed, and the server has nothing to send.
TEST_F(ServiceDatabases, QueryOfAClientThatLeavesEndsAtTheServer) {
  if (std::stoi(run("SHOW server_version_num")) < 140'000) GTEST_SKIP() << "PostgreSQL is older than 14";
  make_role("slow_reader");
  setenv("STOKER_WELLS", address_of("slow_reader").c_str(), 1);
  const RunningService service({"--allow-databases", "--allow-variable", "STOKER_WELLS"});
  unsetenv("STOKER_WELLS");
  const auto count = [] {
    return run("SELECT count(*) FROM pg_stat_activity WHERE usename = 'slow_reader' AND state = 'active'");
  };
  const auto wait_for = [&](const std::string& wanted) {
    for (int i = 0; i < 600 && count() != wanted; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return count();
  };
  {
    const std::string body =
        json{{"id", "slow"}, {"source", source("SELECT depth, pg_sleep(3600)::text AS w FROM wells")}}.dump();
    Connection client(service.port());
    client.send("POST /api/datasets HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + service.token() +
                "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
                "\r\n\r\n" + body);
    ASSERT_EQ(wait_for("1"), "1");
  }
  EXPECT_EQ(wait_for("0"), "0");
}

TEST_F(ServiceDatabases, PrivilegedRoleOfTheOperatorIsRejectedAtTheStart) {
  make_role("file_reader", "IN ROLE pg_read_server_files");
  for (const std::string& address : {cluster()->network_address(), address_of("file_reader")}) {
    const Finished finished = started_with(address);
    EXPECT_EQ(finished.code, 2) << finished.output;
    EXPECT_THAT(finished.errors,
                AllOf(HasSubstr("--allow-variable STOKER_WELLS"),
                      AnyOf(HasSubstr("is a superuser"), HasSubstr("is a member of pg_read"))));
  }
}

}  // namespace
}  // namespace stoker::test
