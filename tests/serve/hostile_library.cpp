// Stands in for a library that a file has taken over: as soon as it is loaded, it tries what the process that
// reads files of clients must not do, and ends the process with a signal that says how that went.
#include <csignal>
#include <cstdio>

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

bool opens(const char* path, int flags) {
  return ::open(path, flags, 0600) >= 0;
}

bool opens_environment_of_parent() {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/environ", static_cast<int>(::getppid()));
  return opens(path, O_RDONLY);
}

bool connects() {
  const int made = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(22);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return made >= 0 && (::connect(made, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 || true);
}

// A datagram can be sent to any socket that has a name.
bool makes_pair() {
  int ends[2];
  return ::socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0;
}

bool starts_program() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  return child > 0 || ::execl("/bin/true", "true", nullptr) == 0;
}

__attribute__((constructor)) void misbehave() {
  const bool succeeds = opens("/etc/passwd", O_RDONLY) || opens("/proc/self/root/etc/passwd", O_RDONLY) ||
                        opens_environment_of_parent() || opens("../store.sqlite", O_RDONLY) ||
                        opens("store.sqlite", O_RDONLY) || opens("/tmp/stoker-hostile", O_WRONLY | O_CREAT) ||
                        ::opendir("/var") != nullptr || connects() || makes_pair() || starts_program() ||
                        ::kill(::getppid(), 0) == 0 || ::chmod("/tmp", 01777) == 0;
  std::raise(succeeds ? SIGFPE : SIGSEGV);
}

}  // namespace
