#include "store/process.h"

#include <array>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "base/process/process_table.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

std::string boot_name() {
  std::string name;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> name;
  return name;
}

std::string process_space() {
  std::error_code error;
  return fs::read_symlink("/proc/self/ns/pid", error).string();
}

// -1 when there is no such process, or it has ended and only waits to be collected.
std::int64_t start_of(std::int64_t id) {
  const auto line = process_line(static_cast<pid_t>(id));
  return line ? line->start : -1;
}

}  // namespace

ProcessIdentity this_process() {
  const std::int64_t id = ::getpid();
  return {id, start_of(id), host_name(), boot_name(), process_space()};
}

bool is_alive(const ProcessIdentity& process) {
  const bool same_boot = process.boot == boot_name();
  if (!same_boot) return process.host != host_name();
  if (process.process_space != process_space()) return true;
  return start_of(process.id) == process.start;
}

}  // namespace stoker
