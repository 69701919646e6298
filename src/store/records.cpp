#include "store/records.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/files/files.h"
#include "base/project_scope.h"
#include "base/text/text.h"
#include "data/source/file_format.h"
#include "data/url/url_secrets.h"
#include "database/writable.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using database::Transaction;
using database::WritableDatabase;

// Each brings the tables from one version to the next.
constexpr std::array<const char*, 29> migrations{
    "CREATE TABLE stoker_datasets (id TEXT PRIMARY KEY, source TEXT NOT NULL, name TEXT NOT NULL, rows "
    "BIGINT NOT "
    "NULL, fingerprint TEXT NOT NULL, columns TEXT NOT NULL, added TEXT NOT NULL)",
    "ALTER TABLE stoker_datasets ADD COLUMN cleaned_of TEXT",
    "CREATE TABLE stoker_jobs (id TEXT PRIMARY KEY, number BIGINT NOT NULL UNIQUE, name TEXT NOT NULL, state "
    "TEXT "
    "NOT NULL, asked TEXT, kind TEXT NOT NULL, priority BIGINT NOT NULL, device TEXT NOT NULL, slot TEXT, "
    "time_limit TEXT NOT NULL, document TEXT NOT NULL, request TEXT NOT NULL, notes TEXT NOT NULL, owner "
    "TEXT NOT "
    "NULL, attempts BIGINT NOT NULL, reason TEXT, run TEXT NOT NULL, continues TEXT, summary TEXT, created "
    "TEXT "
    "NOT NULL, started TEXT, ended TEXT)",
    "CREATE INDEX stoker_jobs_by_state ON stoker_jobs (state, number)",
    "CREATE TABLE stoker_job_events (job TEXT NOT NULL, number BIGINT NOT NULL, time TEXT NOT NULL, kind "
    "TEXT NOT "
    "NULL, details TEXT NOT NULL, PRIMARY KEY (job, number))",
    "CREATE TABLE stoker_tokens (id TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, hash TEXT NOT "
    "NULL "
    "UNIQUE, created TEXT NOT NULL, expires TEXT, revoked TEXT)",
    "CREATE TABLE stoker_sessions (hash TEXT PRIMARY KEY, token TEXT NOT NULL, csrf_hash TEXT NOT NULL, "
    "created "
    "TEXT NOT NULL, expires TEXT NOT NULL)",
    "CREATE TABLE stoker_projects (id TEXT PRIMARY KEY, name TEXT NOT NULL, created TEXT NOT NULL)",
    "CREATE TABLE stoker_documents (id TEXT PRIMARY KEY, project TEXT NOT NULL, name TEXT NOT NULL, version "
    "BIGINT "
    "NOT NULL, created TEXT NOT NULL, changed TEXT NOT NULL, removed TEXT)",
    "CREATE TABLE stoker_document_versions (document TEXT NOT NULL, version BIGINT NOT NULL, content TEXT "
    "NOT NULL, "
    "author TEXT NOT NULL, time TEXT NOT NULL, note TEXT NOT NULL, PRIMARY KEY (document, version))",
    "CREATE TABLE stoker_models (id TEXT PRIMARY KEY, name TEXT NOT NULL, folder TEXT NOT NULL, job TEXT, "
    "bytes "
    "BIGINT NOT NULL, facts TEXT NOT NULL, created TEXT NOT NULL)",
    "CREATE TABLE stoker_deployments (name TEXT PRIMARY KEY, model TEXT NOT NULL, deployed TEXT NOT NULL)",
    "CREATE INDEX stoker_jobs_by_run ON stoker_jobs (run)",
    "CREATE INDEX stoker_jobs_in_line ON stoker_jobs (state, priority DESC, number)",
    "CREATE INDEX stoker_jobs_by_owner ON stoker_jobs (owner, number)",
    "CREATE TABLE stoker_service (id TEXT NOT NULL, data TEXT NOT NULL)",
    "ALTER TABLE stoker_datasets ADD COLUMN cubes TEXT",
    // Everything belongs to a project from here on. Ids of datasets and names of deployments are unique
    // within one, and SQLite takes another primary key only with another table.
    "ALTER TABLE stoker_datasets RENAME TO stoker_datasets_before",
    "CREATE TABLE stoker_datasets (project TEXT NOT NULL, id TEXT NOT NULL, source TEXT NOT NULL, name TEXT "
    "NOT "
    "NULL, rows BIGINT NOT NULL, fingerprint TEXT NOT NULL, columns TEXT NOT NULL, added TEXT NOT NULL, "
    "cleaned_of TEXT, cubes TEXT, PRIMARY KEY (project, id))",
    "INSERT INTO stoker_datasets (project, id, source, name, rows, fingerprint, columns, added, cleaned_of, "
    "cubes) SELECT 'default', id, source, name, rows, fingerprint, columns, added, cleaned_of, cubes FROM "
    "stoker_datasets_before",
    "DROP TABLE stoker_datasets_before", "ALTER TABLE stoker_deployments RENAME TO stoker_deployments_before",
    "CREATE TABLE stoker_deployments (project TEXT NOT NULL, name TEXT NOT NULL, model TEXT NOT NULL, "
    "deployed "
    "TEXT NOT NULL, PRIMARY KEY (project, name))",
    "INSERT INTO stoker_deployments (project, name, model, deployed) SELECT 'default', name, model, deployed "
    "FROM stoker_deployments_before",
    "DROP TABLE stoker_deployments_before",
    "ALTER TABLE stoker_models ADD COLUMN project TEXT NOT NULL DEFAULT 'default'",
    "ALTER TABLE stoker_jobs ADD COLUMN project TEXT NOT NULL DEFAULT 'default'",
    "CREATE INDEX stoker_jobs_of_project ON stoker_jobs (project, number)",
    "CREATE TABLE stoker_members (token TEXT NOT NULL, project TEXT NOT NULL, role TEXT NOT NULL, PRIMARY "
    "KEY "
    "(token, project))"};
