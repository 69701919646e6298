#pragma once

// The few functions of libpq that are used, declared here: building needs no header of it, and what reads no
// PostgreSQL does not need the library.
namespace stoker::database {

struct PGconn;
struct PGresult;
struct PGcancel;

struct ConnectionOption {  // PQconninfoOption
  char* keyword;
  char* environment;
  char* compiled;
  char* value;
  char* label;
  char* display;
  int display_size;
};

enum class ConnectionStatus : int { ok = 0 };                                   // ConnStatusType
enum class ResultStatus : int { command_ok = 1, tuples_ok = 2, copy_out = 3 };  // ExecStatusType

struct PostgresLibrary {
  PGconn* (*connect)(const char* const* keywords, const char* const* values, int expand);
  void (*finish)(PGconn*);
  ConnectionStatus (*status)(const PGconn*);
  char* (*error)(const PGconn*);
  char* (*password)(const PGconn*);
  int (*socket)(const PGconn*);
  int (*server_version)(const PGconn*);
  ConnectionOption* (*parse)(const char* text, char** error);
  void (*free_options)(ConnectionOption*);
  void (*free_memory)(void*);

  int (*send_query)(PGconn*, const char* text, int count, const unsigned* types, const char* const* values,
                    const int* lengths, const int* formats, int result_format);
  int (*send_prepare)(PGconn*, const char* name, const char* text, int count, const unsigned* types);
  int (*send_describe)(PGconn*, const char* name);
  int (*consume)(PGconn*);
  int (*is_busy)(PGconn*);
  PGresult* (*result)(PGconn*);
  int (*copy_data)(PGconn*, char** buffer, int at_once);
  PGcancel* (*get_cancel)(PGconn*);
  int (*cancel)(PGcancel*, char* error, int size);
  void (*free_cancel)(PGcancel*);

  ResultStatus (*result_status)(const PGresult*);
  char* (*result_field)(const PGresult*, int code);  // of the error
  char* (*result_error)(const PGresult*);
  void (*clear)(PGresult*);
  int (*tuples)(const PGresult*);
  int (*fields)(const PGresult*);
  char* (*name)(const PGresult*, int field);
  unsigned (*type)(const PGresult*, int field);
  char* (*value)(const PGresult*, int row, int field);
  int (*is_null)(const PGresult*, int row, int field);
};

// Refuses where it is not installed.
const PostgresLibrary& postgres_library();

}  // namespace stoker::database
