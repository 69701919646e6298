#include "report/plot/curves.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

#include "base/error.h"
#include "base/files/files.h"
#include "train/loop/epoch_report.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_metrics_file = 512U << 20;  // a million epochs of several trainings
constexpr std::size_t most_cards = 1'000;

using Epochs = std::map<std::int64_t, EpochReport>;

constexpr double none = std::numeric_limits<double>::quiet_NaN();

double drawn(double value) {
  return std::isfinite(value) ? value : none;
}

class CurveReader {
 public:
  explicit CurveReader(const fs::path& file) : file_(file) {}

  void add_line(std::string_view line, std::size_t line_number) {
    try {
      const auto [card, epoch] = epoch_from_line(line);
      epochs_of(card)[epoch_number(epoch)] = epoch;
    } catch (const Error& error) {
      refuse("{}:{}: {}", file_.string(), line_number, error.what());
    }
  }

  std::vector<LossCurve> take() {
    std::vector<LossCurve> curves;
    for (const auto& [card, epochs] : cards_) {
      LossCurve& curve = curves.emplace_back();
      curve.card = card;
      for (const auto& [number, epoch] : epochs) {
        curve.epochs.push_back(static_cast<double>(number));
        curve.training.push_back(drawn(epoch.record.train_loss));
        curve.validation.push_back(drawn(epoch.record.validation_loss.value_or(none)));
        curve.learning_rate.push_back(drawn(epoch.learning_rate));
        curve.rows_per_second.push_back(drawn(epoch.rows_per_second));
        curve.gradient_norm.push_back(drawn(epoch.record.gradient_norm.value_or(none)));
        curve.memory_bytes.push_back(epoch.memory_bytes > 0 ? static_cast<double>(epoch.memory_bytes) : none);
        curve.seconds.push_back(drawn(epoch.seconds));
      }
    }
    return curves;
  }

 private:
  Epochs& epochs_of(const std::string& card) {
    for (auto& [name, epochs] : cards_) {
      if (name == card) return epochs;
    }
    if (cards_.size() == most_cards) refuse("more than {} cards", most_cards);
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

std::span<const Course> courses() {
  static constexpr std::array<Course, 4> all{{
      {"learning_rate", "Learning rate", "Learning rate", &LossCurve::learning_rate},
      {"gradient_norm", "Length of the gradients, before clipping", "Mean norm", &LossCurve::gradient_norm},
      {"rows_per_second", "Throughput", "Rows per second", &LossCurve::rows_per_second, true},
      {"memory_bytes", "Memory of the process", "Bytes", &LossCurve::memory_bytes, true},
  }};
  return all;
}

std::vector<Course> courses_of(const LossCurve& curve) {
  std::vector<Course> shown;
  if (curve.epochs.size() < 2) return shown;
  for (const Course& each : courses()) {
    const std::vector<double>& values = curve.*each.values;
    const bool is_known = std::ranges::any_of(values, [](double value) { return !std::isnan(value); });
    const bool is_constant_rate =
        each.values == &LossCurve::learning_rate &&
        std::ranges::count(values, values.front()) == static_cast<std::ptrdiff_t>(values.size());
    if (is_known && !is_constant_rate) shown.push_back(each);
  }
  return shown;
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
    if (line_number == 1 && line != epoch_columns && line != earlier_epoch_columns)
      refuse("{} does not begin with the line {}", metrics_file.string(), epoch_columns);
    if (line_number > 1 && !line.empty()) reader.add_line(line, line_number);
  }
  return reader.take();
}

LossCurve thinned(const LossCurve& curve, std::size_t most) {
  const std::size_t size = curve.epochs.size();
  if (size <= most) return curve;
  const std::size_t stride = (size + most - 1) / most;
  LossCurve result;
  result.card = curve.card;
  result.best_epoch = curve.best_epoch;
  for (std::size_t i = 0; i < size; ++i) {
    if (i % stride != 0 && i + 1 != size && curve.epochs[i] != curve.best_epoch) continue;
    for (const auto values : {&LossCurve::epochs, &LossCurve::training, &LossCurve::validation,
                              &LossCurve::learning_rate, &LossCurve::rows_per_second,
                              &LossCurve::gradient_norm, &LossCurve::memory_bytes, &LossCurve::seconds})
      if (!(curve.*values).empty()) (result.*values).push_back((curve.*values)[i]);
  }
  return result;
}

}  // namespace stoker
