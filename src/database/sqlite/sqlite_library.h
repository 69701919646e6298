#pragma once

#include <cstdint>

// The few functions of SQLite that are used, declared here: building needs no header of it, and what reads no
// SQLite does not need the library.
namespace stoker::database {

struct sqlite3;
struct sqlite3_stmt;

namespace sqlite_code {
constexpr int ok = 0;
constexpr int busy = 5;
constexpr int locked = 6;
constexpr int no_memory = 7;
constexpr int read_only = 8;
constexpr int interrupted = 9;
constexpr int input_output = 10;
constexpr int corrupt = 11;
constexpr int full = 13;
constexpr int cannot_open = 14;
constexpr int no_database = 26;
constexpr int row = 100;
constexpr int done = 101;
constexpr int open_read_only = 1;
constexpr int open_read_write = 2;
constexpr int open_create = 4;
constexpr int open_uri = 0x40;
constexpr int open_without_mutex = 0x8000;
constexpr int deny = 1;
constexpr int not_authorized = 23;
constexpr int pragma = 19;     // an action
constexpr int read = 20;       // an action
constexpr int recursive = 33;  // an action: a common table expression that refers to itself
constexpr int integer = 1;
constexpr int real = 2;
constexpr int text = 3;
constexpr int blob = 4;
}  // namespace sqlite_code

struct SqliteLibrary {
  int (*open)(const char* path, sqlite3**, int flags, const char* system);
  int (*close)(sqlite3*);
  int (*busy_timeout)(sqlite3*, int milliseconds);
  void (*progress_handler)(sqlite3*, int operations, int (*ask)(void*), void* payload);
  // `ask` is asked while a statement is prepared about each thing that it would do, and answers ok or deny.
  // The first text of a read is the table or view; the first text of a pragma is its name.
  int (*set_authorizer)(sqlite3*,
                        int (*ask)(void*, int action, const char*, const char*, const char*, const char*),
                        void* payload);
  const char* (*error)(sqlite3*);
  int (*prepare)(sqlite3*, const char* text, int bytes, sqlite3_stmt**, const char** rest);
  int (*step)(sqlite3_stmt*);
  int (*finalize)(sqlite3_stmt*);
  int (*reset)(sqlite3_stmt*);
  int (*is_read_only)(sqlite3_stmt*);
  int (*columns)(sqlite3_stmt*);
  const char* (*name)(sqlite3_stmt*, int column);
  const char* (*declared_type)(sqlite3_stmt*, int column);
  int (*type)(sqlite3_stmt*, int column);
  std::int64_t (*integer)(sqlite3_stmt*, int column);
  double (*real)(sqlite3_stmt*, int column);
  const unsigned char* (*text)(sqlite3_stmt*, int column);
  int (*bytes)(sqlite3_stmt*, int column);
  // Nobody frees the text: it must live as long as the statement is carried out.
  int (*bind_text)(sqlite3_stmt*, int parameter, const char* text, int bytes, void (*free)(void*));
  int (*bind_null)(sqlite3_stmt*, int parameter);
  int (*parameter_index)(sqlite3_stmt*, const char* name);  // 0: the statement has none of that name
};

// Refuses where it is not installed.
const SqliteLibrary& sqlite_library();

}  // namespace stoker::database
