#include "store/dataset_store.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/project_scope.h"
#include "base/text/text.h"
#include "data/cubes/cubes.h"
#include "data/sample/samples.h"
#include "data/source/file_format.h"
#include "data/source/source.h"
#include "database/writable.h"
#include "store/record/record_row.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using database::Transaction;
using database::WritableDatabase;
using database::WrittenRow;
using nlohmann::json;

std::int64_t number_in_text(const std::optional<std::string>& text) {
  std::int64_t number = -1;
  if (text) std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

// The settings that are not as usual.
json settings_of_source(const SourceConfig& source) {
  const json usual = config::to_json(config::write(SourceConfig{}));
  json settings = config::to_json(config::write(source));
  for (const auto& [name, value] : usual.items())
    if (name != "source" && settings.at(name) == value) settings.erase(name);
  return settings;
}

SourceConfig source_in(const std::string& text, const std::string& id) {
  const json settings = json::parse(text, nullptr, false);
  if (!settings.is_object())
    refuse("the record of dataset {} is damaged: its source cannot be read", printable(id));
  config::Diagnostics diagnostics("the record of dataset " + printable(id) + " is damaged");
  auto source = config::read<SourceConfig>(config::from_json(settings), "source", diagnostics);
  diagnostics.refuse_if_any();
  return source;
}

std::vector<std::pair<std::string, std::string>> columns_in(const std::string& text, const std::string& id) {
  std::vector<std::pair<std::string, std::string>> named;
  const json columns = json::parse(text, nullptr, false);
  const auto is_column = [](const json& each) {
    return each.is_array() && each.size() == 2 && each[0].is_string() && each[1].is_string();
  };
  if (!columns.is_array() || !std::ranges::all_of(columns, is_column))
    refuse("the record of dataset {} is damaged: its columns cannot be read", printable(id));
  for (const json& each : columns) named.emplace_back(each[0], each[1]);
  return named;
}

std::optional<CubesOnRecord> cubes_in(const std::optional<std::string>& text, const std::string& id) {
  if (!text) return std::nullopt;
  const json cubes = json::parse(*text, nullptr, false);
  const auto size = [&](const char* name) -> std::int64_t {
    if (!cubes.is_object() || !cubes.contains(name) || !cubes.at(name).is_number_unsigned())
      refuse("the record of dataset {} is damaged: the size of its cubes cannot be read", printable(id));
    return cubes.at(name).get<std::int64_t>();
  };
  return CubesOnRecord{size("height"), size("width"), size("channels")};
}

DatasetRecord record_in(const WrittenRow& row) {
  DatasetRecord record;
  record.id = row.at(0).value_or("");
  record.source = source_in(row.at(1).value_or(""), record.id);
  record.name = row.at(2).value_or("");
  record.rows = number_in_text(row.at(3));
  if (record.rows < 0) refuse("the record of dataset {} is damaged: it has no number of rows", record.id);
  record.fingerprint = row.at(4).value_or("");
  record.columns = columns_in(row.at(5).value_or(""), record.id);
  record.added = row.at(6).value_or("");
  record.cleaned_of = row.at(7).value_or("");
  record.cubes = cubes_in(row.at(8), record.id);
  return record;
}

[[noreturn]] void refuse_id_taken(const std::string& id, const std::string& place) {
  refuse(
      "there is a dataset {} already in {}; choose another id, or remove it first (stoker datasets remove "
      "{})",
      id, place, id);
}

constexpr const char* dataset_columns =
    "id, source, name, rows, fingerprint, columns, added, cleaned_of, cubes";

std::string select_datasets() {
  return fmt::format("SELECT {} FROM stoker_datasets WHERE project = $1", dataset_columns);
}

WrittenRow values_of_dataset(const DatasetRecord& dataset) {
  json columns = json::array();
  for (const auto& [name, type] : dataset.columns) columns.push_back({name, type});
  const auto text = [](const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
  };
  return {dataset.id,
          text(settings_of_source(dataset.source)),
          dataset.name,
          std::to_string(dataset.rows),
          dataset.fingerprint,
          text(columns),
          dataset.added,
          dataset.cleaned_of.empty() ? std::nullopt : std::optional(dataset.cleaned_of),
          dataset.cubes ? std::optional(text({{"height", dataset.cubes->height},
                                              {"width", dataset.cubes->width},
                                              {"channels", dataset.cubes->channels}}))
                        : std::nullopt};
}

}  // namespace

void refuse_unless_dataset_id(const std::string& id) {
  constexpr std::size_t longest = 64;
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  };
  if (!id.empty() && id.size() <= longest && std::isalnum(static_cast<unsigned char>(id.front())) != 0 &&
      std::ranges::all_of(id, is_plain))
    return;
  refuse(
      "'{}' cannot be the id of a dataset: it has letters, digits, -, _ and . alone, up to 64 of them, and "
      "begins with a letter or digit",
      printable(id.substr(0, longest)));
}

json dataset_json(const DatasetRecord& dataset) {
  return row_json(dataset_columns, values_of_dataset(dataset));
}

DatasetRecord dataset_from_json(const json& copy) {
  return record_in(row_from_json(dataset_columns, copy));
}

