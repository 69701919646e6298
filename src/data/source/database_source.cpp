#include <algorithm>
#include <functional>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/address_rule.h"
#include "base/error.h"
#include "base/text/text.h"
#include "data/format/table_files.h"
#include "data/source/database_rows.h"
#include "data/source/source_reader.h"
#include "data/url/kept_downloads.h"
#include "data/url/url_secrets.h"
#include "database/postgres/postgres.h"
#include "database/postgres/postgres_connection.h"
#include "database/postgres/postgres_options.h"
#include "database/postgres/public_postgres_address.h"
#include "database/postgres/role_rights.h"
#include "database/sqlite/sqlite.h"

// A database has no content to know again but its rows: they are read when the source is opened, and their
// hash is the fingerprint. Whoever reads them takes them out, so that they are in memory once.
namespace stoker {
namespace {

namespace fs = std::filesystem;
using database::Rows;
using database::Selection;
using SharedRows = std::shared_ptr<const Rows>;

class DatabaseReader : public SourceReader {
 public:
  // `key` tells the rows from those of other sources.
  DatabaseReader(std::string description, ArrayChoice arrays, std::string key,
                 std::function<Rows(const StopSignal* stop)> query, const StopSignal* stop)
      : description_(std::move(description)),
        arrays_(arrays),
        key_(std::move(key)),
        query_(std::move(query)) {
    rows_ = std::static_pointer_cast<const Rows>(KeptDownloads::take_rows(key_));
    if (rows_ == nullptr) rows_ = queried(stop);
  }

  std::string fingerprint() const override {
    const std::lock_guard lock(mutex_);
    if (hash_.empty()) hash_ = database::hash_of(*(rows_ != nullptr ? rows_ : queried(nullptr)));
    return hash_;
  }

  const std::string& description() const override { return description_; }

  std::uintmax_t bytes() const override {
    const std::lock_guard lock(mutex_);
    return rows_ == nullptr ? 0 : database::bytes_of(*rows_);
  }

  void leave_rows() const override {
    const std::lock_guard lock(mutex_);
    if (rows_ != nullptr) KeptDownloads::keep_rows(key_, rows_);
  }

  Table read(const std::vector<std::string>&, const Notes&) const override {
    return checked_columns(table_of_rows(taken_rows(), arrays_, description_), description_);
  }

 private:
  SharedRows queried(const StopSignal* stop) const { return std::make_shared<const Rows>(query_(stop)); }

  SharedRows taken_rows() const {
    const std::lock_guard lock(mutex_);
    if (rows_ != nullptr) return std::exchange(rows_, nullptr);
    const SharedRows again = queried(nullptr);
    if (!hash_.empty() && database::hash_of(*again) != hash_)
      throw Error(
          ExitCode::wrong_request,
          fmt::format("{}: the rows have changed since they were first read; run again", description_),
          Cause::machine);
    return again;
  }