constexpr const char* variable_of_store = "STOKER_STORE";
constexpr const char* schema_table = "stoker_schema";
// Of the lock by which those who would change the tables of PostgreSQL wait for each other.
constexpr const char* lock_schema = "SELECT pg_advisory_xact_lock(7165427)";

std::int64_t version_in_text(const std::optional<std::string>& text) {
  std::int64_t number = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

std::int64_t schema_version(WritableDatabase& database) {
  if (!database.has_table(schema_table)) return 0;
  const auto rows = database.run("SELECT max(version) FROM stoker_schema");
  return rows.empty() ? 0 : std::max<std::int64_t>(0, version_in_text(rows[0].at(0)));
}

// Tokens keep what they could do: each becomes a member of every project there is, with the role that it had.
// Those of admins need no membership.
void found_default_project(WritableDatabase& database) {
  if (!database.run("SELECT 1 FROM stoker_projects WHERE id = $1", {default_project}).empty()) return;
  database.run("INSERT INTO stoker_projects (id, name, created) VALUES ($1, $2, $3)",
               {default_project, default_project, time_stamp_utc()});
  database.run(
      "INSERT INTO stoker_members (token, project, role) SELECT stoker_tokens.id, stoker_projects.id, role "
      "FROM "
      "stoker_tokens CROSS JOIN stoker_projects WHERE role <> 'admin'");
}

// "sqlite3:x", "sqlite://x": files of such names would be made, or one in the root of the disk.
void refuse_odd_kind(const std::string& where) {
  const std::size_t colon = where.find(':');
  if (colon == std::string::npos || fs::exists(where)) return;
  const std::string kind = where.substr(0, colon);
  const std::string path = where.substr(colon + 1);
  const std::vector<std::string> kinds{"sqlite", "postgres", "postgresql"};
  const bool is_known = std::ranges::find(kinds, lower_case(kind)) != kinds.end();
  const bool is_odd_sqlite = lower_case(kind) == "sqlite" &&
                             (kind != "sqlite" || (path.starts_with("//") && !path.starts_with("///")));
  if (!is_odd_sqlite && (is_known || nearest_name(lower_case(kind), kinds).empty())) return;
  refuse(
      "{} begins with '{}:{}'; a store is sqlite:PATH, such as sqlite:stoker.sqlite or "
      "sqlite:/srv/stoker.sqlite, or postgresql://…",
      variable_of_store, printable(kind), path.starts_with("//") ? "//" : "");
}

}  // namespace

