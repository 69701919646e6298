#include "base/stop.h"
#include "database/postgres_connection.h"
#include "database/writable.h"

namespace stoker::database {
namespace {

class WritablePostgres : public WritableDatabase {
 public:
  WritablePostgres(const std::string& address, const std::string& called)
      : connection_(PostgresConnection::Address{address, called}, never_) {}

  std::vector<WrittenRow> run(const std::string& statement,
                              const std::vector<WrittenValue>& parameters) override {
    return connection_.run(statement, parameters);
  }
  void begin() override { run("BEGIN", {}); }
  bool has_table(const std::string& name) override {
    // Asked of the catalogue itself: to_regclass() remembers that a table was not there, even after a wait
    // for somebody who has made it meanwhile.
    return !run("SELECT 1 FROM pg_catalog.pg_class WHERE relname = $1 AND "
                "pg_catalog.pg_table_is_visible(oid)",
                {{name}})
                .empty();
  }
  std::size_t most_parameters() const override { return 65'535; }
  bool is_postgres() const override { return true; }

 private:
  StopSignal never_;
  PostgresConnection connection_;
};

}  // namespace

std::unique_ptr<WritableDatabase> write_postgres(const std::string& address, const std::string& called) {
  return std::make_unique<WritablePostgres>(address, called);
}

}  // namespace stoker::database
