#include "config/diagnostics.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace stoker::config {
namespace {

// A document with a wrong list of thousands of items is told about the first of them.
constexpr std::size_t most_shown = 50;

}  // namespace

void Diagnostics::add(int line, std::string_view path, std::string message) {
  found_.push_back({line, std::string(path), std::move(message)});
}

void Diagnostics::note(int line, std::string_view path, std::string message) {
  notes_.push_back({line, std::string(path), std::move(message)});
}

std::vector<std::string> Diagnostics::notes() const {
  std::vector<std::string> all;
  for (const Diagnostic& each : notes_) {
    std::string line = each.line > 0 ? fmt::format("line {}: ", each.line) : "";
    line += fmt::format("{}: {}", each.path, each.message);
    if (std::find(all.begin(), all.end(), line) == all.end()) all.push_back(std::move(line));
  }
  return all;
}

std::string Diagnostics::text() const {
  std::vector<Diagnostic> sorted = found_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.line < b.line; });
  std::string result;
  for (std::size_t i = 0; i < std::min(sorted.size(), most_shown); ++i) {
    const Diagnostic& each = sorted[i];
    if (!result.empty()) result += '\n';
    result += file_;
    if (each.line > 0) result += fmt::format("{}{}", file_.empty() ? "line " : ":", each.line);
    if (!file_.empty() || each.line > 0) result += ": ";
    if (!each.path.empty()) result += each.path + ": ";
    result += each.message;
  }
  if (sorted.size() > most_shown) result += fmt::format("\n… and {} more", sorted.size() - most_shown);
  return result;
}

void Diagnostics::refuse_if_any() const {
  if (!found_.empty()) refuse("{}", text());
}

}  // namespace stoker::config