  std::string description_;
  ArrayChoice arrays_;
  std::string key_;
  std::function<Rows(const StopSignal* stop)> query_;
  mutable std::mutex mutex_;
  mutable SharedRows rows_;
  mutable std::string hash_;
};

Selection selection_of(const SourceConfig& config) {
  Selection selection{.table = config.table,
                      .query = config.query,
                      .columns = config.columns,
                      .where = config.where,
                      .partition_column = config.partition_column};
  if (config.partitions) selection.partitions = static_cast<int>(*config.partitions);
  return selection;
}

std::string key_of(const SourceConfig& config, const std::string& place) {
  constexpr std::string_view between("\0", 1);
  std::vector<std::string> parts = config.columns;
  for (const std::string& part : {config.uri, config.table, config.query, config.where, place})
    parts.push_back(part);
  parts.emplace_back(config::name_of(config.source));
  return join(parts, between);
}

// ---- PostgreSQL

std::string postgres_name(const SourceConfig& config) {
  return config.query.empty() ? "table " + config.table : "query to PostgreSQL";
}

void check_selection(const SourceConfig& config, SourceProblems& problems) {
  if (!config.query.empty() && !config.table.empty())
    problems.push_back({"query", "given together with table; remove one of them"});
}

void check_postgres(const SourceConfig& config, SourceProblems& problems) {
  check_selection(config, problems);
  if (config.query.empty() && config.table.empty())
    problems.push_back({"table", "missing; source postgres needs a table or a query"});
  if (has_password(config.uri))
    problems.push_back(
        {"uri",
         "contains a password, which is not accepted; put the address into an environment variable "
         "and write ${DATABASE_URL} (in single quotes on a command line), or set PGPASSWORD, or use "
         "libpq's password file"});
}

// An operator who sets a variable to a whole address has chosen its server. Any other is the choice of
// whoever wrote the document.
std::string address_to_connect(const std::string& uri) {
  const std::string address = expanded_uri(uri);
  if (is_variable_alone(uri)) return address;
  if (connects_to_public_addresses_only()) return database::public_postgres_address(address);
  return database::reads_with_plain_roles_only() ? database::postgres_address_of_client(address) : address;
}

// A variable may be a whole address. Then the words of the server and of libpq repeat parts of it.
template <class Work>
auto hiding_address(const std::string& uri, const Work& work) {
  try {
    return work();
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    if (uri.find("${") == std::string::npos) throw;
    throw Error(error.code(), database::without_parts_of_address(error.what(), expanded_uri(uri), uri),
                error.cause());
  }
}

// The answer of refresh_query is a table like any other, and known by its hash.
Selection refresh_selection(const SourceConfig& config) {
  return {.query = config.refresh_query};
}

std::string postgres_place(const SourceConfig& config, const fs::path&) {
  return database::postgres_place(expanded_uri(config.uri));
}

std::string postgres_answer(const SourceConfig& config, const fs::path&, const StopSignal* stop) {
  return hiding_address(config.uri, [&] {
    return database::hash_of(
        database::read_postgres(address_to_connect(config.uri), refresh_selection(config), stop));
  });
}

OpenedSource open_postgres(const SourceConfig& config, const fs::path&, const StopSignal* stop) {
  const Selection selection = selection_of(config);
  // The address is in memory while it is used, and nowhere else.
  const auto query = [uri = config.uri, selection](const StopSignal* heeded) {
    return hiding_address(
        uri, [&] { return database::read_postgres(address_to_connect(uri), selection, heeded); });
  };
  return std::make_unique<DatabaseReader>(postgres_name(config), config.arrays, key_of(config, ""), query,
                                          stop);
}

// ---- SQLite

std::string sqlite_name(const SourceConfig& config) {
  return config.table.empty() ? config.path : config.path + " (table " + config.table + ")";
}

void check_sqlite(const SourceConfig& config, SourceProblems& problems) {
  check_selection(config, problems);
  if (config.path.empty()) problems.push_back({"path", "missing; source sqlite needs a file to read"});
  if (const std::string path = path_behind_sqlite(config.path); !path.empty())
    problems.push_back({"path", "an SQLite file is named by its path alone: " + path});
}

fs::path sqlite_file(const SourceConfig& config, const fs::path& base) {
  const fs::path file = fs::absolute(base / config.path);
  std::error_code error;
  if (!fs::exists(file, error)) refuse("the file '{}' does not exist", config.path);
  if (!fs::is_regular_file(file, error)) refuse("'{}' is not a file", config.path);
  return file;
}

std::string sqlite_place(const SourceConfig& config, const fs::path& base) {
  return fs::weakly_canonical(sqlite_file(config, base)).string();
}

std::string sqlite_answer(const SourceConfig& config, const fs::path& base, const StopSignal* stop) {
  return database::hash_of(database::read_sqlite(sqlite_file(config, base), refresh_selection(config), stop));
}

OpenedSource open_sqlite(const SourceConfig& config, const fs::path& base, const StopSignal* stop) {
  const fs::path file = sqlite_file(config, base);
  const auto query = [file, selection = selection_of(config)](const StopSignal* heeded) {
    return database::read_sqlite(file, selection, heeded);
  };
  return std::make_unique<DatabaseReader>(sqlite_name(config), config.arrays, key_of(config, file.string()),
                                          query, stop);
}

}  // namespace

std::string path_behind_sqlite(const std::string& location) {
  const std::string start = lower_case(location.substr(0, 8));
  const std::size_t colon = start.find(':');
  std::error_code none;
  if (colon == std::string::npos || fs::exists(location, none)) return "";
  if (start.substr(0, colon) != "sqlite" && start.substr(0, colon) != "sqlite3") return "";
  const std::string rest = location.substr(colon + 1);
  // sqlite://name and sqlite:///name are relative elsewhere, and sqlite:////name is absolute.
  const std::size_t slashes = std::min(rest.find_first_not_of('/'), rest.size());
  return slashes < 2 ? rest : (slashes > 3 ? "/" : "") + rest.substr(slashes);
}

SourceOfKind postgres_source() {
  return {SourceKind::postgres,
          open_postgres,
          check_postgres,
          postgres_name,
          {"uri", "table", "query", "columns", "where", "partitions", "partition_column", "arrays", "refresh",
           "refresh_query"},
          postgres_place,
          postgres_answer};
}

SourceOfKind sqlite_source() {
  return {SourceKind::sqlite,
          open_sqlite,
          check_sqlite,
          sqlite_name,
          {"table", "query", "columns", "where", "arrays", "refresh", "refresh_query"},
          sqlite_place,
          sqlite_answer};
}

}  // namespace stoker
