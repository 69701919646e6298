#include "database/sqlite/sqlite.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include <sys/mman.h>

#include "base/error.h"
#include "base/text/text.h"
#include "database/loose_columns.h"
#include "database/postgres/array_text.h"
#include "database/sqlite/sqlite_library.h"

namespace stoker::database {
namespace {

constexpr int patience = 3000;  // milliseconds for somebody who writes
constexpr int operations_between_looks = 100'000;

const SqliteLibrary& sqlite() {
  return sqlite_library();
}

// As the header of a file says.
bool is_in_wal_mode(const std::filesystem::path& path) {
  constexpr std::size_t read_version_at = 19;
  constexpr char wal_version = 2;
  std::array<char, read_version_at + 1> header{};
  return std::ifstream(path, std::ios::binary).read(header.data(), header.size()) &&
         header[read_version_at] == wal_version;
}

bool has_write_ahead_log(const std::filesystem::path& path) {
  std::error_code none;
  const std::uintmax_t bytes =
      std::filesystem::file_size(std::filesystem::weakly_canonical(path, none).string() + "-wal", none);
  return !none && bytes > 0;
}

std::string address_of(const std::filesystem::path& path, const char* parameter) {
  std::string address = "file:";
  for (const char each : std::filesystem::absolute(path).string())
    address += std::string_view("%?#").find(each) == std::string_view::npos
                   ? std::string(1, each)
                   : fmt::format("%{:02X}", static_cast<unsigned char>(each));
  return address + "?" + parameter;
}

// Sizes in a damaged file can be beyond any memory. A sound file and its rows take less than this.
bool is_memory_short(const std::filesystem::path& file) {
  constexpr std::uintmax_t usual = std::uintmax_t{64} << 20U;
  constexpr std::uintmax_t longest_value = 1'000'000'000;  // of SQLite as it is built
  std::error_code none;
  const std::uintmax_t size = std::filesystem::file_size(file, none);
  const std::size_t bytes = usual + 2 * std::min(none ? 0 : size, longest_value);
  void* const taken = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (taken == MAP_FAILED) return true;
  ::munmap(taken, bytes);
  return false;
}

class SqliteFile {
 public:
  SqliteFile(std::filesystem::path path, const StopSignal* stop) : path_(std::move(path)), stop_(stop) {
    sqlite3* opened = nullptr;
    // To read a file in WAL mode, SQLite writes an index of its log next to it. Without a log there is
    // nothing to index, and the file is read as one that nobody writes to.
    const bool is_unchanging = is_in_wal_mode(path_) && !has_write_ahead_log(path_);
    const std::string place = is_unchanging ? address_of(path_, "immutable=1") : path_.string();
    const int flags = sqlite_code::open_read_only | sqlite_code::open_without_mutex;
    const int code =
        sqlite().open(place.c_str(), &opened, flags | (is_unchanging ? sqlite_code::open_uri : 0), nullptr);
    database_.reset(opened);
    if (code != sqlite_code::ok) refuse_error(code);
    sqlite().busy_timeout(opened, patience);
    sqlite().progress_handler(opened, operations_between_looks, is_stopped, this);
    // A file from elsewhere may hold a schema made to be harmful.
    for (const char* caution : {"PRAGMA trusted_schema = OFF", "PRAGMA cell_size_check = ON"})
      step(prepared(caution).get());
    find_recursive_views();
    sqlite().set_authorizer(opened, authorize, this);
  }

  using Statement = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

  Statement prepared(const std::string& text) {
    sqlite3_stmt* statement = nullptr;
    const char* rest = nullptr;
    const int code =
        sqlite().prepare(database_.get(), text.c_str(), static_cast<int>(text.size() + 1), &statement, &rest);
    Statement owned(statement, sqlite().finalize);
    if (code != sqlite_code::ok) refuse_error(code);
    if (rest != nullptr && *rest != '\0') refuse_second_statement(rest);
    return owned;
  }

  // For one row more; false at the end.
  bool step(sqlite3_stmt* statement) {
    const int code = sqlite().step(statement);
    if (code == sqlite_code::row) return true;
    if (code != sqlite_code::done) refuse_error(code);
    return false;
  }

  [[noreturn]] void refuse_memory() const {
    if (is_memory_short(path_)) throw OutOfMemory("out of memory while an SQLite file was read");
    refuse("'{}' is damaged, or the query makes too large values: SQLite cannot hold one of them in memory",
           path_.string());
  }

 private:
  struct Closes {
    void operator()(sqlite3* database) const { sqlite().close(database); }
  };

  static int is_stopped(void* file) {
    const StopSignal* stop = static_cast<const SqliteFile*>(file)->stop_;
    return stop != nullptr && stop->reason() != StopReason::none ? 1 : 0;
  }

