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

}  // namespace

MetricsFile::MetricsFile(std::filesystem::path path) : path_(std::move(path)) {
  if (std::filesystem::exists(path_)) {
    for (const std::string& text : split_text(read_file(path_, largest_file), '\n')) {
      const std::vector<std::string> parts = split_text(text, ',');
      std::int64_t epoch = 0;
      const char* end = parts.front().data() + parts.front().size();
      const auto [stopped, error] = std::from_chars(parts.front().data(), end, epoch);
      if (parts.size() == 7 && error == std::errc() && stopped == end)
        lines_.push_back({epoch, parts[1], text});
    }
  }
  rewrite();
}

void MetricsFile::add(const std::string& card, const EpochReport& epoch) {
  const std::size_t before = lines_.size();
  remove_from(card, number_of(epoch));
  const bool repeated = lines_.size() != before;
  lines_.push_back({number_of(epoch), card, line_text(card, epoch)});
  if (repeated) {
    rewrite();
  } else {
    file_->append_line(lines_.back().text);
  }
}

void MetricsFile::replace(const std::string& card, const std::vector<EpochReport>& epochs) {
  remove_from(card, 0);
  for (const EpochReport& epoch : epochs) {
    lines_.push_back({number_of(epoch), card, line_text(card, epoch)});
  }
  rewrite();
}

void MetricsFile::remove_from(const std::string& card, std::int64_t epoch) {
  std::erase_if(lines_, [&](const Line& line) { return line.card == card && line.epoch >= epoch; });
}

void MetricsFile::rewrite() {
  std::string text = header + "\n";
  for (const Line& line : lines_) text += line.text + "\n";
  file_.reset();
  write_file(path_, text);
  file_.emplace(path_);
}

}  // namespace stoker
