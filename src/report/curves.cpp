#include "report/curves.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

#include "base/error.h"
#include "base/files.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view header =
    "epoch,card,train_loss,validation_loss,learning_rate,seconds,rows_per_second";
constexpr std::size_t column_count = 7;
constexpr std::size_t largest_metrics_file = 512U << 20;  // a million epochs of several trainings
constexpr std::size_t most_cards = 1'000;

struct Epoch {
  double training;
  double validation;
  double learning_rate;
};
using Epochs = std::map<std::int64_t, Epoch>;

// A line's fields; quotes around a field allow commas in it, doubled quotes mean one.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += c;
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

struct Place {
  const fs::path& file;
  std::size_t line;
};

double number(const std::string& text, const Place& place) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  if (text.empty()) return none;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) return none;
  if (error != std::errc() || end != text.data() + text.size())
    refuse("{}:{}: '{}' is not a number", place.file.string(), place.line, text.substr(0, 40));
  return std::isfinite(value) ? value : none;
}

std::int64_t epoch_number(const std::string& text, const Place& place) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1)
    refuse("{}:{}: '{}' is not an epoch", place.file.string(), place.line, text.substr(0, 40));
  return value;
}

class CurveReader {
 public:
  explicit CurveReader(const fs::path& file) : file_(file) {}

  void add_line(std::string_view line, std::size_t line_number) {
    const Place place{file_, line_number};
    const std::vector<std::string> fields = fields_of(line);
    if (fields.size() != column_count)
      refuse("{}:{}: {} fields, {} are needed", file_.string(), line_number, fields.size(), column_count);
    Epochs& epochs = epochs_of(fields[1]);
    epochs[epoch_number(fields[0], place)] = {number(fields[2], place), number(fields[3], place),
                                              number(fields[4], place)};
  }

  std::vector<LossCurve> take() {
    std::vector<LossCurve> curves;
    for (const auto& [card, epochs] : cards_) {
      LossCurve& curve = curves.emplace_back();
      curve.card = card;
      for (const auto& [epoch, values] : epochs) {
        curve.epochs.push_back(static_cast<double>(epoch));
        curve.training.push_back(values.training);
        curve.validation.push_back(values.validation);
        curve.learning_rate.push_back(values.learning_rate);
      }
    }
    return curves;
  }

 private:
  Epochs& epochs_of(const std::string& card) {
    for (auto& [name, epochs] : cards_) {
      if (name == card) return epochs;
    }
    if (cards_.size() == most_cards) refuse("{} names more than {} cards", file_.string(), most_cards);
    return cards_.emplace_back(card, Epochs{}).second;
  }

  const fs::path& file_;
  std::vector<std::pair<std::string, Epochs>> cards_;
};

}  // namespace

bool LossCurve::has_validation() const {
  return std::any_of(validation.begin(), validation.end(), [](double loss) { return !std::isnan(loss); });
}

bool LossCurve::wants_log_axis() const {
  double lowest = std::numeric_limits<double>::infinity();
  double highest = 0;
  for (const std::vector<double>* losses : {&training, &validation}) {
    for (const double loss : *losses) {
      if (std::isnan(loss)) continue;
      lowest = std::min(lowest, loss);
      highest = std::max(highest, loss);
    }
  }
  return lowest > 0 && highest > 100 * lowest;
}

std::vector<LossCurve> read_curves(const fs::path& metrics_file) {
  std::error_code error;
  if (!fs::exists(metrics_file, error)) return {};
  const std::string content = read_file(metrics_file, largest_metrics_file);
  CurveReader reader(metrics_file);
  std::size_t line_number = 0;
  std::size_t begin = 0;
  for (std::size_t end = content.find('\n'); end != std::string::npos; end = content.find('\n', begin)) {
    std::string_view line = std::string_view(content).substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++line_number;
    begin = end + 1;
    if (line_number == 1 && line != header)
      refuse("{} does not begin with the line {}", metrics_file.string(), header);
    if (line_number > 1 && !line.empty()) reader.add_line(line, line_number);
  }
  return reader.take();
}

LossCurve thinned(const LossCurve& curve, std::size_t most) {
  const std::size_t size = curve.epochs.size();
  if (size <= most) return curve;
  const std::size_t stride = (size + most - 1) / most;
  LossCurve result{.card = curve.card,
                   .epochs = {},
                   .training = {},
                   .validation = {},
                   .learning_rate = {},
                   .best_epoch = curve.best_epoch};
  for (std::size_t i = 0; i < size; ++i) {
    if (i % stride != 0 && i + 1 != size && curve.epochs[i] != curve.best_epoch) continue;
    result.epochs.push_back(curve.epochs[i]);
    result.training.push_back(curve.training[i]);
    result.validation.push_back(curve.validation[i]);
    result.learning_rate.push_back(curve.learning_rate[i]);
  }
  return result;
}

}  // namespace stoker
