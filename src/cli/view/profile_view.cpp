#include "cli/view/profile_view.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/text.h"

namespace stoker::cli {
namespace {

using Lines = std::vector<Profile::Line>;

void add_lines(Pieces& text, const std::string& title, const Lines& lines, std::size_t most) {
  if (lines.empty()) return;
  std::vector<std::vector<std::string>> rows;
  for (const Profile::Line& each : lines) {
    if (rows.size() == most) break;
    rows.push_back({printable(each.name), fmt::format("{:5.1f} %", 100 * each.share),
                    human_seconds(each.seconds), counted(static_cast<std::uint64_t>(each.count), "time")});
  }
  text.push_back({title + "\n", Colour::bold});
  text.push_back({aligned(rows, "  ")});
}

nlohmann::json as_list(const Lines& lines) {
  nlohmann::json list = nlohmann::json::array();
  for (const Profile::Line& each : lines)
    list.push_back(
        {{"name", each.name}, {"count", each.count}, {"seconds", each.seconds}, {"share", each.share}});
  return list;
}

}  // namespace

Pieces profile_text(const Profile& profile) {
  constexpr std::size_t most_parts = 12;
  constexpr std::size_t most_operations = 10;
  Pieces text;
  add_lines(text, "time of the training", profile.parts, most_parts);
  std::int64_t steps = 0;
  for (const Profile::Line& each : profile.step) steps = std::max(steps, each.count);
  add_lines(text, fmt::format("time of {}", counted(static_cast<std::uint64_t>(steps), "step")), profile.step,
            most_parts);
  add_lines(text, "top operations in these, on the host", profile.operations, most_operations);
  for (const std::string& note : profile.notes) text.push_back({printable(note) + "\n", Colour::grey});
  return text;
}

nlohmann::json profile_json(const Profile& profile) {
  return {{"parts", as_list(profile.parts)},
          {"step", as_list(profile.step)},
          {"operations", as_list(profile.operations)},
          {"notes", profile.notes}};
}

}  // namespace stoker::cli
