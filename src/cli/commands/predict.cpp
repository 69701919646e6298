#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "base/text/csv_cell.h"
#include "base/text/text.h"
#include "cli/commands/command.h"
#include "cli/flags/find_run.h"
#include "cli/flags/reading_settings.h"
#include "cli/flags/slower_flag.h"
#include "cli/view/model_cautions.h"
#include "cli/view/terminal.h"
#include "data/cubes/cube_rows.h"
#include "data/cubes/cubes.h"
#include "data/cubes/cubes_files.h"
#include "data/prepare/set_columns.h"
#include "data/source/source.h"
#include "data/split/split_from_time.h"
#include "data/url/kept_downloads.h"
#include "data/windows/join_as_of.h"
#include "predict/decide/intervals.h"
#include "predict/decide/updated_intervals.h"
#include "predict/measure/gaps.h"
#include "predict/rows/predictions.h"
#include "predict/rows/predictions_json.h"
#include "predict/rows/rows_to_predict.h"
#include "predict/spectral/cube_scores.h"
#include "store/open_source.h"

namespace stoker::cli {
namespace {

struct PredictCommand {
  std::string model;
  std::string data;
  std::string output;
  std::string runs = "runs";
  bool include_features = false;
  bool every_window = false;
  bool json = false;
  std::optional<double> interval;   // percent
  std::string new_from;             // time of a series
  std::vector<std::string> slower;  // NAME=DATA
  config::Value reading;            // settings of the source, by their names
};

constexpr const char* prediction_name = "prediction";

// Of windows, by the names of the columns.
void add_times_and_groups(const Table& rows, nlohmann::json& json) {
  const Table known_by = times_and_groups(rows);
  for (const std::string& name : known_by.column_names()) {
    json[name == rows.windows->config.time_column ? "time" : "group"] = shown_values(known_by, name);
  }
}

// As CSV, by way of a file: what the reader of a pipe gets is whole rows or nothing.
void print_table(const Table& table) {
  constexpr std::size_t bytes_at_once = std::size_t{1} << 20;
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "predictions.csv";
  write_table(table, file);
  std::FILE* stream = std::fopen(file.c_str(), "rb");
  if (stream == nullptr) fail("{} cannot be read again", file.string());
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> closes(stream, &std::fclose);
  std::string piece(bytes_at_once, '\0');
  std::string
      rest;  // of a line whose end is still to come: a terminal's text is checked, and not amid a letter
  while (const std::size_t count = std::fread(piece.data(), 1, piece.size(), stream)) {
    rest.append(piece, 0, count);
    const std::size_t end = rest.rfind('\n') + 1;  // 0 where there is none
    const std::string_view rows = std::string_view(rest).substr(0, end);
    output_is_terminal() ? print(rows) : print_data(rows);
    rest.erase(0, end);
  }
  output_is_terminal() ? print(rest) : print_data(rest);
}

// DATA, and behind it the slower tables in the order of the model's names for them.
std::vector<SlowerFile> tables_given(const PredictCommand& command, const Model& model) {
  std::vector<SlowerFile> tables{{"", command.data}};
  if (command.slower.empty()) return tables;
  const std::vector<std::string> names = slower_names_of(model);
  if (names.empty())
    refuse("--slower: the model was trained without slower tables, so it has no use for one");
  const std::vector<std::string> files = files_by_name(command.slower, names);
  for (std::size_t i = 0; i < files.size(); ++i) tables.push_back({names[i], files[i]});
  return tables;
}

// With columns of text and dates as training had them.
std::vector<Table> read_tables(const PredictCommand& command, const Model& model) {
  const KeptDownloads looked_at_and_read;
  const std::vector<SlowerFile> given = tables_given(command, model);
  const std::vector<config::Value> readings = readings_of(given, command.reading);
  const std::vector<std::string> texts = model.preparation.text_columns();
  const DateForms forms = model.preparation.date_forms();
  std::vector<Table> tables;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto& [name, data] = given[i];
    const Source source = opened_source(data, readings[i]);
    tables.push_back(
        i == 0 ? source.read(texts, told_notes(), forms)
               : source.read(names_in_slower(name, texts), told_notes(), forms_in_slower(name, forms)));
  }
  return tables;
}

// Of every window, by what is known when it ends where the command says from when on the series is new.
Intervals intervals_of(const PredictCommand& command, const Model& model, const std::vector<Table>& given,
                       const Table& windows) {
  const double share = *command.interval / 100;
  if (command.new_from.empty()) {
    tell("note: the intervals rest on " + basis_of_intervals(model));
    return predict_intervals(model, windows, share);
  }
  const Table answered = rows_to_predict(model, given.front(), FramedRows::to_learn, no_notes(),
                                         {given.begin() + 1, given.end()});
  const std::vector<std::int64_t> are_new = rows_from_time(answered, "", command.new_from, "--new-from");
  if (rows_from_time(windows, "", command.new_from, "--new-from").empty())
    refuse("--new-from '{}' lies behind the end of the series, the last window of which ends at {}",
           command.new_from, shown_values(windows, windows.windows->config.time_column).back());
  tell(fmt::format(
      "note: the intervals of each window rest on the latest {} errors known when it ends: those of "
      "the windows from {} on, and as long as they are fewer also on {}",
      errors_that_count(share), command.new_from, basis_of_intervals(model)));
  return predict_updated_intervals(model, windows, take_rows(answered, are_new), share);
}

// What is said of each cube in a line.
struct ScoredCube {
  std::string name;
  std::string file;  // how the names of its files begin
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::optional<std::int64_t> marked;
  std::int64_t unscored = 0;
  float lowest = 0;  // of the pixels that have a score; NaN where none has
  float highest = 0;
};

std::string text_of(const std::vector<ScoredCube>& cubes) {
  std::string text = "cube,marked_pixels,highest_score\n";
  for (const ScoredCube& each : cubes)
    text += fmt::format("{},{},{:.6g}\n", csv_cell(each.name),
                        each.marked ? fmt::format("{}", *each.marked) : "", each.highest);
  return text;
}

nlohmann::json json_of(const std::vector<ScoredCube>& cubes, bool are_written) {
  nlohmann::json list = nlohmann::json::array();
  for (const ScoredCube& each : cubes) {
    list.push_back({{"cube", each.name},
                    {"height", each.height},
                    {"width", each.width},
                    {"pixels", each.height * each.width},
                    {"unscored_pixels", each.unscored},
                    {"lowest_score", each.lowest},
                    {"highest_score", each.highest}});
    if (each.marked) list.back()["marked_pixels"] = *each.marked;
    if (are_written) list.back()["scores"] = each.file + "_scores.npy";
    if (are_written && each.marked) list.back()["marks"] = each.file + "_marks.npy";
  }
  return list;
}

// The name of a cube as that of a file in one folder, other than those before.
std::string name_for_file(std::string name, std::set<std::string>& before) {
  for (char& each : name)
    if (std::isalnum(static_cast<unsigned char>(each)) == 0 && each != '-' && each != '.') each = '_';
  if (name.starts_with('.')) name.front() = '_';
  std::string own = name;
  for (int number = 2; !before.insert(own).second; ++number) own = fmt::format("{}_{}", name, number);
  return own;
}

void refuse_flags_of_rows(const PredictCommand& command) {
  const bool is_any = command.interval || command.include_features || command.every_window ||
                      !command.new_from.empty() || !command.slower.empty();
  if (is_any)
    refuse(
        "the model scores the pixels of cubes: --interval, --include-features, --every-window, --new-from "
        "and --slower are for rows");
  if (!command.output.empty() && std::filesystem::exists(command.output) &&
      !std::filesystem::is_directory(command.output))
    refuse("--output {} is a file, but cubes are written as several files; give a folder", command.output);
}

ScoredCube summed_up(const std::string& name, const CubeScores& found) {
  ScoredCube cube;
  cube.name = name;
  cube.height = found.scores.dimension(0);
  cube.width = found.scores.dimension(1);
  cube.lowest = cube.highest = std::numeric_limits<float>::quiet_NaN();
  for (const float each : found.scores.as<float>()) {
    if (std::isnan(each)) ++cube.unscored;
    cube.lowest = std::fmin(cube.lowest, each);
    cube.highest = std::fmax(cube.highest, each);
  }
  if (!found.marks.empty())
    cube.marked = found.marks.size() - std::ranges::count(found.marks.as<std::uint8_t>(), 0);
  return cube;
}

// Files NAME_scores.npy and, where pixels are marked, NAME_marks.npy of each cube.
ExitCode predict_cubes(const PredictCommand& command, const Model& model) {
  refuse_flags_of_rows(command);
  const Table table = read_tables(command, model).front();
  refuse_other_cubes(table, *model.preparation.cubes());
  if (!command.output.empty()) make_folder(command.output);
  std::vector<ScoredCube> cubes;
  std::set<std::string> names;
  score_cubes(model, table, [&](std::int64_t row, const CubeScores& found) {
    const std::string& name = table.cubes->names.at(static_cast<std::size_t>(cube_of(table, row)));
    ScoredCube cube = summed_up(name, found);
    cube.file = name_for_file(name, names);
    if (!command.output.empty()) {
      const std::filesystem::path folder = command.output;
      write_npy(found.scores, folder / (cube.file + "_scores.npy"));
      if (cube.marked) write_npy(found.marks, folder / (cube.file + "_marks.npy"));
    }
    cubes.push_back(std::move(cube));
  });
  if (command.json)
    print_json({{"cubes", json_of(cubes, !command.output.empty())}, {"output", command.output}});
  else if (command.output.empty())
    print(text_of(cubes));
  else
    print(fmt::format("{}: scores of {}\n", command.output, counted(cubes.size(), "cube")));
  return ExitCode::done;
}

ExitCode predict_and_show(const PredictCommand& command) {
  if (command.json && command.include_features && command.output.empty()) {
    refuse("--json prints only predictions; to have the input columns too, add --output FILE");
  }
  if (command.interval && !(*command.interval > 0 && *command.interval < 100))
    refuse("--interval {} is not a percentage between 0 and 100; use, for example, 90", *command.interval);
  if (command.interval && *command.interval < 1)
    refuse("--interval {} is less than one percent; for {:.4g} % of the values use {:.4g}", *command.interval,
           100 * *command.interval, 100 * *command.interval);
  const std::filesystem::path folder = model_named(command.model, command.runs);
  const Model model = load_model(folder);
  if (model.preparation.cubes() != nullptr) return predict_cubes(command, model);
  if (command.interval) {
    const std::string problem = problem_with_intervals(model, *command.interval / 100);
    if (!problem.empty()) refuse("--interval {}: {}", *command.interval, problem);
  }
  if (std::filesystem::is_directory(command.output)) {
    refuse("--output {} is a folder; give a file, or --runs DIR for the folder to look for runs in",
           command.output);
  }
  const WindowsConfig* windows = model.preparation.windows();
  if (command.every_window && windows == nullptr)
    refuse("--every-window: the model predicts rows, not windows of a series");
  if (!command.new_from.empty() && (!command.every_window || !command.interval))
    refuse("--new-from goes with --every-window and --interval, whose intervals it updates");
  if (command.include_features && windows != nullptr)
    refuse("--include-features: a window has no row of DATA of its own; its time and group are always given");
  const std::vector<Table> given = read_tables(command, model);
  const Table input =
      rows_to_predict(model, given.front(), command.every_window ? FramedRows::every : FramedRows::last,
                      told_notes(), {given.begin() + 1, given.end()});
  const Predictions predictions = predict(model, input);
  if (const SetColumns* set = model.preparation.set())
    for (const std::string& warning : warnings_of_sets(input, *set)) told_notes()(Severity::warning, warning);
  const std::vector<ColumnGaps> gaps =
      gaps_in(has_windows(input) ? covered_moments(input).moments : input, model.preparation);
  if (!gaps.empty()) tell("note: " + gaps_text(gaps));
  for (const Caution& each : cautions_about(folder))
    if (each.what == Doubtful::intervals ? command.interval && command.new_from.empty()
                                         : !predictions.probabilities.empty())
      tell("note: measured on the test rows of the model's run: " + each.text);
  std::optional<Intervals> intervals;
  if (command.interval) intervals = intervals_of(command, model, given, input);
  const auto table = [&] {
    const Table& before = command.include_features ? input : times_and_groups(input);
    const Table plain = predictions_table(predictions, before, true, prediction_name);
    return intervals ? with_intervals(plain, *intervals) : plain;
  };
  if (!command.output.empty()) {
    clear_half_made_file(command.output);
    write_table(table(), command.output);
    const auto rows = static_cast<std::uint64_t>(predictions.rows());
    if (command.json) {
      nlohmann::json json = {{"output", command.output}, {"rows", rows}};
      add_gaps(json, gaps);
      print_json(json);
    } else {
      print(fmt::format("{}: {} of {}\n", command.output, counted(rows, "prediction"),
                        model.preparation.target_column()));
    }
  } else if (command.json) {
    nlohmann::json json = to_json(predictions, intervals, model);
    add_times_and_groups(input, json);
    add_gaps(json, gaps);
    if (const auto others = columns_not_read(input, model); !others.empty())
      json["notes"] = {text_of_not_read(others)};
    print_json(json);
  } else {
    print_table(table());
  }
  return ExitCode::done;
}

}  // namespace

