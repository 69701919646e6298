#include "device/control_groups.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {
namespace {

namespace fs = std::filesystem;

template <class Number>
std::optional<Number> number_of_word(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The first word of a file. "max" and unreadable files have no number.
template <class Number = std::uint64_t>
std::optional<Number> first_number(const fs::path& file) {
  std::ifstream input(file);
  std::string word;
  input >> word;
  return number_of_word<Number>(word);
}

// The number after `name` in a file of lines "name number"; 0 if there is none.
std::uint64_t number_named(const fs::path& file, std::string_view name) {
  std::ifstream input(file);
  std::uint64_t value = 0;
  for (std::string line; std::getline(input, line);) {
    const std::size_t space = line.find(' ');
    if (space == std::string::npos || std::string_view(line).substr(0, space) != name) continue;
    std::from_chars(line.data() + space + 1, line.data() + line.size(), value);
    return value;
  }
  return 0;
}

struct GroupFolder {
  fs::path path;
  bool is_version_1 = false;
};

// From the root of a tree down to the group. In a container the mounted tree may begin at the group itself;
// then folders of its outer name do not exist and their files read as no limit.
void add_levels(const fs::path& root, const fs::path& group, bool is_version_1,
                std::vector<GroupFolder>& levels) {
  levels.push_back({root, is_version_1});
  fs::path level = root;
  for (const fs::path& part : group.relative_path()) {
    level /= part;
    levels.push_back({level, is_version_1});
  }
}

// All levels that can limit `controller` ("memory", "cpu").
std::vector<GroupFolder> levels_of(std::string_view controller, const ControlGroups& groups) {
  std::vector<GroupFolder> levels;
  std::ifstream input(groups.process);
  for (std::string line; std::getline(input, line);) {  // number:controllers:group
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path group = line.substr(second + 1);
    if (controllers.empty()) {
      add_levels(groups.tree, group, false, levels);
      add_levels(groups.tree / "unified", group, false, levels);  // where both versions are mounted
    }
    if (("," + controllers + ",").find("," + std::string(controller) + ",") == std::string::npos) continue;
    // Several controllers of one line share a mount, with a link for each of them on most systems.
    add_levels(groups.tree / controller, group, true, levels);
    if (controllers != controller) add_levels(groups.tree / controllers, group, true, levels);
  }
  return levels;
}

// Names of the files of a version.
struct MemoryFiles {
  const char* limit;
  const char* use;
  std::array<const char*, 2> cached;  // pages of files, which the system frees if it needs memory
};
constexpr MemoryFiles version_1{
    "memory.limit_in_bytes", "memory.usage_in_bytes", {"total_inactive_file", "total_active_file"}};
constexpr MemoryFiles version_2{"memory.max", "memory.current", {"inactive_file", "active_file"}};

std::optional<MemoryOfGroups> memory_of_level(const GroupFolder& level) {
  const MemoryFiles& names = level.is_version_1 ? version_1 : version_2;
  const auto limit = first_number(level.path / names.limit);
  // Version 1 writes a number near the largest for no limit.
  if (!limit || *limit > (std::uint64_t{1} << 60U)) return std::nullopt;
  std::uint64_t use = first_number(level.path / names.use).value_or(0);
  for (const char* cached : names.cached)
    use -= std::min(use, number_named(level.path / "memory.stat", cached));
  return MemoryOfGroups{*limit, *limit - std::min(*limit, use)};
}

std::optional<double> quota_of_level(const GroupFolder& level) {
  double quota = 0;
  double period = 0;
  if (level.is_version_1) {  // a quota of -1 means none
    quota = static_cast<double>(first_number<std::int64_t>(level.path / "cpu.cfs_quota_us").value_or(-1));
    period = static_cast<double>(first_number<std::int64_t>(level.path / "cpu.cfs_period_us").value_or(0));
  } else {
    std::ifstream input(level.path / "cpu.max");
    std::string word;
    input >> word >> period;
    quota = static_cast<double>(number_of_word<std::int64_t>(word).value_or(0));
  }
  if (quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

}  // namespace

std::optional<MemoryOfGroups> memory_of_control_groups(const ControlGroups& groups) {
  std::optional<MemoryOfGroups> smallest;
  for (const GroupFolder& level : levels_of("memory", groups)) {
    const auto here = memory_of_level(level);
    if (!here) continue;
    if (!smallest) smallest = here;
    smallest->limit = std::min(smallest->limit, here->limit);
    smallest->room = std::min(smallest->room, here->room);
  }
  return smallest;
}

std::optional<double> cpu_quota_of_control_groups(const ControlGroups& groups) {
  std::optional<double> smallest;
  for (const GroupFolder& level : levels_of("cpu", groups))
    if (const auto here = quota_of_level(level); here && (!smallest || *here < *smallest)) smallest = here;
  return smallest;
}

}  // namespace stoker
