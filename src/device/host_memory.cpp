#include "device/host_memory.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>

#include "base/error.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The only word of a file; "max" and what cannot be read are no number.
std::optional<std::uint64_t> number_in(const fs::path& file) {
  std::ifstream input(file);
  std::string word;
  input >> word;
  return number_of(word);
}

// Of a file whose lines are a name and a number.
std::uint64_t number_named(const fs::path& file, std::string_view name) {
  std::ifstream input(file);
  std::uint64_t value = 0;
  for (std::string line; std::getline(input, line);) {
    const std::size_t space = line.find_first_of(" \t");
    if (space == std::string::npos || std::string_view(line).substr(0, space) != name) continue;
    const std::size_t digits = line.find_first_not_of(" \t", space);
    if (digits == std::string::npos) return 0;
    std::from_chars(line.data() + digits, line.data() + line.size(), value);
    return value;
  }
  return 0;
}

// Names of the files of a version.
struct GroupFiles {
  const char* limit;
  const char* use;
  std::array<const char*, 2> files_kept;  // pages of files, which the system lets go of where it must
};
constexpr GroupFiles version_1{
    "memory.limit_in_bytes", "memory.usage_in_bytes", {"total_inactive_file", "total_active_file"}};
constexpr GroupFiles version_2{"memory.max", "memory.current", {"inactive_file", "active_file"}};

std::optional<std::uint64_t> room_in(const fs::path& group, const GroupFiles& names) {
  const auto limit = number_in(group / names.limit);
  // Version 1 has a number near the largest for no limit.
  if (!limit || *limit > (std::uint64_t{1} << 60U)) return std::nullopt;
  std::uint64_t use = number_in(group / names.use).value_or(0);
  for (const char* kept : names.files_kept) use -= std::min(use, number_named(group / "memory.stat", kept));
  return *limit - std::min(*limit, use);
}

void take_smaller(std::optional<std::uint64_t>& least, const std::optional<std::uint64_t>& other) {
  if (other && (!least || *other < *least)) least = other;
}

// From the group of the process up to the root. In a container the tree may begin at the group itself, so
// that the name it has outside is not to be found.
std::optional<std::uint64_t> room_up_from(const fs::path& root, const fs::path& name,
                                          const GroupFiles& names) {
  std::optional<std::uint64_t> least = room_in(root, names);
  fs::path way = root;
  for (const fs::path& part : name.relative_path()) {
    way /= part;
    take_smaller(least, room_in(way, names));
  }
  return least;
}

}  // namespace

std::optional<std::uint64_t> bytes_in_environment(const char* variable) {
  const char* given = std::getenv(variable);
  if (given == nullptr || *given == '\0') return std::nullopt;
  const auto bytes = number_of(given);
  if (!bytes) refuse("{} is '{}'; it must be a number of bytes", variable, given);
  if (*bytes == 0) refuse("{} is 0, which leaves no memory at all; unset it for no limit", variable);
  return bytes;
}

std::optional<std::uint64_t> room_in_control_groups(const fs::path& process, const fs::path& tree) {
  std::optional<std::uint64_t> least;
  std::ifstream input(process);
  for (std::string line; std::getline(input, line);) {  // number:controllers:name
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const fs::path name = line.substr(second + 1);
    if (controllers == ",,") take_smaller(least, room_up_from(tree, name, version_2));
    if (controllers.find(",memory,") != std::string::npos)
      take_smaller(least, room_up_from(tree / "memory", name, version_1));
  }
  return least;
}

std::uint64_t free_host_memory() {
  constexpr std::uint64_t kibibyte = 1024;
  const std::uint64_t available = number_named("/proc/meminfo", "MemAvailable:") * kibibyte;
  const std::uint64_t of_groups = room_in_control_groups("/proc/self/cgroup", "/sys/fs/cgroup")
                                      .value_or(std::numeric_limits<std::uint64_t>::max());
  return available == 0 ? of_groups : std::min(available, of_groups);
}

}  // namespace stoker
