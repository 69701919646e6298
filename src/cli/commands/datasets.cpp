#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/text.h"
#include "cli/commands/command.h"
#include "cli/commands/datasets_command.h"
#include "cli/flags/number_range.h"
#include "cli/flags/project_flag.h"
#include "cli/flags/reading_settings.h"
#include "cli/view/terminal.h"
#include "data/cubes/cubes.h"
#include "data/table/table_to_database.h"
#include "data/url/url_secrets.h"
#include "database/selection.h"
#include "store/dataset_store.h"
#include "store/open_source.h"

namespace stoker::cli {
namespace {

namespace fs = std::filesystem;

nlohmann::json as_json(const DatasetRecord& record) {
  nlohmann::json columns = nlohmann::json::array();
  for (const auto& [name, type] : record.columns) columns.push_back({{"name", name}, {"type", type}});
  nlohmann::json shown{{"id", record.id},
                       {"source", record.name},
                       {"rows", record.rows},
                       {"fingerprint", record.fingerprint},
                       {"columns", std::move(columns)},
                       {"added", record.added}};
  if (!record.cleaned_of.empty()) shown["cleaned_of"] = record.cleaned_of;
  if (record.cubes)
    shown["cubes"] = {{"count", record.rows},
                      {"height", record.cubes->height},
                      {"width", record.cubes->width},
                      {"channels", record.cubes->channels}};
  return shown;
}

ExitCode list_datasets(const DatasetsCommand& command) {
  DatasetStore store;
  const auto [all, damaged] = store.all();
  for (const DamagedRecord& each : damaged)
    told_notes()(Severity::warning, fmt::format("{}; take it off the record with: stoker datasets remove {}",
                                                each.problem, each.id));
  if (command.json) {
    nlohmann::json shown{{"store", store.place()}, {"datasets", nlohmann::json::array()}};
    for (const DatasetRecord& each : all) shown["datasets"].push_back(as_json(each));
    for (const DamagedRecord& each : damaged)
      shown["damaged"].push_back({{"id", each.id}, {"problem", each.problem}});
    print_json(shown);
    return ExitCode::done;
  }
  if (all.empty()) {
    print(fmt::format("no {}datasets in {}\n", damaged.empty() ? "" : "other ", store.place()));
    return ExitCode::done;
  }
  std::vector<std::vector<std::string>> lines{{"dataset", "rows", "columns", "added", "source"}};
  for (const DatasetRecord& each : all)
    lines.push_back({each.id, human_count(static_cast<std::uint64_t>(std::max<std::int64_t>(0, each.rows))),
                     fmt::format("{}", each.columns.size()), each.added.substr(0, 19), each.name});
  print(aligned(lines));
  return ExitCode::done;
}

ExitCode show_dataset(const DatasetsCommand& command) {
  DatasetStore store;
  const DatasetRecord record = store.find(command.id);
  if (command.json) {
    print_json(as_json(record));
    return ExitCode::done;
  }
  std::vector<std::vector<std::string>> lines{
      {"dataset", record.id},
      {"source", record.name},
      {"size", counted(static_cast<std::uint64_t>(std::max<std::int64_t>(0, record.rows)), "row")},
      {"content", record.fingerprint},
      {"added", record.added},
      {"store", store.place()}};
  if (record.cubes)
    lines.push_back(
        {"cubes",
         fmt::format("{} of {} x {} pixels with {}", human_count(static_cast<std::uint64_t>(record.rows)),
                     record.cubes->height, record.cubes->width,
                     counted(static_cast<std::uint64_t>(record.cubes->channels), "channel"))});
  if (!record.cleaned_of.empty()) lines.push_back({"cleaned copy of", record.cleaned_of});
  std::string text = aligned(lines) + "\nColumns\n";
  std::vector<std::vector<std::string>> columns;
  for (const auto& [name, type] : record.columns) columns.push_back({name, type});
  print(text + aligned(columns, "  "));
  return ExitCode::done;
}

// A slip in an address must neither become a file of that name nor be repeated: it may hold a password.
void refuse_what_is_no_place(const std::string& to) {
  const bool is_reference = to.starts_with("${");
  const bool looks_like_variable =
      !to.empty() && to.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string::npos;
  if (fs::exists(to)) return;
  if (is_reference || (looks_like_variable && std::getenv(to.c_str()) == nullptr))
    refuse("--to: the environment variable {} is not set; it should hold postgres://…",
           is_reference ? to.substr(2, to.find('}') - 2) : to);
  if (to.find('=') != std::string::npos)
    refuse(
        "--to takes the path of an SQLite file, or the name of a variable with the address of a PostgreSQL "
        "(postgres://…), not the parts of an address");
}

DatasetRecord record_to_add(const DatasetsCommand& command) {
  const SourceConfig source = source_named(command.data, command.reading);
  const auto rows = command.is_faulty ? RowsToRecord::those_that_can_be_read : RowsToRecord::all;
  try {
    return record_of(command.id, source, fs::current_path(), rows);
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    if (command.is_faulty || !has_whole_rows(source, fs::current_path())) throw;
    throw Error(error.code(),
                fmt::format("{}; --faulty puts it on record all the same, to be validated and repaired",
                            error.what()),
                error.cause());
  }
}

// By the name that people know it by, where that is another than its place has.
void call_it(DatasetRecord& record, const DatasetsCommand& command) {
  constexpr std::size_t longest = 200;
  if (command.called.size() > longest) refuse("--called takes at most {} characters", longest);
  if (!command.called.empty()) record.name = printable(command.called);
}

ExitCode add_dataset(const DatasetsCommand& command) {
  DatasetStore store;
  store.refuse_taken(command.id);
  DatasetRecord record = record_to_add(command);
  call_it(record, command);
  store.add(record);
  told_added(record, store);
  return ExitCode::done;
}

ExitCode remove_dataset(const DatasetsCommand& command) {
  DatasetStore store;
  store.remove(command.id);
  print(fmt::format("dataset {} is no longer on record; what it was read from stays as it is\n", command.id));
  return ExitCode::done;
}

// Where the rows of a generated dataset go: --to and --table as settings of a source.
SourceConfig place_to_write(const DatasetsCommand& command) {
  refuse_what_is_no_place(command.to);
  SourceConfig place = Source::config_for(command.to);
  place.table = command.table.empty() ? command.id : command.table;
  place.arrays = ArrayChoice::keep;
  if (place.source == SourceKind::postgres) {
    for (const SettingProblem& problem : problems_with(place))
      refuse("{}: {}", problem.setting, problem.problem);
    return place;
  }
  if (place.source != SourceKind::file && place.source != SourceKind::sqlite)
    refuse(
        "--to takes the path of an SQLite file, or the name of a variable with the address of a PostgreSQL");
  if (place.source == SourceKind::file && fs::exists(command.to) && !fs::is_empty(command.to))
    refuse("'{}' is not an SQLite file; name one, or a file that is not there yet", command.to);
  place.source = SourceKind::sqlite;
  return place;
}

// A file that was made for rows which were refused goes again, unless it holds something by now.
class NewSqliteFile {
 public:
  explicit NewSqliteFile(const SourceConfig& place)
      : path_(place.source == SourceKind::sqlite && !fs::exists(place.path) ? place.path : "") {}
  NewSqliteFile(const NewSqliteFile&) = delete;
  NewSqliteFile& operator=(const NewSqliteFile&) = delete;
  ~NewSqliteFile() {
    std::error_code ignored;
    if (!path_.empty() && fs::is_empty(path_, ignored) && !ignored) fs::remove(path_, ignored);
  }

