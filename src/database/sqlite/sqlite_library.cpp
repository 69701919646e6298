#include "database/sqlite/sqlite_library.h"

#include "base/process/shared_library.h"

namespace stoker::database {
namespace {

SqliteLibrary load_sqlite_library() {
  const SharedLibrary library({"libsqlite3.so.0", "libsqlite3.so"}, "source sqlite", "libsqlite3-0");
  SqliteLibrary sqlite{};
  library.find("sqlite3_open_v2", sqlite.open);
  library.find("sqlite3_close_v2", sqlite.close);
  library.find("sqlite3_busy_timeout", sqlite.busy_timeout);
  library.find("sqlite3_progress_handler", sqlite.progress_handler);
  library.find("sqlite3_set_authorizer", sqlite.set_authorizer);
  library.find("sqlite3_errmsg", sqlite.error);
  library.find("sqlite3_prepare_v2", sqlite.prepare);
  library.find("sqlite3_step", sqlite.step);
  library.find("sqlite3_finalize", sqlite.finalize);
  library.find("sqlite3_reset", sqlite.reset);
  library.find("sqlite3_stmt_readonly", sqlite.is_read_only);
  library.find("sqlite3_column_count", sqlite.columns);
  library.find("sqlite3_column_name", sqlite.name);
  library.find("sqlite3_column_decltype", sqlite.declared_type);
  library.find("sqlite3_column_type", sqlite.type);
  library.find("sqlite3_column_int64", sqlite.integer);
  library.find("sqlite3_column_double", sqlite.real);
  library.find("sqlite3_column_text", sqlite.text);
  library.find("sqlite3_column_bytes", sqlite.bytes);
  library.find("sqlite3_bind_text", sqlite.bind_text);
  library.find("sqlite3_bind_null", sqlite.bind_null);
  library.find("sqlite3_bind_parameter_index", sqlite.parameter_index);
  return sqlite;
}

}  // namespace

const SqliteLibrary& sqlite_library() {
  static const SqliteLibrary library = load_sqlite_library();
  return library;
}

}  // namespace stoker::database
