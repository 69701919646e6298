#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "cli/commands/command.h"
#include "cli/flags/number_range.h"
#include "cli/flags/reading_settings.h"
#include "cli/view/terminal.h"
#include "data/cubes/cubes.h"
#include "data/source/source.h"
#include "data/table/preview_json.h"
#include "data/table/table.h"
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

// Columns that stand beside each other: one, or many of one type that are numbered, such as pixels.
struct ShownColumns {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t size() const { return end - begin; }
};

std::vector<ShownColumns> in_short(const std::vector<Preview::Column>& columns) {
  constexpr std::size_t most_shown_alone = 32;
  const auto stem = [](const std::string& name) {
    return name.substr(0, name.find_last_not_of("0123456789_") + 1);
  };
  std::vector<ShownColumns> result;
  for (std::size_t begin = 0; begin < columns.size();) {
    const std::string first = stem(columns[begin].name);
    std::size_t end = begin + 1;
    while (end < columns.size() && columns[end].type == columns[begin].type && !first.empty() &&
           columns[end].name != first && stem(columns[end].name) == first)
      ++end;
    if (end - begin <= most_shown_alone) end = begin + 1;
    result.push_back({begin, end});
    begin = end;
  }
  return result;
}

std::string shown_cells(const std::vector<std::string>& row, const ShownColumns& columns) {
  constexpr std::size_t width = 24;
  std::string text = cut_to_width(printable(row[columns.begin]), width);
  for (std::size_t i = columns.begin + 1; i < columns.end; ++i) {
    const std::string next = printable(row[i]);
    if (text.size() + next.size() + 3 > width) return text + " …";
    text += " " + next;
  }
  return text;
}

std::string as_text(const Preview& shown, const std::string& description) {
  std::vector<std::vector<std::string>> columns{{"column", "type", "missing"}};
  std::vector<std::string> names;
  const std::vector<ShownColumns> together = in_short(shown.columns);
  for (const ShownColumns& each : together) {
    const Preview::Column& first = shown.columns[each.begin];
    std::int64_t missing = 0;
    for (std::size_t i = each.begin; i < each.end; ++i) missing += shown.columns[i].nulls;
    const bool is_one = each.size() == 1;
    const std::string name = is_one ? first.name : first.name + " … " + shown.columns[each.end - 1].name;
    columns.push_back({name, is_one ? first.type : fmt::format("{} of {}", each.size(), first.type),
                       fmt::format("{}", missing)});
    names.push_back(is_one ? name : first.name + " …");
  }
  std::string cubes;
  if (shown.cubes) {
    std::vector<std::vector<std::string>> lines;
    for (const auto& [word, text] : shown.cubes->lines()) lines.push_back({word, text});
    cubes = aligned(lines) + "\n";
  }
  std::vector<std::vector<std::string>> first{names};
  for (const std::vector<std::string>& row : shown.first_rows) {
    first.emplace_back();
    for (const ShownColumns& each : together) first.back().push_back(shown_cells(row, each));
  }
  return fmt::format("{}: {}, {}\n\n{}{}\n{}", description,
                     counted(static_cast<std::uint64_t>(shown.rows), "row"),
                     counted(shown.columns.size(), "column"), cubes, aligned(columns), aligned(first));
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
                 "File, - (standard input), URL, name of a variable that holds the address of a database, "
                 "sample:NAME, or cubes:PATH (a file, a folder or a list of hyperspectral cubes)")
      ->required();
  app.add_option("--rows", command->rows, "Rows to show, at most 100")
      ->check(in_range(0, 100))
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
