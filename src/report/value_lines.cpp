#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "predict/metrics.h"
#include "report/plotted_lines.h"

namespace stoker {
namespace {

constexpr std::string_view of_training = "train_";
constexpr std::string_view of_validation = "validation_";
constexpr std::size_t most_losses_drawn = 8;
constexpr std::size_t most_epochs_drawn = 4'000;

const std::vector<double>* column_named(const EpochValues& values, const std::string& name) {
  const auto found = std::ranges::find(values.names, name);
  return found == values.names.end()
             ? nullptr
             : &values.columns[static_cast<std::size_t>(found - values.names.begin())];
}

std::vector<double> every(const std::vector<double>& numbers, std::size_t step) {
  std::vector<double> some;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (i % step == 0 || i + 1 == numbers.size()) some.push_back(numbers[i]);
  return some;
}

PlottedLines over_epochs(const EpochValues& values, std::size_t step) {
  PlottedLines lines;
  lines.x_label = "Epoch";
  lines.x = every(values.epochs, step);
  return lines;
}

}  // namespace

std::vector<PlottedLines> lines_of(const EpochValues& values) {
  std::vector<PlottedLines> all;
  if (values.epochs.size() < 2) return all;
  const std::size_t step = 1 + values.epochs.size() / most_epochs_drawn;
  PlottedLines metrics = over_epochs(values, step);
  metrics.caption = "Metrics of what is held back, by epoch";
  metrics.y_label = "Metric";
  for (const std::string& name : values.names) {
    const bool is_trained = name.starts_with(of_training);
    const std::string rest =
        name.substr(std::min(name.size(), (is_trained ? of_training : of_validation).size()));
    const std::vector<double>* trained = column_named(values, fmt::format("{}{}", of_training, rest));
    const std::vector<double>* validated = column_named(values, fmt::format("{}{}", of_validation, rest));
    if (trained == nullptr && validated != nullptr)
      metrics.lines.push_back({std::string(title_of(rest)), every(*validated, step)});
    if (!is_trained || all.size() == most_losses_drawn) continue;
    PlottedLines loss = over_epochs(values, step);
    loss.caption = fmt::format("Loss {} by epoch", rest);
    loss.y_label = "Loss";
    loss.lines.push_back({"training", every(*trained, step)});
    if (validated != nullptr) loss.lines.push_back({"validation", every(*validated, step)});
    all.push_back(std::move(loss));
  }
  if (!metrics.lines.empty()) all.insert(all.begin(), std::move(metrics));
  return all;
}

std::vector<PlottedLines> lines_of_page(const RunContents& contents) {
  std::vector<PlottedLines> all;
  for (const EpochValues& each : contents.values)
    for (PlottedLines& lines : lines_of(each)) all.push_back(std::move(lines));
  for (const CardCubes& each : contents.cubes)
    for (PlottedLines& lines : lines_of(each.record)) all.push_back(std::move(lines));
  return all;
}

}  // namespace stoker
