#include <string_view>

#include "base/error.h"
#include "database/sqlite/sqlite_library.h"
#include "database/writable.h"

namespace stoker::database {
namespace {

constexpr int patience_of_writers = 5000;  // milliseconds for somebody else who writes

class WritableSqlite : public WritableDatabase {
 public:
  explicit WritableSqlite(std::filesystem::path file) : file_(std::move(file)) {
    sqlite3* opened = nullptr;
    const int code = sqlite_library().open(
        file_.c_str(), &opened,
        sqlite_code::open_read_write | sqlite_code::open_create | sqlite_code::open_without_mutex, nullptr);
    database_.reset(opened);
    if (code != sqlite_code::ok) refuse_error(code);
    sqlite_library().busy_timeout(opened, patience_of_writers);
    // A file from elsewhere may hold a schema made to be harmful.
    for (const char* caution : {"PRAGMA trusted_schema = OFF", "PRAGMA cell_size_check = ON"})
      run(caution, {});
  }

  std::vector<WrittenRow> run(const std::string& text, const std::vector<WrittenValue>& parameters) override {
    // One with many parameters is likely to come again, with the next rows, and takes long to understand.
    if (parameters.size() > few_parameters) {
      if (kept_ == nullptr || text != kept_text_) {
        kept_ = prepared(text);
        kept_text_ = text;
      }
      try {
        std::vector<WrittenRow> rows = rows_of(kept_.get(), parameters);
        sqlite_library().reset(kept_.get());
        return rows;
      } catch (...) {
        kept_.reset();
        throw;
      }
    }
    return rows_of(prepared(text).get(), parameters);
  }
  void begin() override { run("BEGIN IMMEDIATE", {}); }
  bool has_table(const std::string& name) override {
    return !run("SELECT 1 FROM sqlite_master WHERE type IN ('table', 'view') AND lower(name) = lower($1)",
                {{name}})
                .empty();
  }
  std::size_t most_parameters() const override { return 32'000; }
  // It looks each up among all before it.
  std::size_t parameters_at_once() const override { return 300; }
  bool is_postgres() const override { return false; }

 private:
  struct Closes {
    void operator()(sqlite3* database) const { sqlite_library().close(database); }
  };

  struct Finalizes {
    void operator()(sqlite3_stmt* statement) const { sqlite_library().finalize(statement); }
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Finalizes>;

  static constexpr std::size_t few_parameters = 32;

  Statement prepared(const std::string& text) {
    sqlite3_stmt* statement = nullptr;
    check(sqlite_library().prepare(database_.get(), text.c_str(), static_cast<int>(text.size() + 1),
                                   &statement, nullptr));
    return Statement(statement);
  }

  std::vector<WrittenRow> rows_of(sqlite3_stmt* statement, const std::vector<WrittenValue>& parameters) {
    bind(statement, parameters);
    std::vector<WrittenRow> rows;
    for (;;) {
      const int code = sqlite_library().step(statement);
      if (code == sqlite_code::done) return rows;
      if (code != sqlite_code::row) refuse_error(code);
      rows.push_back(row_of(statement));
    }
  }

  void bind(sqlite3_stmt* statement, const std::vector<WrittenValue>& parameters) {
    // The texts live as long as the statement: SQLite need not copy them. $2 is a name to it, and has the
    // place that it is met at first. Looking names up takes long where there are many, which stand in their
    // order.
    const bool are_in_order = parameters.size() > few_parameters;
    int number = 0;
    for (const WrittenValue& value : parameters) {
      ++number;
      const int at = are_in_order
                         ? number
                         : sqlite_library().parameter_index(statement, fmt::format("${}", number).c_str());
      if (at == 0) continue;
      check(value ? sqlite_library().bind_text(statement, at, value->data(), static_cast<int>(value->size()),
                                               nullptr)
                  : sqlite_library().bind_null(statement, at));
    }
  }

  static WrittenRow row_of(sqlite3_stmt* statement) {
    const SqliteLibrary& sqlite = sqlite_library();
    WrittenRow row;
    for (int c = 0; c < sqlite.columns(statement); ++c) {
      row.emplace_back();
      const auto* text = reinterpret_cast<const char*>(sqlite.text(statement, c));
      if (text != nullptr)
        row.back() = std::string(text, static_cast<std::size_t>(sqlite.bytes(statement, c)));
    }
    return row;
  }

  void check(int code) const {
    if (code != sqlite_code::ok) refuse_error(code);
  }

  [[noreturn]] void refuse_error(int code) const {
    const int kind = code & 0xff;
    const std::string reason =
        database_ == nullptr ? "out of memory" : sqlite_library().error(database_.get());
    if (kind == sqlite_code::no_memory) throw OutOfMemory("out of memory while an SQLite file was written");
    if (kind == sqlite_code::busy || kind == sqlite_code::locked)
      throw Error(
          ExitCode::wrong_request,
          fmt::format("'{}' is locked: another program writes to it; try again when that has finished",
                      file_.string()),
          Cause::machine);
    if (kind == sqlite_code::corrupt || kind == sqlite_code::no_database)
      refuse("'{}' is not an SQLite database, or is damaged: {}", file_.string(), reason);
    if (kind == sqlite_code::full || kind == sqlite_code::input_output)
      throw Error(ExitCode::wrong_request, fmt::format("'{}' cannot be written: {}", file_.string(), reason),
                  Cause::machine);
    if (kind == sqlite_code::cannot_open || kind == sqlite_code::read_only)
      refuse("'{}' cannot be opened to be written: {}", file_.string(), reason);
    refuse("'{}': SQLite refused the request: {}", file_.string(), reason);
  }

  std::filesystem::path file_;
  std::unique_ptr<sqlite3, Closes> database_;
  Statement kept_;  // gone before the database is closed
  std::string kept_text_;
};

}  // namespace

std::unique_ptr<WritableDatabase> write_sqlite(const std::filesystem::path& file) {
  return std::make_unique<WritableSqlite>(file);
}

}  // namespace stoker::database
