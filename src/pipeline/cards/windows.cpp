#include "data/windows/windows.h"

#include "pipeline/cards/card_settings.h"
#include "pipeline/cards/cards.h"
#include "pipeline/cards/slower_tables.h"

namespace stoker::cards {
namespace {

config::Value check_windows(const config::Value& config, const std::string& path,
                            config::Diagnostics& diagnostics) {
  const auto settings = config::read<WindowsConfig>(config, path, diagnostics);
  if (!diagnostics.empty()) return config::write(settings);
  if (WindowsProblem problem = problem_of(settings); !problem.text.empty())
    diagnostics.add(line_of(config, problem.setting), path + "." + problem.setting, std::move(problem.text));
  return config::write(settings);
}

PortValues make_windows(const CardContext& context) {
  const Notes notes = [&context](Severity severity, const std::string& message) {
    context.listener.note(severity, message);
  };
  auto settings = settings_of<WindowsConfig>(context.config);
  const std::vector<Table> slower = slower_tables(context);
  settings.slower.slower_names = names_of_slower(settings.slower, slower.size());
  const Table series = join_slower_tables(input<Table>(context, "dataset"), slower, settings.slower,
                                          settings.time_column, settings.group_column, notes);
  return {{"dataset", frame_series(series, settings, FramedRows::to_learn, notes)}};
}

}  // namespace

CardType windows() {
  return {.name = "windows",
          .version = 4,
          .title = "Make windows",
          .help =
              "Makes rows to learn from of a series: each is a window of some rows one after the other, with "
              "the answer that follows it. Whatever divides such rows afterwards (data_split, validation, "
              "folds) goes by time: the later ones are held back, and those that overlap them are left out.",
          .inputs = {{"dataset", PortType::table,
                      "The series, one row for each moment; several with "
                      "group_column"},
                     slower_input(Takes::any_number)},
          .outputs = {{"dataset", PortType::table, "A row for each window"}},
          .file_settings = {},
          .column_settings = {"target_column", "group_column", "time_column", "feature_columns"},
          .first_settings = {"target_column", "length", "horizon", "time_column", "group_column", "answer"},
          .only_with = {{"threshold", "answer", {"direction"}}},
          .describe = described<WindowsConfig>,
          .check = check_windows,
          .run = make_windows};
}

}  // namespace stoker::cards