  // A view that refers to itself may have no end. People know what their own queries do, but not what a file
  // brings with it. SQLite reports a recursion without the view that it comes from, so each view is tried.
  void find_recursive_views() {
    const Statement views = prepared("SELECT name FROM sqlite_master WHERE type = 'view'");
    while (step(views.get())) {
      const auto* name = reinterpret_cast<const char*>(sqlite().text(views.get(), 0));
      if (name != nullptr && is_recursive(name)) recursive_views_.insert(lower_case(name));
    }
  }

  bool is_recursive(const std::string& view) {
    bool found = false;
    const auto watch = [](void* seen, int action, const char*, const char*, const char*, const char*) {
      if (action == sqlite_code::recursive) *static_cast<bool*>(seen) = true;
      return sqlite_code::ok;
    };
    sqlite().set_authorizer(database_.get(), watch, &found);
    std::string quoted = "SELECT * FROM \"";
    for (const char each : view) quoted += each == '"' ? std::string("\"\"") : std::string(1, each);
    quoted += '"';
    sqlite3_stmt* statement = nullptr;
    sqlite().prepare(database_.get(), quoted.c_str(), -1, &statement, nullptr);
    sqlite().finalize(statement);
    return found;
  }

  // A view is named where one of its columns is read, and as the origin of everything that it does itself.
  // `pragma_database_list` shows the path of the file, which is not for those who write queries.
  static int authorize(void* file, int action, const char* name, const char*, const char*,
                       const char* origin) {
    auto& self = *static_cast<SqliteFile*>(file);
    if (action == sqlite_code::pragma && name != nullptr && lower_case(name) == "database_list") {
      self.asks_for_path_ = true;
      return sqlite_code::deny;
    }
    return self.is_of_recursive_view(action, name, origin) ? sqlite_code::deny : sqlite_code::ok;
  }

  bool is_of_recursive_view(int action, const char* table, const char* origin) const {
    const auto& views = recursive_views_;
    const auto is_one = [&](const char* name) { return name != nullptr && views.contains(lower_case(name)); };
    return is_one(origin) || (action == sqlite_code::read && is_one(table));
  }

  // Blanks and comments may follow.
  void refuse_second_statement(const char* rest) {
    sqlite3_stmt* second = nullptr;
    const int code = sqlite().prepare(database_.get(), rest, -1, &second, nullptr);
    const Statement owned(second, sqlite().finalize);
    if (code != sqlite_code::ok || second != nullptr)
      refuse("the query holds more than one statement; it must be one SELECT");
  }

  [[noreturn]] void refuse_error(int code) const {
    const int kind = code & 0xff;  // the rest tells more
    const std::string reason = database_ == nullptr ? "out of memory" : sqlite().error(database_.get());
    if (kind == sqlite_code::no_memory) refuse_memory();
    if (asks_for_path_) refuse("the query reads database_list, which is not allowed");
    if (kind == sqlite_code::interrupted) {
      if (stop_ != nullptr && stop_->reason() == StopReason::time_limit)
        fail("reading from SQLite did not finish in the time allowed");
      throw Error(ExitCode::interrupted, "reading from SQLite was interrupted");
    }
    if (kind == sqlite_code::busy || kind == sqlite_code::locked)
      throw Error(
          ExitCode::wrong_request,
          fmt::format("'{}' is locked: another program writes to it; run again when that has finished",
                      path_.string()),
          Cause::machine);
    if (kind == sqlite_code::corrupt || kind == sqlite_code::no_database)
      refuse("'{}' is not an SQLite database, or is damaged: {}", path_.string(), reason);
    if (kind == sqlite_code::not_authorized)
      refuse("'{}': the view refers to itself, so that reading it might never end; put its SELECT into query",
             path_.string());
    if (kind == sqlite_code::cannot_open) refuse("'{}' cannot be opened: {}", path_.string(), reason);
    refuse("SQLite refused the request: {}", reason);
  }