void DatasetStore::add(const DatasetRecord& dataset) {
  refuse_unless_dataset_id(dataset.id);
  WrittenRow values = values_of_dataset(dataset);
  values.emplace_back(ProjectScope::or_default());
  std::vector<std::string> places;
  for (std::size_t i = 1; i <= values.size(); ++i) places.push_back(fmt::format("${}", i));
  WritableDatabase& database = records_.to_write();
  Transaction all(database);
  // Somebody else may put the same id on record at this moment: who comes second waits, and adds nothing.
  const auto added = database.run(
      fmt::format(
          "INSERT INTO stoker_datasets ({}, project) VALUES ({}) ON CONFLICT (project, id) DO NOTHING "
          "RETURNING id",
          dataset_columns, join(places, ", ")),
      values);
  if (added.empty()) refuse_id_taken(dataset.id, place());
  all.commit();
}

void DatasetStore::refuse_taken(const std::string& id) {
  refuse_unless_dataset_id(id);
  if (has(id)) refuse_id_taken(id, place());
}

void DatasetStore::remove(const std::string& id) {
  if (!has(id)) find(id);
  WritableDatabase& database = records_.to_write();
  Transaction all(database);
  database.run("DELETE FROM stoker_datasets WHERE project = $1 AND id = $2",
               {ProjectScope::or_default(), id});
  all.commit();
}

bool DatasetStore::has(const std::string& id) {
  WritableDatabase* database = records_.to_read();
  return database != nullptr && !database
                                     ->run("SELECT 1 FROM stoker_datasets WHERE project = $1 AND id = $2",
                                           {ProjectScope::or_default(), id})
                                     .empty();
}

namespace {

// Who names a sample wants its rows, which have to be put somewhere first.
std::string hint_of_sample(const std::string& id) {
  const auto& samples = config::names<SampleName>;
  if (std::ranges::find(samples, id) == samples.end()) return "";
  return fmt::format(
      "; it is the name of a sample, which this puts there: stoker datasets generate {0} --sample {0} "
      "--to {0}.sqlite",
      id);
}

}  // namespace

DatasetRecord DatasetStore::find(const std::string& id) {
  if (WritableDatabase* database = records_.to_read()) {
    const std::string project = ProjectScope::or_default();
    const auto rows = database->run(select_datasets() + " AND id = $2", {project, id});
    if (!rows.empty()) return record_in(rows.front());
    std::vector<std::string> ids;
    for (const WrittenRow& row :
         database->run("SELECT id FROM stoker_datasets WHERE project = $1 ORDER BY id", {project}))
      ids.push_back(row.at(0).value_or(""));
    if (!ids.empty())
      refuse("there is no dataset '{}' in {}{}{}", printable(id), place(), did_you_mean(id, ids),
             hint_of_sample(id));
  }
  if (const std::string hint = hint_of_sample(id); !hint.empty())
    refuse("there is no dataset '{}' in {}{}", id, place(), hint);
  refuse("there is no dataset '{}': {} has none yet; put one on record with: stoker datasets add ID DATA",
         printable(id), place());
}

namespace {

std::optional<SampleName> sample_named(const std::string& id) {
  const auto& samples = config::names<SampleName>;
  const auto found = std::ranges::find(samples, id);
  if (found == samples.end()) return std::nullopt;
  return static_cast<SampleName>(found - samples.begin());
}

// A few rows show its columns.
DatasetRecord built_in_dataset(const std::string& id, SampleName sample) {
  constexpr std::int64_t few = 2;
  DatasetRecord record;
  record.id = id;
  record.source.source = SourceKind::sample;
  record.source.sample_name = sample;
  record.name = source_name(record.source);
  record.rows = usual_rows(sample);
  const Table rows = make_sample(sample, few, record.source.sample_seed);
  for (const Preview::Column& column : preview(rows).columns)
    record.columns.emplace_back(column.name, column.type);
  if (rows.cubes) record.cubes = {rows.cubes->height(), rows.cubes->width(), rows.cubes->channels()};
  return record;
}

}  // namespace

bool DatasetStore::is_known(const std::string& id) {
  return sample_named(id).has_value() || has(id);
}

DatasetRecord DatasetStore::find_known(const std::string& id) {
  const std::optional<SampleName> sample = sample_named(id);
  return sample && !has(id) ? built_in_dataset(id, *sample) : find(id);
}

std::vector<std::string> DatasetStore::known_ids() {
  std::vector<std::string> ids;
  for (const DatasetRecord& each : all().records) ids.push_back(each.id);
  for (const std::string_view sample : config::names<SampleName>) ids.emplace_back(sample);
  return ids;
}

DatasetsOnRecord DatasetStore::all() {
  DatasetsOnRecord all;
  WritableDatabase* database = records_.to_read();
  if (database == nullptr) return all;
  for (const WrittenRow& row :
       database->run(select_datasets() + " ORDER BY id", {ProjectScope::or_default()})) {
    try {
      all.records.push_back(record_in(row));
    } catch (const OutOfMemory&) {
      throw;
    } catch (const Error& error) {
      all.damaged.push_back({row.at(0).value_or(""), error.what()});
    }
  }
  return all;
}

}  // namespace stoker
