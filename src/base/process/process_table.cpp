#include "base/process/process_table.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/text/text.h"

namespace stoker {
namespace {

std::int64_t whole_number(const std::string& text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

// The second field, the name, may hold spaces and brackets, so counting starts behind the last ')'.
std::optional<ProcessLine> process_line(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  const std::size_t name_end = line.rfind(") ");
  if (name_end == std::string::npos) return std::nullopt;
  const std::vector<std::string> fields = split_text(std::string_view(line).substr(name_end + 2), ' ');
  constexpr std::size_t state = 0, parent = 1, session = 3, first_time = 11, start = 19;
  if (fields.size() <= start || fields[state] == "Z" || fields[state] == "X") return std::nullopt;
  ProcessLine told;
  told.id = process;
  told.parent = static_cast<pid_t>(whole_number(fields[parent]));
  told.session = static_cast<pid_t>(whole_number(fields[session]));
  told.start = whole_number(fields[start]);
  constexpr std::size_t times = 4;  // its own in programs and in the system, and those of its children
  for (std::size_t i = 0; i < times; ++i)
    told.ticks += static_cast<double>(whole_number(fields[first_time + i]));
  return told;
}

std::vector<ProcessLine> process_table() {
  std::vector<ProcessLine> all;
  std::error_code error;
  for (std::filesystem::directory_iterator each("/proc", error), end; !error && each != end;
       each.increment(error)) {
    const std::string name = each->path().filename().string();
    if (!std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; })) continue;
    if (const auto line = process_line(static_cast<pid_t>(whole_number(name)))) all.push_back(*line);
  }
  return all;
}

}  // namespace stoker