  std::filesystem::path path_;
  const StopSignal* stop_;
  std::set<std::string> recursive_views_;  // in lower case
  bool asks_for_path_ = false;
  std::unique_ptr<sqlite3, Closes> database_;
};

std::string text_at(sqlite3_stmt* statement, int column) {
  const auto* text = reinterpret_cast<const char*>(sqlite().text(statement, column));
  return text == nullptr ? ""
                         : std::string(text, static_cast<std::size_t>(sqlite().bytes(statement, column)));
}

std::vector<std::string> tables_of(SqliteFile& file) {
  const SqliteFile::Statement statement = file.prepared(
      "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE "
      "'\\' "
      "ORDER BY name");
  std::vector<std::string> names;
  while (file.step(statement.get())) names.push_back(text_at(statement.get(), 0));
  return names;
}

// Names of SQL do not tell capital letters from small ones.
bool is_same_name(const std::string& one, const std::string& other) {
  return std::ranges::equal(
      one, other, [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

std::string find_table(SqliteFile& file, const std::string& asked) {
  const std::vector<std::string> tables = tables_of(file);
  if (tables.empty()) refuse("the database has no tables");
  if (asked.empty() && tables.size() == 1) return tables.front();
  if (asked.empty())
    refuse("the database has several tables; set table (--table) to one of {}", join(tables, ", "));
  for (const std::string& table : tables)
    if (is_same_name(table, asked)) return table;
  const std::string meant = did_you_mean(asked, tables);
  if (!meant.empty()) refuse("the database has no table '{}'{}", asked, meant);
  refuse("the database has no table '{}'; it has {}", asked, join(tables, ", "));
}

std::vector<std::string> names_of(sqlite3_stmt* statement) {
  std::vector<std::string> names;
  for (int c = 0; c < sqlite().columns(statement); ++c) names.emplace_back(sqlite().name(statement, c));
  return names;
}

SqliteFile::Statement selected(SqliteFile& file, Selection selection) {
  const std::string query = statement_of(selection.query);
  if (query.empty()) selection.table = find_table(file, selection.table);
  const std::string rows = query.empty() ? quoted_name(selection.table) : "(\n" + query + "\n) AS selected";
  // A query by itself first: what is one whole statement alone cannot close the brackets around it.
  SqliteFile::Statement all = file.prepared(query.empty() ? "SELECT * FROM " + rows : query);
  if (all == nullptr || sqlite().columns(all.get()) == 0)
    refuse("the query gives no columns; it must be one SELECT");
  if (sqlite().is_read_only(all.get()) == 0) refuse("the query would write; it must be one SELECT");
  refuse_missing_columns(selection, names_of(all.get()));
  if (selection.columns.empty() && selection.where.empty()) return all;
  return file.prepared(select_text(rows, selection.columns, {selection.where}));
}

// "" where there is none, as of an expression.
std::string declared_type_of(sqlite3_stmt* statement, int column) {
  const char* type = sqlite().declared_type(statement, column);
  return type == nullptr ? "" : type;
}

std::vector<bool> declared_booleans(sqlite3_stmt* statement) {
  std::vector<bool> booleans;
  for (int c = 0; c < sqlite().columns(statement); ++c)
    booleans.push_back(is_same_name(declared_type_of(statement, c).substr(0, 4), "bool"));
  return booleans;
}

void read_declared_arrays(sqlite3_stmt* statement, Rows& rows) {
  for (int c = 0; c < sqlite().columns(statement); ++c) {
    const std::string declared = declared_type_of(statement, c);
    if (is_array_type(declared)) read_array_texts(rows, static_cast<std::size_t>(c), declared);
  }
  settle_shapes(rows);
}

void take_value(const SqliteFile& file, sqlite3_stmt* statement, int c, LooseColumns& columns) {
  const auto column = static_cast<std::size_t>(c);
  switch (sqlite().type(statement, c)) {
    case sqlite_code::integer:
      return columns.put_integer(column, sqlite().integer(statement, c));
    case sqlite_code::real:
      return columns.put_real(column, sqlite().real(statement, c));
    case sqlite_code::text: {
      const auto* text = reinterpret_cast<const char*>(sqlite().text(statement, c));
      if (text == nullptr) file.refuse_memory();
      return columns.put_text(column, {text, static_cast<std::size_t>(sqlite().bytes(statement, c))});
    }
    case sqlite_code::blob:
      throw RowProblem{columns.rows(),
                       fmt::format("column '{}' holds bytes (a BLOB), which cannot be read; leave "
                                   "it out with columns, or write arrays as text ([1, 2]) into a column "
                                   "declared as ARRAY",
                                   sqlite().name(statement, c))};
    default:
      return columns.put_missing(column);
  }
}

}  // namespace

Rows read_sqlite(const std::filesystem::path& file, const Selection& selection, const StopSignal* stop) {
  SqliteFile database(file, stop);
  const SqliteFile::Statement statement = selected(database, selection);
  LooseColumns columns(names_of(statement.get()));
  const int count = sqlite().columns(statement.get());
  try {
    while (database.step(statement.get())) {
      for (int c = 0; c < count; ++c) take_value(database, statement.get(), c, columns);
      columns.end_row();
    }
    Rows rows = columns.finish(declared_booleans(statement.get()));
    read_declared_arrays(statement.get(), rows);
    return rows;
  } catch (const RowProblem& problem) {
    refuse("row {}: {}", problem.row + 1, problem.message);
  }
}

}  // namespace stoker::database
