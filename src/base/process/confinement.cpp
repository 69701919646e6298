#include "base/process/confinement.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process/call_filter.h"
#include "base/process/landlock.h"
#include "base/process/private_root.h"
#include "base/text/text.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

void limit(decltype(RLIMIT_DATA) what, std::uint64_t most) {
  rlimit now{};
  if (::getrlimit(what, &now) != 0) return;
  const rlim_t wanted = std::min<rlim_t>(most, now.rlim_max);
  const rlimit wanted_limit{wanted, wanted};
  if (::setrlimit(what, &wanted_limit) != 0) fail("a limit could not be set: {}", std::strerror(errno));
}

// Gives up all capabilities, except the one to read files of all users if it is limited which files.
void give_up_rights(bool reads_files_of_all) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> rights{};
  if (::syscall(SYS_capget, &header, rights.data()) != 0) return;
  const std::uint32_t kept = reads_files_of_all ? 1U << CAP_DAC_READ_SEARCH : 0;
  const std::uint32_t held = rights[0].permitted & kept;
  rights = {};
  rights[0].permitted = held;
  rights[0].effective = held;
  if (::syscall(SYS_capset, &header, rights.data()) != 0)
    fail("rights could not be given up: {}", std::strerror(errno));
}

std::ptrdiff_t threads_of_process() {
  const fs::directory_iterator threads("/proc/self/task");
  return std::distance(begin(threads), end(threads));
}

}  // namespace

ConfinementMeans confinement_means() {
  const int landlock = landlock_version();
  return {landlock, landlock == 0 && can_have_private_root(), can_filter_calls()};
}

std::string to_text(const ConfinementMeans& means) {
  std::vector<std::string> parts;
  if (means.landlock > 0) parts.push_back(fmt::format("landlock {}", means.landlock));
  if (means.private_root) parts.emplace_back("mount namespace");
  if (means.filters_calls) parts.emplace_back("seccomp");
  return parts.empty() ? "none" : join(parts, " and ");
}

std::vector<fs::path> files_of_the_system() {
  std::vector<fs::path> files{"/usr",
                              "/lib",
                              "/lib64",
                              "/etc/ld.so.cache",
                              "/etc/localtime",
                              "/dev/null",
                              "/dev/urandom",
                              "/proc/cpuinfo",
                              "/proc/meminfo",
                              "/proc/stat",
                              "/proc/self",
                              "/proc/sys/vm",
                              "/sys/devices/system",
                              "/sys/fs/cgroup",
                              "/proc/sys/kernel/random/boot_id"};
  if (const char* folders = std::getenv("LD_LIBRARY_PATH"))
    for (const std::string& folder : split_text(folders, ':'))
      if (!folder.empty()) files.emplace_back(folder);
  return files;
}

std::vector<fs::path> files_for_connecting() {
  return {"/etc/resolv.conf",     "/etc/hosts",           "/etc/nsswitch.conf", "/etc/host.conf",
          "/etc/gai.conf",        "/etc/services",        "/etc/ssl",           "/etc/pki",
          "/etc/ca-certificates", "/run/systemd/resolve", "/etc/passwd",        "/run/postgresql",
          "/var/run/postgresql"};
}

void confine_process(const Confinement& allowed) {
  if (threads_of_process() != 1) fail("only a process of one thread can be confined");
  constexpr std::uint64_t most_open_files = 1024;
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NOFILE, most_open_files);
  if (allowed.memory_bytes > 0) limit(RLIMIT_DATA, allowed.memory_bytes);
  if (allowed.file_bytes > 0) limit(RLIMIT_FSIZE, allowed.file_bytes);
  const ConfinementMeans means = confinement_means();
  if (means.private_root) enter_private_root(allowed.readable, allowed.writable);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    fail("rights could not be fixed: {}", std::strerror(errno));
  if (means.landlock > 0) restrict_with_landlock({allowed.readable, allowed.writable, allowed.may_connect});
  give_up_rights(means.hides_files());
  if (means.filters_calls) filter_calls(allowed.may_connect);
}

}  // namespace stoker
