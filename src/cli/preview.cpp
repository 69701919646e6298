#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/command.h"
#include "cli/reading_settings.h"
#include "cli/terminal.h"
#include "data/preview_json.h"
#include "data/source.h"
#include "data/table.h"
#include "store/open_source.h"

namespace stoker::cli {
namespace {

struct PreviewCommand {
  std::string data;
  std::size_t rows = 10;
  bool json = false;
  bool distributions = false;
  config::Value reading;  // settings of the source, by their names
};

std::string as_text(const Preview& shown, const std::string& description) {
  std::vector<std::vector<std::string>> columns{{"column", "type", "missing"}};
  std::vector<std::string> names;
  for (const Preview::Column& column : shown.columns) {
    columns.push_back({column.name, column.type, fmt::format("{}", column.nulls)});
    names.push_back(column.name);
  }
  std::vector<std::vector<std::string>> first{names};
  for (const std::vector<std::string>& row : shown.first_rows) {
    first.emplace_back();
    for (const std::string& cell : row) first.back().push_back(cut_to_width(printable(cell), 24));
  }
  return fmt::format("{}: {}, {}\n\n{}\n{}", description,
                     counted(static_cast<std::uint64_t>(shown.rows), "row"),
                     counted(shown.columns.size(), "column"), aligned(columns), aligned(first));
}

ExitCode show(const PreviewCommand& command) {
  const Source source = opened_source(command.data, command.reading);
  const Table table = source.read({}, told_notes());
  Preview shown = preview(table);
  shown.first_rows.resize(std::min(shown.first_rows.size(), command.rows));
  if (command.json) {
    nlohmann::json json = to_json(shown);
    if (command.distributions) add_distributions(table, json);
    print_json(json);
  } else {
    print(as_text(shown, source.description()));
  }
  return ExitCode::done;
}

}  // namespace

Action declare_preview(CLI::App& app) {
  const auto command = std::make_shared<PreviewCommand>();
  app.add_option("DATA", command->data,
                 "File, - (standard input), URL, name of a variable that holds the address of a database, or "
                 "sample:NAME")
      ->required();
  app.add_option("--rows", command->rows, "Rows to show, at most 100")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  app.add_flag("--json", command->json, "Print one JSON object");
  app.add_flag("--distributions", command->distributions,
               "With --json: of each column how its values are distributed")
      ->needs("--json");
  app.option_defaults()->group("Settings of the data");
  add_reading_flags(app, command->reading);
  app.footer("Examples:\n  stoker preview houses.csv\n  stoker preview sample:friedman --rows 100 --json");
  return [command] { return show(*command); };
}

}  // namespace stoker::cli
