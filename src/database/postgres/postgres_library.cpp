#include "database/postgres/postgres_library.h"

#include "base/process/shared_library.h"

namespace stoker::database {
namespace {

PostgresLibrary load_postgres_library() {
  const SharedLibrary library({"libpq.so.5", "libpq.so"}, "source postgres", "libpq5");
  PostgresLibrary pq{};
  library.find("PQconnectdbParams", pq.connect);
  library.find("PQfinish", pq.finish);
  library.find("PQstatus", pq.status);
  library.find("PQerrorMessage", pq.error);
  library.find("PQpass", pq.password);
  library.find("PQsocket", pq.socket);
  library.find("PQserverVersion", pq.server_version);
  library.find("PQconninfoParse", pq.parse);
  library.find("PQconninfoFree", pq.free_options);
  library.find("PQfreemem", pq.free_memory);
  library.find("PQsendQueryParams", pq.send_query);
  library.find("PQsendPrepare", pq.send_prepare);
  library.find("PQsendDescribePrepared", pq.send_describe);
  library.find("PQconsumeInput", pq.consume);
  library.find("PQisBusy", pq.is_busy);
  library.find("PQgetResult", pq.result);
  library.find("PQgetCopyData", pq.copy_data);
  library.find("PQgetCancel", pq.get_cancel);
  library.find("PQcancel", pq.cancel);
  library.find("PQfreeCancel", pq.free_cancel);
  library.find("PQresultStatus", pq.result_status);
  library.find("PQresultErrorField", pq.result_field);
  library.find("PQresultErrorMessage", pq.result_error);
  library.find("PQclear", pq.clear);
  library.find("PQntuples", pq.tuples);
  library.find("PQnfields", pq.fields);
  library.find("PQfname", pq.name);
  library.find("PQftype", pq.type);
  library.find("PQgetvalue", pq.value);
  library.find("PQgetisnull", pq.is_null);
  return pq;
}

}  // namespace

const PostgresLibrary& postgres_library() {
  static const PostgresLibrary library = load_postgres_library();
  return library;
}

}  // namespace stoker::database