 private:
  fs::path path_;
};

// All or nothing. A table that the same command has made before, and was killed before it could put it on
// record, is the one that is wanted.
void write_rows(const Table& rows, const SourceConfig& place, const std::string& origin) {
  const NewSqliteFile file(place);
  const auto database = place.source == SourceKind::postgres
                            ? database::write_postgres(expanded_uri(place.uri, "--to"), "--to")
                            : database::write_sqlite(place.path);
  database::Transaction all(*database);
  // Who would make a table of the same name waits.
  if (database->is_postgres())
    database->run("SELECT pg_advisory_xact_lock(hashtext('stoker ' || $1))", {{place.table}});
  if (!database->has_table(place.table) || origin_of_table(*database, place.table) != origin) {
    write_to_database(rows, *database, place.table, origin);
    all.commit();
    return;
  }
  const auto count = database->run("SELECT count(*) FROM " + database::quoted_name(place.table));
  if (count.at(0).at(0) != std::to_string(rows.rows()))
    refuse(
        "the database has a table '{}' already, of {} rows in place of {}; name another with --table, or "
        "remove it first",
        place.table, count.at(0).at(0).value_or("no"), rows.rows());
  told_notes()(Severity::info, fmt::format("the table '{}' is there already, made by the same command; it is "
                                           "put on record as it is",
                                           place.table));
}

// The rows first, then the record: whoever is killed in between leaves a table that the next try finds again.
ExitCode generate_dataset(const DatasetsCommand& command) {
  DatasetStore store;
  store.refuse_taken(command.id);
  SourceConfig sample = Source::config_for("sample:" + command.sample);
  if (command.rows > 0) sample.sample_rows = command.rows;
  sample.sample_seed = command.seed;
  const Table table = Source::open(sample, fs::current_path()).read();
  refuse_cubes(table,
               "rows of columns are written into a database; put cubes on record with: stoker datasets "
               "add ID sample:NAME");
  const SourceConfig place = place_to_write(command);
  write_rows(table, place,
             fmt::format("stoker datasets generate {} --sample {} --rows {} --seed {}", command.id,
                         command.sample, table.rows(), command.seed));
  DatasetRecord record = record_of(command.id, place, fs::current_path());
  call_it(record, command);
  store.add(record);
  told_added(record, store);
  return ExitCode::done;
}

void add_id(CLI::App& app, DatasetsCommand& command) {
  app.add_option("ID", command.id, "Of the dataset")->required();
}

void add_ranges(CLI::App& app, DatasetsCommand& command) {
  app.add_option(
         "--range", command.ranges,
         "COLUMN=LOWEST:HIGHEST, what a column of numbers or dates may hold; either may be left out; may "
         "be repeated")
      ->allow_extra_args(false);
}

}  // namespace

Action declare_datasets(CLI::App& app) {
  const auto command = std::make_shared<DatasetsCommand>();
  DatasetsCommand& given = *command;
  std::vector<std::pair<CLI::App*, ExitCode (*)(const DatasetsCommand&)>> parts;
  const auto part = [&](const char* name, const char* help, ExitCode (*act)(const DatasetsCommand&)) {
    parts.emplace_back(app.add_subcommand(name, help), act);
    return parts.back().first;
  };
  CLI::App* add = part("add", "Put a file, a URL, a database's table or a sample on record", add_dataset);
  add_id(*add, given);
  add->add_option("DATA", given.data, "As `stoker train` takes it")->required();
  add_reading_flags(*add, given.reading);
  add->add_flag("--faulty", given.is_faulty,
                "Put a file on record although some of its rows cannot be read, so that it can be repaired");
  constexpr const char* help_of_called = "What people call it; where it is read from if not given";
  add->add_option("--called", given.called, help_of_called);
  CLI::App* list = part("list", "List the datasets on record", list_datasets);
  CLI::App* show = part("show", "Show one with its columns", show_dataset);
  add_id(*show, given);
  CLI::App* generate =
      part("generate", "Write a sample as a new table of a database, and put it on record", generate_dataset);
  add_id(*generate, given);
  generate->add_option("--sample", given.sample, "Built-in sample")->capture_default_str();
  generate->add_option("--rows", given.rows, "Rows of the sample; its usual number if not given")
      ->check(in_range(std::int64_t{1}, std::int64_t{100'000'000}));
  generate->add_option("--seed", given.seed, "Seed of the sample")
      ->check(in_range(std::uint64_t{0}, std::uint64_t{18'446'744'073'709'551'615U}))
      ->capture_default_str();
  generate
      ->add_option("--to", given.to,
                   "SQLite file, made if it is not there, or name of a variable that holds the address of a "
                   "PostgreSQL database")
      ->required();
  generate->add_option("--table", given.table, "Name of the new table; the id if not given");
  generate->add_option("--called", given.called, help_of_called);
  CLI::App* validate = part("validate",
                            "Look for NaN, infinite and out-of-range values, in the pixels of cubes too, for "
                            "duplicate rows, rows that are cut short and rows that cannot be read",
                            validate_dataset);
  add_id(*validate, given);
  add_ranges(*validate, given);
  CLI::App* repair = part("repair",
                          "Write a copy without the rows that have faults, and put it on record; the "
                          "original stays",
                          repair_dataset);
  add_id(*repair, given);
  add_ranges(*repair, given);
  repair->add_option("--as", given.as,
                     "Id of the copy; the original's with -repaired behind it if not given");
  repair->add_option("--output", given.output, "File of the copy; beside the store if not given");
  CLI::App* remove = part("remove", "Take one off the record; what it is read from stays", remove_dataset);
  add_id(*remove, given);
  for (const auto& [app_of_part, act] : parts) add_project_flag(*app_of_part);
  for (CLI::App* each : {list, show, validate}) each->add_flag("--json", given.json, "Print one JSON object");
  app.require_subcommand(1);
  app.footer(
      "They are kept in runs/store.sqlite, or where STOKER_STORE says: another file, or postgres://….\n"
      "Examples:\n"
      "  stoker datasets add wells wells.csv\n"
      "  stoker datasets generate houses --sample boston_housing --rows 2000 --to houses.sqlite\n"
      "  stoker datasets validate wells --range depth=0:11000\n"
      "  stoker train dataset:wells --target flow");
  return [command, parts] {
    for (const auto& [app_of_part, act] : parts)
      if (app_of_part->parsed()) return act(*command);
    return ExitCode::wrong_request;  // not reached: a part is required
  };
}

}  // namespace stoker::cli
