// `stoker datasets validate` and `stoker datasets repair`.
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "base/text/text.h"
#include "cli/commands/datasets_command.h"
#include "cli/view/terminal.h"
#include "data/cubes/cubes.h"
#include "data/source/file_format.h"
#include "store/open_source.h"

namespace stoker::cli {
namespace {

namespace fs = std::filesystem;

// COLUMN=LOWEST:HIGHEST; what the bounds are is a matter of the column's type.
ValueRanges ranges_in(const std::vector<std::string>& texts) {
  ValueRanges ranges;
  for (const std::string& text : texts) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0 || text.find(':', equals) == std::string::npos)
      refuse("--range takes COLUMN=LOWEST:HIGHEST, such as depth=0:11000, found '{}'", text);
    ranges[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return ranges;
}

nlohmann::json as_json(const UnreadRows& unread) {
  nlohmann::json shown{{"count", unread.count}, {"first", nlohmann::json::array()}};
  for (const UnreadRows::Row& each : unread.first)
    shown["first"].push_back({{"line", each.line}, {"problem", each.problem}});
  if (!unread.cut.empty()) shown["cut"] = unread.cut;
  return shown;
}

nlohmann::json as_json(const CheckedDataset& checked) {
  nlohmann::json shown{
      {"id", checked.record.id}, {"is_sound", checked.is_sound()}, {"has_changed", checked.has_changed}};
  if (!checked.unreadable.empty()) shown["unreadable"] = checked.unreadable;
  if (!checked.table) return shown;
  if (!checked.unread.is_none()) shown["unread_rows"] = as_json(checked.unread);
  shown["rows"] = checked.table->rows();
  shown["rows_with_faults"] = checked.faults.rows.size();
  shown["faults"] = nlohmann::json::array();
  for (const TableFault& each : checked.faults.found)
    shown["faults"].push_back(
        {{"column", each.column}, {"kind", each.kind}, {"rows", each.rows}, {"first_row", each.first_row}});
  shown["missing"] = nlohmann::json::object();
  for (const auto& [name, count] : checked.faults.missing) shown["missing"][name] = count;
  if (checked.cubes) shown["cubes"] = to_json(*checked.cubes);
  return shown;
}

// "3 rows that cannot be read: line 4 (1 value in place of 2), …"
std::string told_unread(const UnreadRows& unread, const std::string& what) {
  std::string text;
  if (unread.count > 0) {
    std::vector<std::string> named;
    for (const UnreadRows::Row& each : unread.first)
      named.push_back(fmt::format("  line {}: {}\n", each.line, each.problem));
    text = fmt::format("{} {}\n{}", counted(static_cast<std::uint64_t>(unread.count), "row"), what,
                       join(named, ""));
    if (unread.first.size() < static_cast<std::size_t>(unread.count))
      text += fmt::format("  and {} more\n", unread.count - static_cast<std::int64_t>(unread.first.size()));
  }
  return unread.cut.empty() ? text : text + unread.cut + "\n";
}

void show_cube_faults(const CubeFaults& faults) {
  if (!faults.odd.empty()) print(faults.of_odd() + "\n");
  if (!faults.dead.empty()) print(fmt::format("note: {}\n", faults.of_dead()));
}

void show_checked(const CheckedDataset& checked) {
  const DatasetRecord& record = checked.record;
  if (!checked.unreadable.empty())
    print(fmt::format("dataset {} cannot be read whole: {}\n", record.id, checked.unreadable));
  if (!checked.table) return;
  if (checked.has_changed)
    print(fmt::format("dataset {} has changed since it was put on record: {} then, {} now\n", record.id,
                      counted(static_cast<std::uint64_t>(record.rows), "row"),
                      counted(static_cast<std::uint64_t>(checked.table->rows()), "row")));
  if (!checked.unread.is_none())
    print(told_unread(checked.unread, "that cannot be read; rows are counted without them below"));
  std::vector<std::vector<std::string>> lines{{"fault", "column", "rows", "first in row"}};
  for (const TableFault& each : checked.faults.found)
    lines.push_back({each.kind, each.column.empty() ? "(whole rows)" : each.column,
                     fmt::format("{}", each.rows), fmt::format("{}", each.first_row)});
  if (lines.size() > 1) print(aligned(lines));
  if (checked.cubes) show_cube_faults(*checked.cubes);
  for (const auto& [name, count] : checked.faults.missing)
    print(
        fmt::format("note: {} missing in column '{}': a training fills them in, but refuses them in its "
                    "target, where data_filter leaves such rows out ('{} is not null')\n",
                    counted(static_cast<std::uint64_t>(count), "value"), name, name));
  print(fmt::format("dataset {}: {} of {} {} faults\n", record.id, checked.faults.rows.size(),
                    counted(static_cast<std::uint64_t>(checked.table->rows()), "row"),
                    checked.faults.rows.size() == 1 ? "has" : "have"));
}

// A table in a text file has no types of its own, so those of its text are recorded with it.
SourceConfig source_of_copy(const Table& table, const fs::path& file) {
  SourceConfig source = Source::config_for(file.string());
  if (lower_case(file.extension().string()) == ".csv" || lower_case(file.extension().string()) == ".tsv")
    for (const std::string& name : table.column_names())
      if (columns_not_text(table, {name}).empty()) source.text_columns.push_back(name);
  return source;
}

// Nothing is put on record that does not read as it was written.
void refuse_other_types(const Table& written, const DatasetRecord& record, const fs::path& file) {
  const std::vector<Preview::Column> columns = preview(written).columns;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i < record.columns.size() && record.columns[i].second == columns[i].type) continue;
    std::error_code gone;
    fs::remove(file, gone);
    refuse(
        "column '{}' ({}) would be read from '{}' as {}; write the copy to an .arrow or .parquet file, which "
        "keeps the types",
        columns[i].name, columns[i].type, file.string(),
        i < record.columns.size() ? record.columns[i].second : "nothing");
  }
}

}  // namespace