Action declare_predict(CLI::App& app) {
  const auto command = std::make_shared<PredictCommand>();
  app.add_option("MODEL", command->model, "Model folder, run folder, id of a run, or latest")->required();
  app.add_option("DATA", command->data,
                 "File, - (standard input), URL, name of a variable that holds the address of a database, or "
                 "sample:NAME, with the columns that the model needs; cubes:PATH for a model of cubes")
      ->required();
  app.add_option(
      "--output,--out", command->output,
      "File to write: .csv, .tsv, .parquet, .arrow, .feather; without it, CSV is printed. Of cubes a "
      "folder, for the scores and marks of each as npy");
  app.add_flag("--include-features", command->include_features,
               "Put the columns of DATA before the predictions");
  app.add_flag("--every-window", command->every_window,
               "Of a series, predict after each of its windows instead of after its end alone");
  app.add_option("--slower", command->slower,
                 "Of a model that was trained with slower time frames: each of their tables, under the name "
                 "that it had there or in their order; may be repeated")
      ->type_name("NAME=DATA");
  app.add_option(
         "--interval", command->interval,
         "Add columns lower and upper, which hold the actual value of so many percent of the rows; for "
         "numbers, predicted by an ensemble or by a network with validation_ratio")
      ->type_name("PERCENT");
  app.add_option("--new-from", command->new_from,
                 "With --every-window and --interval: the time from which on the series is new to the model; "
                 "intervals of each window then rest on the latest errors that are known when it ends")
      ->type_name("TIME");
  app.add_option("--runs", command->runs, "Folder to look for runs in")->capture_default_str();
  app.add_flag("--json", command->json, "Print one JSON object instead of CSV");
  app.option_defaults()->group("Settings of the data");
  add_reading_flags(app, command->reading);
  app.footer(
      "Rows keep their order. A model of windows takes a series, sorts it by time and predicts what comes "
      "after\nits end, one row for each group. A model of cubes scores every pixel.\n"
      "Examples:\n"
      "  stoker predict latest new_houses.csv\n"
      "  stoker predict runs/2026-11-15_10-20-30_houses/model new.parquet --output prices.csv "
      "--include-features\n"
      "  stoker predict latest quarters.csv --slower h1=hours.csv --slower h4=four_hours.csv\n"
      "  stoker predict latest cubes:flights --out scores");
  return [command] { return predict_and_show(*command); };
}

}  // namespace stoker::cli
