#include "serve/access/audit_log.h"

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text/hidden_values.h"
#include "base/text/text.h"

namespace stoker::serve {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr int most_lines_of_strangers = 50;  // a second
constexpr std::size_t most_bytes_of_a_text = 500;

// A path may be as long as a header.
nlohmann::json fit_to_tell(nlohmann::json details) {
  for (auto& each : details) {
    if (!each.is_string()) continue;
    std::string text = without_tokens(each.get<std::string>());
    each = text.size() > most_bytes_of_a_text ? text.substr(0, most_bytes_of_a_text) + "…" : text;
  }
  return details;
}

}  // namespace

std::string without_tokens(std::string text) {
  constexpr std::string_view begin = "stk_";
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
    at += begin.size();
    std::size_t end = at;
    while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end])) != 0) ++end;
    text.replace(at, end - at, "***");
  }
  return text;
}

AuditLog::AuditLog(fs::path file, std::uintmax_t most_bytes)
    : path_(std::move(file)), most_bytes_(most_bytes) {
  open();
  if (descriptor_ < 0) refuse("{} cannot be written: {}", path_.string(), std::strerror(errno));
}

AuditLog::~AuditLog() {
  if (descriptor_ >= 0) close(descriptor_);
}

void AuditLog::open() {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  struct stat facts {};
  if (descriptor_ < 0 || fstat(descriptor_, &facts) != 0) return;
  fchmod(descriptor_, 0600);  // it may be older than this rule
  bytes_ = static_cast<std::uintmax_t>(facts.st_size);
}

void AuditLog::put_aside() {
  std::error_code failed;
  fs::rename(path_, fs::path(path_).concat(".1"), failed);
  if (failed) {  // it grows on, and is tried again after as much more
    bytes_ = 0;
    return;
  }
  close(descriptor_);
  open();
}

bool AuditLog::has_room_for_strangers() {
  const auto now = steady_clock::now();
  if (now - second_ >= std::chrono::seconds(1)) {
    second_ = now;
    lines_of_strangers_ = 0;
  }
  if (lines_of_strangers_ < most_lines_of_strangers) {
    ++lines_of_strangers_;
    return true;
  }
  ++left_out_;
  return false;
}

void AuditLog::write(const std::string& what, const Caller& who, const std::string& address,
                     const nlohmann::json& details) {
  nlohmann::ordered_json line{{"time", time_stamp_utc()}, {"what", what}, {"address", address}};
  if (!who.name.empty()) line["who"] = who.name;
  if (!who.token.empty()) line["token"] = who.token;
  if (!details.is_null()) line["details"] = fit_to_tell(details);
  const std::lock_guard lock(mutex_);
  if (who.token.empty() && !has_room_for_strangers()) return;
  if (left_out_ > 0) line["left_out_before"] = std::exchange(left_out_, 0);
  const std::string text =
      json_without_hidden_values(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) + '\n';
  if (bytes_ > 0 && bytes_ + text.size() > most_bytes_) put_aside();
  if (descriptor_ < 0) open();
  const ssize_t written = descriptor_ < 0 ? -1 : ::write(descriptor_, text.data(), text.size());
  if (written == static_cast<ssize_t>(text.size())) {
    bytes_ += text.size();
    return;
  }
  fmt::print(stderr, "stoker: {} cannot be written: {}; it lacks: {}", path_.string(), std::strerror(errno),
             text);
}

}  // namespace stoker::serve