Records::Records() {
  const char* told = std::getenv(variable_of_store);
  std::string where = told == nullptr ? "" : told;
  if (where.find("${") != std::string::npos) where = expanded_uri(where, variable_of_store);
  refuse_odd_kind(where);
  if (where.starts_with("sqlite:")) where.erase(0, std::string_view("sqlite:").size());
  const std::string start = lower_case(where.substr(0, 13));
  if (start.starts_with("postgres://") || start.starts_with("postgresql://")) {
    address_ = where;
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

Records::~Records() = default;

fs::path Records::folder() const {
  return address_.empty() ? file_.parent_path() : fs::path("runs");
}

std::unique_ptr<WritableDatabase> Records::another_connection() const {
  return database::write_postgres(address_, variable_of_store);
}

fs::path Records::file_beside(const std::string& ending) const {
  return fs::weakly_canonical(file_) += ending;
}

// Looking writes nothing: neither a file nor tables into one that is there for something else.
WritableDatabase* Records::to_read() {
  std::error_code none;
  if (database_ == nullptr && address_.empty() && !fs::exists(file_, none)) return nullptr;
  open();
  if (!is_up_to_date_ && schema_version(*database_) == 0) return nullptr;
  bring_up_to_date();
  return database_.get();
}

WritableDatabase& Records::to_write() {
  open();
  bring_up_to_date();
  return *database_;
}

void Records::open() {
  if (database_ != nullptr) return;
  if (address_.empty()) {
    if (file_.has_parent_path()) make_folder(file_.parent_path());
    database_ = database::write_sqlite(file_);
    refuse_foreign_file();
  } else {
    database_ = database::write_postgres(address_, variable_of_store);
  }
}

// In PostgreSQL, tables of ours may stand among others; an SQLite file is usually one program's own.
void Records::refuse_foreign_file() {
  if (database_->has_table(schema_table)) return;
  const auto others = database_->run(
      "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND substr(name, 1, 7) <> 'sqlite_' "
      "ORDER BY name LIMIT 1");
  if (others.empty()) return;
  database_.reset();
  refuse(
      "'{}' is no store of stoker's: it has a table '{}' and none of ours, so nothing is written into it; {}",
      place_, printable(others[0].at(0).value_or("")),
      std::getenv(variable_of_store) == nullptr ? "name another file as STOKER_STORE"
                                                : "let STOKER_STORE name a file that is empty or not there");
}

// In one transaction: whoever is killed in between leaves the tables as they were.
void Records::bring_up_to_date() {
  if (is_up_to_date_) return;
  constexpr auto newest = static_cast<std::int64_t>(migrations.size());
  if (schema_version(*database_) < newest) {
    Transaction all(*database_);
    if (database_->is_postgres()) database_->run(lock_schema);
    const std::int64_t version = schema_version(*database_);  // others may have done it meanwhile
    if (!database_->has_table(schema_table))
      database_->run("CREATE TABLE stoker_schema (version BIGINT NOT NULL)");
    for (std::int64_t next = version; next < newest; ++next)
      database_->run(migrations.at(static_cast<std::size_t>(next)));
    found_default_project(*database_);
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
  is_up_to_date_ = true;
}

}  // namespace stoker
