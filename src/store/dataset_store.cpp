#include "store/dataset_store.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "data/file_format.h"
#include "data/samples.h"
#include "data/url_secrets.h"
#include "database/writable.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using database::Transaction;
using database::WritableDatabase;
using database::WrittenRow;
using nlohmann::json;

// Each brings the tables from one version to the next.
constexpr std::array<const char*, 2> migrations{
    "CREATE TABLE stoker_datasets (id TEXT PRIMARY KEY, source TEXT NOT NULL, name TEXT NOT NULL, rows "
    "BIGINT NOT "
    "NULL, fingerprint TEXT NOT NULL, columns TEXT NOT NULL, added TEXT NOT NULL)",
    "ALTER TABLE stoker_datasets ADD COLUMN cleaned_of TEXT"};
constexpr const char* schema_table = "stoker_schema";
// Of the lock by which those who would change the tables of PostgreSQL wait for each other.
constexpr const char* lock_schema = "SELECT pg_advisory_xact_lock(7165427)";

std::int64_t number_in_text(const std::optional<std::string>& text) {
  std::int64_t number = -1;
  if (text) std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

std::int64_t schema_version(WritableDatabase& database) {
  if (!database.has_table(schema_table)) return 0;
  const auto rows = database.run("SELECT max(version) FROM stoker_schema");
  return rows.empty() ? 0 : std::max<std::int64_t>(0, number_in_text(rows[0].at(0)));
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
  if (!settings.is_object()) refuse("the record of dataset {} is damaged: its source cannot be read", id);
  config::Diagnostics diagnostics("dataset " + id);
  auto source = config::read<SourceConfig>(config::from_json(settings), "source", diagnostics);
  diagnostics.refuse_if_any();
  return source;
}

DatasetRecord record_in(const WrittenRow& row) {
  DatasetRecord record;
  record.id = row.at(0).value_or("");
  record.source = source_in(row.at(1).value_or(""), record.id);
  record.name = row.at(2).value_or("");
  record.rows = number_in_text(row.at(3));
  record.fingerprint = row.at(4).value_or("");
  const json columns = json::parse(row.at(5).value_or(""), nullptr, false);
  for (const json& each : columns.is_array() ? columns : json::array())
    if (each.is_array() && each.size() == 2 && each[0].is_string() && each[1].is_string())
      record.columns.emplace_back(each[0], each[1]);
  record.added = row.at(6).value_or("");
  record.cleaned_of = row.at(7).value_or("");
  return record;
}

constexpr const char* select_datasets =
    "SELECT id, source, name, rows, fingerprint, columns, added, cleaned_of FROM stoker_datasets";

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

DatasetStore::DatasetStore() {
  const char* told = std::getenv("STOKER_STORE");
  const std::string where = told == nullptr ? "" : told;
  const std::string start = lower_case(where.substr(0, 13));
  if (start.starts_with("postgres://") || start.starts_with("postgresql://")) {
    address_ = expanded_uri(where);
    place_ = "the PostgreSQL of STOKER_STORE";
    return;
  }
  // Parts of an address are no file, and may hold a password.
  const bool is_address = where.find('=') != std::string::npos && !fs::exists(where);
  if (is_address || where.find("://") != std::string::npos)
    refuse("STOKER_STORE is neither postgres://… nor the path of a file");
  file_ = where.empty() ? fs::path("runs") / "store.sqlite" : fs::path(where);
  place_ = file_.string();
}

DatasetStore::~DatasetStore() = default;

fs::path DatasetStore::folder() const {
  return address_.empty() ? file_.parent_path() : fs::path("runs");
}

WritableDatabase* DatasetStore::to_read() {
  std::error_code none;
  if (database_ == nullptr && address_.empty() && !fs::exists(file_, none)) return nullptr;
  return &to_write();
}

WritableDatabase& DatasetStore::to_write() {
  if (database_ == nullptr) open();
  return *database_;
}

void DatasetStore::open() {
  if (address_.empty()) {
    if (file_.has_parent_path()) make_folder(file_.parent_path());
    database_ = database::write_sqlite(file_);
  } else {
    database_ = database::write_postgres(address_);
  }
  bring_up_to_date();
}

// In one transaction: whoever is killed in between leaves the tables as they were.
void DatasetStore::bring_up_to_date() {
  constexpr auto newest = static_cast<std::int64_t>(migrations.size());
  if (schema_version(*database_) < newest) {
    Transaction all(*database_);
    if (database_->is_postgres()) database_->run(lock_schema);
    const std::int64_t version = schema_version(*database_);  // others may have done it meanwhile
    if (!database_->has_table(schema_table))
      database_->run("CREATE TABLE stoker_schema (version BIGINT NOT NULL)");
    for (std::int64_t next = version; next < newest; ++next)
      database_->run(migrations.at(static_cast<std::size_t>(next)));
    if (version < newest) {
      database_->run("DELETE FROM stoker_schema");
      database_->run("INSERT INTO stoker_schema VALUES ($1)", {{std::to_string(newest)}});
    }
    all.commit();
  }
  const std::int64_t version = schema_version(*database_);
  if (version > newest) {
    database_.reset();
    refuse(
        "{} was written by a newer version of stoker (its tables have version {}, this one knows {}); use "
        "that version, or another store (STOKER_STORE)",
        place_, version, newest);
  }
}

void DatasetStore::add(const DatasetRecord& dataset) {
  refuse_unless_dataset_id(dataset.id);
  json columns = json::array();
  for (const auto& [name, type] : dataset.columns) columns.push_back({name, type});
  const auto text = [](const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
  };
  Transaction all(to_write());
  if (has(dataset.id))
    refuse(
        "there is a dataset {} already in {}; choose another id, or remove it first (stoker datasets remove "
        "{})",
        dataset.id, place_, dataset.id);
  database_->run(
      "INSERT INTO stoker_datasets (id, source, name, rows, fingerprint, columns, added, cleaned_of) VALUES "
      "($1, $2, "
      "$3, $4, $5, $6, $7, $8)",
      {dataset.id, text(settings_of_source(dataset.source)), dataset.name, std::to_string(dataset.rows),
       dataset.fingerprint, text(columns), dataset.added,
       dataset.cleaned_of.empty() ? std::nullopt : std::optional(dataset.cleaned_of)});
  all.commit();
}

void DatasetStore::remove(const std::string& id) {
  find(id);
  Transaction all(to_write());
  database_->run("DELETE FROM stoker_datasets WHERE id = $1", {id});
  all.commit();
}

bool DatasetStore::has(const std::string& id) {
  WritableDatabase* database = to_read();
  return database != nullptr && !database->run("SELECT 1 FROM stoker_datasets WHERE id = $1", {id}).empty();
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
  if (WritableDatabase* database = to_read()) {
    const auto rows = database->run(std::string(select_datasets) + " WHERE id = $1", {id});
    if (!rows.empty()) return record_in(rows.front());
    std::vector<std::string> ids;
    for (const WrittenRow& row : database->run("SELECT id FROM stoker_datasets ORDER BY id"))
      ids.push_back(row.at(0).value_or(""));
    if (!ids.empty())
      refuse("there is no dataset '{}' in {}{}{}", printable(id), place_, did_you_mean(id, ids),
             hint_of_sample(id));
  }
  if (const std::string hint = hint_of_sample(id); !hint.empty())
    refuse("there is no dataset '{}' in {}{}", id, place_, hint);
  refuse("there is no dataset '{}': {} has none yet; put one on record with: stoker datasets add ID DATA",
         printable(id), place_);
}

std::vector<DatasetRecord> DatasetStore::all() {
  std::vector<DatasetRecord> records;
  if (WritableDatabase* database = to_read())
    for (const WrittenRow& row : database->run(std::string(select_datasets) + " ORDER BY id"))
      records.push_back(record_in(row));
  return records;
}

}  // namespace stoker
