#include "pipeline/run/metrics_file.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/text.h"

namespace stoker {
namespace {

constexpr std::size_t largest_file = 1U << 30;

// None where the line is not that of an epoch.
std::optional<std::pair<std::string, EpochReport>> epoch_in(const std::string& line) {
  try {
    return epoch_from_line(line);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Drops what stands there from this epoch on.
template <class Lines>
bool remove_from(Lines& lines, std::int64_t epoch) {
  const std::size_t before = lines.size();
  while (!lines.empty() && lines.back().epoch >= epoch) lines.pop_back();
  return lines.size() != before;
}

template <class Lines>
std::string joined(const Lines& lines) {
  std::string text;
  for (const auto& line : lines) {
    if (!text.empty()) text += '\n';
    text += line.text;
  }
  return text;
}

}  // namespace

MetricsFile::MetricsFile(std::filesystem::path path) : path_(std::move(path)) {
  if (std::filesystem::exists(path_)) {
    std::string content = read_file(path_, largest_file);
    content.resize(content.rfind('\n') + 1);  // a line that was cut short ends in no newline
    for (const std::string& text : split_text(content, '\n')) {
      const auto epoch = epoch_in(text);
      if (!epoch) continue;
      Lines& lines = lines_of(epoch->first);
      remove_from(lines, epoch_number(epoch->second));
      lines.push_back({epoch_number(epoch->second), epoch_line(epoch->first, epoch->second)});
    }
  }
  rewrite();
}

void MetricsFile::add(const std::string& card, const EpochReport& epoch) {
  Lines& lines = lines_of(card);
  const bool repeated = remove_from(lines, epoch_number(epoch));
  lines.push_back({epoch_number(epoch), epoch_line(card, epoch)});
  if (repeated) {
    rewrite();
  } else {
    file_->append_line(lines.back().text);
  }
}

void MetricsFile::replace(const std::string& card, const std::vector<EpochReport>& epochs) {
  Lines lines;
  for (const EpochReport& epoch : epochs) lines.push_back({epoch_number(epoch), epoch_line(card, epoch)});
  Lines& earlier = lines_of(card);
  if (lines == earlier) return;
  const bool is_new = earlier.empty();
  earlier = std::move(lines);
  if (is_new) {
    file_->append_line(joined(earlier));
  } else {
    rewrite();
  }
}

// A run that goes on speaks of the card that came last.
MetricsFile::Lines& MetricsFile::lines_of(const std::string& card) {
  const auto found =
      std::find_if(cards_.rbegin(), cards_.rend(), [&](const auto& each) { return each.first == card; });
  return found == cards_.rend() ? cards_.emplace_back(card, Lines{}).second : found->second;
}

void MetricsFile::rewrite() {
  std::string text = std::string(epoch_columns) + "\n";
  for (const auto& [card, lines] : cards_) {
    if (!lines.empty()) text += joined(lines) + "\n";
  }
  file_.reset();
  write_file(path_, text);
  file_.emplace(path_);
}

std::string values_csv(const std::vector<EpochReport>& epochs) {
  std::vector<std::string> names;
  for (const EpochReport& epoch : epochs)
    for (const NamedValue& each : epoch.record.values)
      if (std::ranges::find(names, each.name) == names.end()) names.push_back(each.name);
  if (names.empty()) return "";
  std::string text = "epoch";
  for (std::string name : names) {
    std::ranges::replace_if(
        name, [](char c) { return c == ',' || c == '\n' || c == '\r'; }, '_');
    text += "," + name;
  }
  text += "\n";
  for (const EpochReport& epoch : epochs) {
    text += std::to_string(epoch_number(epoch));
    for (const std::string& name : names) {
      const auto found = std::ranges::find(epoch.record.values, name, &NamedValue::name);
      text += found == epoch.record.values.end() || !std::isfinite(found->value)
                  ? std::string(",")
                  : fmt::format(",{}", found->value);
    }
    text += "\n";
  }
  return text;
}

}  // namespace stoker
