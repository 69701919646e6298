#include "pipeline/run/process_memory.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace stoker {
namespace {

namespace fs = std::filesystem;

std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> children;
  std::error_code gone;
  const fs::path threads = "/proc/" + std::to_string(process) + "/task";
  for (fs::directory_iterator each(threads, gone), end; !gone && each != end; each.increment(gone)) {
    std::ifstream file(each->path() / "children");
    for (pid_t child = 0; file >> child;) children.push_back(child);
  }
  return children;
}

std::vector<pid_t> processes_below(pid_t process) {
  constexpr std::size_t most = 10'000;
  std::vector<pid_t> all = children_of(process);
  for (std::size_t i = 0; i < all.size() && all.size() < most; ++i)
    for (const pid_t child : children_of(all[i])) all.push_back(child);
  return all;
}

// The share of the pages that it has together with others.
std::uint64_t proportional_bytes(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/smaps_rollup");
  for (std::string word; file >> word;) {
    std::uint64_t kibibytes = 0;
    if (word == "Pss:" && file >> kibibytes) return kibibytes << 10U;
  }
  return 0;
}

}  // namespace

std::uint64_t memory_below(pid_t process) {
  std::uint64_t bytes = 0;
  for (const pid_t each : processes_below(process)) bytes += proportional_bytes(each);
  return bytes;
}

}  // namespace stoker
