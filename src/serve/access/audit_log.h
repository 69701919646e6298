#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>

#include <nlohmann/json.hpp>

#include "serve/http/route.h"

namespace stoker::serve {

// What happened and who did it, a line each, in a file that its owner alone can read. No secrets. A file that
// has grown large is put aside as FILE.1, of which there is one. What is said of people that nobody knows is
// bounded by the second, so that nobody can bury in noise what was done before.
class AuditLog {
 public:
  explicit AuditLog(std::filesystem::path file, std::uintmax_t most_bytes = std::uintmax_t{64} << 20);
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;
  ~AuditLog();

  void write(const std::string& what, const Caller& who, const std::string& address,
             const nlohmann::json& details);

 private:
  void open();
  void put_aside();
  bool has_room_for_strangers();

  std::filesystem::path path_;
  std::uintmax_t most_bytes_;
  std::mutex mutex_;
  int descriptor_ = -1;
  std::uintmax_t bytes_ = 0;
  std::chrono::steady_clock::time_point second_;  // in which these lines of strangers were written
  int lines_of_strangers_ = 0;
  std::uint64_t left_out_ = 0;
};

// A token may stand where it does not belong, in a path or the name of a host: "stk_***".
std::string without_tokens(std::string text);

}  // namespace stoker::serve
