#include "base/process/landlock.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

// The kernel's headers may be older than the kernel, so the interface is declared here. The numbers are those
// of include/uapi/linux/landlock.h.
namespace stoker {
namespace {

constexpr long create_ruleset_call = 444;
constexpr long add_rule_call = 445;
constexpr long restrict_self_call = 446;
constexpr unsigned version_flag = 1;
constexpr int rule_of_path = 1;

constexpr std::uint64_t to_execute = 1U << 0U;
constexpr std::uint64_t to_write_file = 1U << 1U;
constexpr std::uint64_t to_read_file = 1U << 2U;
constexpr std::uint64_t to_read_folder = 1U << 3U;
constexpr std::uint64_t to_truncate = 1U << 14U;
constexpr std::uint64_t to_control_device = 1U << 15U;
constexpr std::uint64_t connect_and_bind = 3;
constexpr std::uint64_t sockets_and_signals = 3;

struct RulesetAttributes {
  std::uint64_t files = 0;
  std::uint64_t network = 0;
  std::uint64_t scoped = 0;
};

struct __attribute__((packed)) PathRule {
  std::uint64_t allowed = 0;
  std::int32_t parent = -1;
};

// Everything about files that a version of the interface knows.
std::uint64_t rights_of(int version) {
  constexpr std::array<unsigned, 5> rights{13, 14, 15, 15, 16};
  const auto known = static_cast<std::size_t>(std::min<int>(version, std::ssize(rights)));
  return (std::uint64_t{1} << rights.at(known - 1)) - 1;
}

void allow(int ruleset, const std::filesystem::path& path, std::uint64_t rights) {
  const int opened = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  if (opened < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return;
    fail("'{}' cannot be opened: {}", path.string(), std::strerror(errno));
  }
  struct stat status {};
  ::fstat(opened, &status);
  constexpr std::uint64_t rights_of_files =
      to_execute | to_write_file | to_read_file | to_truncate | to_control_device;
  const PathRule rule{S_ISDIR(status.st_mode) ? rights : rights & rights_of_files, opened};
  const long result = ::syscall(add_rule_call, ruleset, rule_of_path, &rule, 0);
  const int error = errno;
  ::close(opened);
  if (result != 0)
    fail("'{}' cannot be allowed to a confined process: {}", path.string(), std::strerror(error));
}

}  // namespace

int landlock_version() {
  const char* const wanted = std::getenv(landlock_variable);
  if (wanted != nullptr && std::string_view(wanted) == "off") return 0;
  const long version = ::syscall(create_ruleset_call, nullptr, 0, version_flag);
  return version > 0 ? static_cast<int>(version) : 0;
}

void restrict_with_landlock(const LandlockRules& rules) {
  const int version = landlock_version();
  if (version == 0) fail("the kernel offers no Landlock");
  RulesetAttributes attributes{rights_of(version)};
  std::size_t size = sizeof attributes.files;
  if (version >= 4 && !rules.may_connect) attributes.network = connect_and_bind;
  if (version >= 4) size += sizeof attributes.network;
  if (version >= 6) {
    attributes.scoped = sockets_and_signals;
    size += sizeof attributes.scoped;
  }
  const auto ruleset = static_cast<int>(::syscall(create_ruleset_call, &attributes, size, 0));
  if (ruleset < 0) fail("no Landlock rules could be made: {}", std::strerror(errno));
  constexpr std::uint64_t reading = to_execute | to_read_file | to_read_folder;
  for (const auto& path : rules.readable) allow(ruleset, path, reading);
  for (const auto& path : rules.writable)
    allow(ruleset, path, rights_of(version) & ~(to_execute | to_control_device));
  const long result = ::syscall(restrict_self_call, ruleset, 0);
  const int error = errno;
  ::close(ruleset);
  if (result != 0) fail("Landlock could not be switched on: {}", std::strerror(error));
}

int rules_of_own_processes() {
  constexpr int first_version_with_links = 2;  // earlier ones forbid to move files between folders
  constexpr std::uint64_t to_link_and_move = 1U << 13U;
  if (landlock_version() < first_version_with_links) return -1;
  const std::uint64_t handled = to_link_and_move;
  const auto ruleset = static_cast<int>(::syscall(create_ruleset_call, &handled, sizeof handled, 0));
  if (ruleset >= 0) allow(ruleset, "/", to_link_and_move);
  return ruleset;
}

bool join_rules(int rules) {
  return ::syscall(restrict_self_call, rules, 0) == 0;
}

}  // namespace stoker
