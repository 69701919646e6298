#include <fmt/format.h>

#include "sweep/sweep.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view before_trial = "_trial-";

}  // namespace

std::string winner_folder_name(const std::string& sweep, std::size_t trial) {
  return fmt::format("{}{}{}", sweep, before_trial, trial);
}

std::string sweep_of_winner(const std::string& run) {
  const std::size_t end = run.rfind(before_trial);
  return end == std::string::npos ? "" : run.substr(0, end);
}

std::vector<fs::path> runs_of_winners(const fs::path& out, const std::string& sweep) {
  std::vector<fs::path> found;
  if (sweep.empty()) return found;
  std::error_code ended;
  for (fs::directory_iterator each(out, ended), end; !ended && each != end; each.increment(ended))
    if (sweep_of_winner(each->path().filename().string()) == sweep) found.push_back(each->path());
  return found;
}

}  // namespace stoker
