#include "store/process.h"

#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "base/text.h"

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

// Field 22 of /proc/<id>/stat, or -1 when there is no such process or it has ended and only waits to be
// collected. The second field, the name, may hold spaces and brackets, so counting starts behind the last
// ')'.
std::int64_t start_of(std::int64_t id) {
  std::ifstream file(fmt::format("/proc/{}/stat", id));
  std::string line;
  if (!std::getline(file, line)) return -1;
  const std::size_t name_end = line.rfind(") ");
  if (name_end == std::string::npos) return -1;
  const std::vector<std::string> fields = split_text(std::string_view(line).substr(name_end + 2), ' ');
  constexpr std::size_t state = 0;
  constexpr std::size_t start = 19;
  if (fields.size() <= start || fields[state] == "Z" || fields[state] == "X") return -1;
  std::int64_t ticks = -1;
  std::from_chars(fields[start].data(), fields[start].data() + fields[start].size(), ticks);
  return ticks;
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
