#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "predict/measure/metrics.h"
#include "report/plot/plotted_lines.h"

namespace stoker {
namespace {

constexpr std::string_view of_training = "train_";
constexpr std::string_view of_validation = "validation_";
constexpr std::size_t most_losses_drawn = 8;
constexpr std::size_t most_epochs_drawn = 4'000;

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
  using Of = PlottedLines::Of;
  std::vector<PlottedLines> all;
  if (values.epochs.size() < 2) return all;
  const std::size_t step = 1 + values.epochs.size() / most_epochs_drawn;
  PlottedLines held_out = over_epochs(values, step);
  held_out.caption = "Validation metrics by epoch";
  held_out.y_label = "Metric";
  for (const std::string& name : values.names) {
    const bool is_trained = name.starts_with(of_training);
    const std::string rest =
        name.substr(std::min(name.size(), (is_trained ? of_training : of_validation).size()));
    const std::vector<double>* trained = values.column(fmt::format("{}{}", of_training, rest));
    const std::vector<double>* validated = values.column(fmt::format("{}{}", of_validation, rest));
    if (trained == nullptr && validated != nullptr)
      held_out.lines.push_back({std::string(title_of(rest)), every(*validated, step)});
    if (!is_trained || all.size() == most_losses_drawn) continue;
    const bool is_metric = find_metric(rest) != nullptr;
    PlottedLines course = over_epochs(values, step);
    course.caption =
        is_metric ? fmt::format("{} by epoch", title_of(rest)) : fmt::format("Loss {} by epoch", rest);
    course.y_label = is_metric ? std::string(title_of(rest)) : "Loss";
    course.lines.push_back({.label = "training", .values = every(*trained, step), .of = Of::training});
    if (validated != nullptr)
      course.lines.push_back(
          {.label = "validation", .values = every(*validated, step), .of = Of::validation});
    all.push_back(std::move(course));
  }
  if (held_out.lines.size() == 1) held_out.lines.front().of = Of::validation;
  if (!held_out.lines.empty()) all.insert(all.begin(), std::move(held_out));
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
