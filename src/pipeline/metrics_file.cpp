#include "pipeline/metrics_file.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/text.h"

namespace stoker {
namespace {

constexpr std::size_t largest_file = 1U << 30;
const std::string header = "epoch,card,train_loss,validation_loss,learning_rate,seconds,rows_per_second";

std::int64_t number_of(const EpochReport& epoch) {
  return epoch.record.epoch + 1;
}

std::string line_text(const std::string& card, const EpochReport& epoch) {
  const auto& validation = epoch.record.validation_loss;
  return fmt::format("{},{},{},{},{},{:.6g},{:.6g}", number_of(epoch), card, epoch.record.train_loss,
                     validation ? fmt::format("{}", *validation) : "", epoch.learning_rate, epoch.seconds,
                     epoch.rows_per_second);
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
    for (std::string& text : split_text(content, '\n')) {
      const std::vector<std::string> parts = split_text(text, ',');
      std::int64_t epoch = 0;
      const char* end = parts.front().data() + parts.front().size();
      const auto [stopped, error] = std::from_chars(parts.front().data(), end, epoch);
      if (parts.size() != 7 || error != std::errc() || stopped != end) continue;
      Lines& lines = lines_of(parts[1]);
      remove_from(lines, epoch);
      lines.push_back({epoch, std::move(text)});
    }
  }
  rewrite();
}

void MetricsFile::add(const std::string& card, const EpochReport& epoch) {
  Lines& lines = lines_of(card);
  const bool repeated = remove_from(lines, number_of(epoch));
  lines.push_back({number_of(epoch), line_text(card, epoch)});
  if (repeated) {
    rewrite();
  } else {
    file_->append_line(lines.back().text);
  }
}

void MetricsFile::replace(const std::string& card, const std::vector<EpochReport>& epochs) {
  Lines lines;
  for (const EpochReport& epoch : epochs) lines.push_back({number_of(epoch), line_text(card, epoch)});
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
  std::string text = header + "\n";
  for (const auto& [card, lines] : cards_) {
    if (!lines.empty()) text += joined(lines) + "\n";
  }
  file_.reset();
  write_file(path_, text);
  file_.emplace(path_);
}

}  // namespace stoker