void told_added(const DatasetRecord& record, const DatasetStore& store) {
  print(fmt::format("dataset {}: {} of {} on record in {}\n", record.id,
                    counted(static_cast<std::uint64_t>(record.rows), "row"), record.name, store.place()));
}

ExitCode validate_dataset(const DatasetsCommand& command) {
  DatasetStore store;
  const CheckedDataset checked = check_dataset(store.find(command.id), ranges_in(command.ranges));
  if (command.json) {
    print_json(as_json(checked));
  } else {
    show_checked(checked);
  }
  return checked.is_sound() ? ExitCode::done : ExitCode::wrong_request;
}

ExitCode repair_dataset(const DatasetsCommand& command) {
  DatasetStore store;
  const std::string id = command.as.empty() ? command.id + "-repaired" : command.as;
  const DatasetRecord original = store.find(command.id);
  store.refuse_taken(id);
  fs::path file =
      command.output.empty() ? store.folder() / "datasets" / (id + ".arrow") : fs::path(command.output);
  // A file of that name may be what another dataset is read from, or what a process that was killed has left.
  for (int number = 2; command.output.empty() && fs::exists(file); ++number)
    file.replace_filename(fmt::format("{}-{}.arrow", id, number));
  if (fs::exists(file)) refuse("'{}' is there already; name another file with --output", file.string());
  const CheckedDataset checked = check_dataset(original, ranges_in(command.ranges));
  if (!checked.table)
    refuse("dataset {} cannot be read, so that there is nothing to keep of it: {}", command.id,
           checked.unreadable);
  refuse_cubes(*checked.table, "a repaired dataset is a file of rows");
  const Table cleaned = without_faults(*checked.table, checked.faults);
  if (cleaned.rows() == 0) refuse("every row of dataset {} has a fault; no row is left to keep", command.id);
  if (file.has_parent_path()) make_folder(file.parent_path());
  write_table(cleaned, file);
  DatasetRecord record = record_of(id, source_of_copy(cleaned, file), fs::current_path());
  refuse_other_types(cleaned, record, file);
  record.cleaned_of = command.id;
  store.add(record);
  if (!checked.unread.is_none()) print(told_unread(checked.unread, "that cannot be read left out:"));
  print(fmt::format("removed {} with faults, {} left\n", counted(checked.faults.rows.size(), "row"),
                    cleaned.rows()));
  told_added(record, store);
  return ExitCode::done;
}

}  // namespace stoker::cli
