#include "base/process/private_root.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

bool write_once(const char* file, const char* text) {
  const int opened = ::open(file, O_WRONLY | O_CLOEXEC);
  if (opened < 0) return false;
  const auto size = static_cast<ssize_t>(std::strlen(text));
  const bool is_written = ::write(opened, text, static_cast<std::size_t>(size)) == size;
  ::close(opened);
  return is_written;
}

bool map_to_itself(const char* file, unsigned id) {
  std::array<char, 64> line{};
  std::snprintf(line.data(), line.size(), "%u %u 1\n", id, id);
  return write_once(file, line.data());
}

// Only with CAP_SYS_ADMIN can a process change mounts. Others have it in a user namespace of their own.
// Allocates nothing, because can_have_private_root() calls it after a fork.
bool leave_mounts_of_others() {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(CLONE_NEWNS) != 0 &&
      (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 || !write_once("/proc/self/setgroups", "deny") ||
       !map_to_itself("/proc/self/uid_map", user) || !map_to_itself("/proc/self/gid_map", group)))
    return false;
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

bool mount_empty_folder(const char* place) {
  return ::mount("stoker", place, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") == 0;
}

// The old root is then mounted over the new one, and removed from there.
bool make_root(const char* folder) {
  return ::chdir(folder) == 0 && ::syscall(SYS_pivot_root, ".", ".") == 0 &&
         ::umount2(".", MNT_DETACH) == 0 && ::chdir("/") == 0;
}

// A user namespace must keep the flags that a mount has.
bool make_read_only(const fs::path& place) {
  struct statvfs status {};
  if (::statvfs(place.c_str(), &status) != 0) return false;
  unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY;
  for (const auto& [found, kept] :
       std::array<std::pair<unsigned long, unsigned long>, 6>{{{ST_NOSUID, MS_NOSUID},
                                                               {ST_NODEV, MS_NODEV},
                                                               {ST_NOEXEC, MS_NOEXEC},
                                                               {ST_NOATIME, MS_NOATIME},
                                                               {ST_NODIRATIME, MS_NODIRATIME},
                                                               {ST_RELATIME, MS_RELATIME}}})
    if ((status.f_flag & found) != 0) flags |= kept;
  return ::mount(nullptr, place.c_str(), nullptr, flags, nullptr) == 0;
}

[[noreturn]] void fail_to_show(const fs::path& path) {
  fail("'{}' cannot be shown to a confined process: {}", path.string(), std::strerror(errno));
}

// The empty file or folder that something is mounted on.
void make_place(const fs::path& place, bool is_folder) {
  if (fs::exists(place)) return;
  fs::create_directories(is_folder ? place : place.parent_path());
  if (is_folder) return;
  const int made = ::open(place.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (made < 0) fail_to_show(place);
  ::close(made);
}

void show(const fs::path& path, const fs::path& root, bool is_writable) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return;
  const fs::path place = root / path.relative_path();
  make_place(place, S_ISDIR(status.st_mode));
  // A scratch folder has the new root in it, which shall not be seen there again.
  const unsigned long flags = is_writable ? MS_BIND : MS_BIND | MS_REC;
  if (::mount(path.c_str(), place.c_str(), nullptr, flags, nullptr) != 0) fail_to_show(path);
  if (!is_writable && !make_read_only(place)) fail_to_show(path);
}

}  // namespace

bool can_have_private_root() {
  static const bool can = [] {
    const pid_t child = ::fork();
    if (child == 0) {
      constexpr const char* any_folder = "/usr";
      ::_exit(leave_mounts_of_others() && mount_empty_folder(any_folder) && make_root(any_folder) ? 0 : 1);
    }
    int status = 1;
    while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return child > 0 && status == 0;
  }();
  return can;
}

void enter_private_root(const std::vector<fs::path>& readable, const std::vector<fs::path>& writable) {
  if (writable.empty()) fail("a private root needs a folder of its own");
  const fs::path root = writable.back() / "root";
  fs::create_directory(root);
  if (!leave_mounts_of_others() || !mount_empty_folder(root.c_str()))
    fail("no root of its own could be made for a confined process: {}", std::strerror(errno));
  for (const fs::path& each : readable) show(each, root, false);
  for (const fs::path& each : writable) show(each, root, true);
  if (!make_read_only(root) || !make_root(root.c_str()))
    fail("no root of its own could be entered by a confined process: {}", std::strerror(errno));
}

}  // namespace stoker
