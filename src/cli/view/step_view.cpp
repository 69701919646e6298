#include "cli/view/step_view.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "cli/view/terminal.h"

namespace stoker::cli {
namespace {

using StepCells = std::vector<std::vector<std::string>>;

constexpr std::size_t most_columns_shown = 6;
constexpr std::size_t most_rows_shown = 8;
constexpr const char* step_indent = "   ";

std::string cell_of(const nlohmann::json& value) {
  return value.is_number() ? fmt::format("{:.4g}", value.get<double>()) : "none";
}

std::string shape_text(const nlohmann::json& array) {
  std::vector<std::string> sizes;
  for (const nlohmann::json& each : array.at("shape")) sizes.push_back(each.dump());
  return join(sizes, " x ");
}

// The numbers that there are of an array: all of it, or its first corner.
const nlohmann::json& numbers_in(const nlohmann::json& array) {
  return array.contains("values") ? array.at("values") : array.at("corner");
}

void add_cells(const nlohmann::json& row, std::vector<std::string>& cells) {
  const std::size_t shown = std::min(row.size(), most_columns_shown);
  for (std::size_t i = 0; i < shown; ++i) cells.push_back(cell_of(row[i]));
  if (shown < row.size()) cells.push_back("…");
}

std::string batch_text(const nlohmann::json& step) {
  StepCells cells{{"row"}};
  const nlohmann::json& inputs = step.at("inputs");
  const nlohmann::json* features = inputs.contains("features") ? &inputs.at("features") : nullptr;
  if (features != nullptr) {
    const nlohmann::json& columns = features->at("columns");
    const std::size_t width = numbers_in(*features).at(0).size();
    for (std::size_t i = 0; i < std::min(width, most_columns_shown); ++i)
      cells[0].push_back(i < columns.size() ? columns[i].get<std::string>() : std::to_string(i));
    if (width > most_columns_shown) cells[0].emplace_back("…");
  }
  cells[0].push_back(step.at("target"));
  if (step.contains("real_targets")) cells[0].emplace_back("in its unit");
  const std::size_t rows = std::min<std::size_t>(step.at("rows").get<std::size_t>(), most_rows_shown);
  for (std::size_t row = 0; row < rows; ++row) {
    cells.push_back({step.at("row_numbers")[row].dump()});
    if (features != nullptr && row < numbers_in(*features).size())
      add_cells(numbers_in(*features)[row], cells.back());
    cells.back().push_back(cell_of(step.at("targets")[row]));
    if (step.contains("real_targets")) cells.back().push_back(cell_of(step.at("real_targets")[row]));
  }
  return aligned(cells, step_indent);
}

std::string model_text(const nlohmann::json& step) {
  StepCells cells{{"layer", "reads", "puts out", "then", "weights", "norm", "first of them"}};
  const nlohmann::json& parameters = step.at("parameters");
  for (const nlohmann::json& layer : step.at("layers")) {
    const std::string name = layer.at("name").get<std::string>() + ".weight";
    const auto weight =
        std::ranges::find_if(parameters, [&](const nlohmann::json& each) { return each.at("name") == name; });
    cells.push_back({layer.at("name"), layer.at("inputs").dump(), layer.at("outputs").dump(),
                     layer.contains("activation")
                         ? fmt::format("{}, dropout {}", layer.at("activation").get<std::string>(),
                                       cell_of(layer.at("dropout")))
                         : "the outputs",
                     shape_text(*weight), cell_of(weight->at("norm")), cell_of(numbers_in(*weight)[0][0])});
  }
  return aligned(cells, step_indent);
}

std::string optimizer_text(const nlohmann::json& step) {
  std::vector<std::string> settings{"learning_rate " + cell_of(step.at("learning_rate"))};
  for (const auto& [name, value] : step.at("settings").items())
    settings.push_back(name + " " + cell_of(value));
  return step_indent + join(settings, ", ") + "\n";
}

std::string forward_text(const nlohmann::json& step) {
  StepCells cells{{"layer", "values", "lowest", "highest", "mean", "dropped"}};
  for (const nlohmann::json& layer : step.at("layers")) {
    const nlohmann::json& active = layer.at("active");
    cells.push_back({layer.at("name"), shape_text(active), cell_of(active.at("lowest")),
                     cell_of(active.at("highest")), cell_of(active.at("mean")),
                     layer.contains("dropped") ? layer.at("dropped").dump() : ""});
  }
  std::vector<std::string> predictions;
  for (const nlohmann::json& row : numbers_in(step.at("predictions"))) {
    if (predictions.size() == most_rows_shown) break;
    std::vector<std::string> outputs;
    add_cells(row, outputs);
    predictions.push_back(outputs.size() == 1 ? outputs.front() : "(" + join(outputs, " ") + ")");
  }
  return aligned(cells, step_indent) + step_indent + "predictions: " + join(predictions, ", ") + "\n";
}

std::string loss_text(const nlohmann::json& step) {
  std::vector<std::string> rows;
  for (const nlohmann::json& each : step.at("of_rows"))
    if (rows.size() < most_rows_shown) rows.push_back(cell_of(each));
  return fmt::format("{0}{1} of each row: {2}\n{0}mean: {3}\n", step_indent,
                     step.at("loss").get<std::string>(), join(rows, ", "), cell_of(step.at("mean")));
}

std::string gradients_text(const nlohmann::json& step) {
  StepCells cells{{"gradient of", "shape", "norm", "lowest", "highest"}};
  for (const nlohmann::json& each : step.at("gradients"))
    cells.push_back({each.at("name"), shape_text(each), cell_of(each.at("norm")), cell_of(each.at("lowest")),
                     cell_of(each.at("highest"))});
  return aligned(cells, step_indent) +
         fmt::format("{}norm of all together: {}\n", step_indent, cell_of(step.at("gradient_norm")));
}

std::string first_number(const nlohmann::json& array) {
  const nlohmann::json& numbers = numbers_in(array);
  return cell_of(numbers[0].is_array() ? numbers[0][0] : numbers[0]);
}

std::string change_text(const nlohmann::json& step) {
  StepCells cells{{"parameter", "norm before", "after", "of the change", "first weight before", "after"}};
  for (const nlohmann::json& each : step.at("parameters"))
    cells.push_back({each.at("name"), cell_of(each.at("before").at("norm")),
                     cell_of(each.at("after").at("norm")), cell_of(each.at("change").at("norm")),
                     fmt::format("{}", first_number(each.at("before"))), first_number(each.at("after"))});
  return aligned(cells, step_indent) + fmt::format("{}loss of these rows: {} before, {} behind the step\n",
                                                   step_indent, cell_of(step.at("loss_before")),
                                                   cell_of(step.at("loss_after")));
}

std::string numbers_text(const nlohmann::json& step) {
  const std::string name = step.at("step");
  if (name == "prepare_batch") return batch_text(step);
  if (name == "build_model") return model_text(step);
  if (name == "init_optimizer") return optimizer_text(step);
  if (name == "forward") return forward_text(step);
  if (name == "loss") return loss_text(step);
  if (name == "backward") return gradients_text(step);
  if (name == "optimizer_step") return change_text(step);
  return "";
}

}  // namespace

std::string step_text(const nlohmann::json& explained) {
  std::string text = fmt::format("The first training step of the card {}: {} of {} training rows\n",
                                 explained.at("card").get<std::string>(), explained.at("rows").dump(),
                                 explained.at("training_rows").dump());
  for (const nlohmann::json& remark : explained.at("remarks")) text += remark.get<std::string>() + "\n";
  std::size_t number = 0;
  for (const nlohmann::json& step : explained.at("steps"))
    text += fmt::format("\n{}. {}\n{}{}\n{}", ++number, step.at("title").get<std::string>(), step_indent,
                        step.at("text").get<std::string>(), numbers_text(step));
  return text;
}

}  // namespace stoker::cli
