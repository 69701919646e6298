#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <sys/types.h>

namespace stoker::test {

// A real PostgreSQL with a cluster of its own in a temporary folder, on a free port, run by another user than
// root (it refuses root). It ends with the test program, however that ends.
class PostgresCluster {
 public:
  static constexpr const char* user = "stoker_tests";
  static constexpr const char* password = "Sesame/0pen:up";

  // Empty where PostgreSQL's programs are not installed.
  static std::unique_ptr<PostgresCluster> start();
  PostgresCluster(const PostgresCluster&) = delete;
  PostgresCluster& operator=(const PostgresCluster&) = delete;
  ~PostgresCluster();

  // By the socket in its folder, which asks for no password.
  std::string local_address() const;
  // By the loopback interface, which asks for one; `secret` as an address has it.
  std::string network_address(const std::string& secret = "Sesame%2F0pen%3Aup") const;
  int port() const { return port_; }

  // Carries out one statement and gives the first value of its first row, or "".
  std::string run(const std::string& statement) const;

 private:
  PostgresCluster() = default;
  void make(const std::filesystem::path& programs);
  void begin(const std::filesystem::path& programs);
  bool is_ready() const;

  std::filesystem::path folder_;
  int port_ = 0;
  pid_t server_ = -1;
};

}  // namespace stoker::test
