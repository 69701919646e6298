#include <chrono>
#include <optional>

#include "base/error.h"
#include "base/process/stop.h"
#include "database/postgres/postgres_connection.h"
#include "database/writable.h"

namespace stoker::database {
namespace {

// A connection that is lost is made again for the next statement, but not inside of a transaction, the rest
// of which would stand alone: that fails as a whole.
class WritablePostgres : public WritableDatabase {
 public:
  WritablePostgres(std::string address, std::string called)
      : address_{std::move(address), std::move(called)} {
    connect();
  }

  std::vector<WrittenRow> run(const std::string& statement,
                              const std::vector<WrittenValue>& parameters) override {
    const bool ends = statement == "COMMIT" || statement == "ROLLBACK";
    if (is_inside_) {
      if (ends) is_inside_ = false;  // whether the server can be told or not
      return connection_->run(statement, parameters);
    }
    if (!connection_ || connection_->is_lost()) connect();
    try {
      return connection_->run(statement, parameters);
    } catch (const Error&) {
      // The server went away since it was last asked. What only reads may be asked twice.
      if (!connection_->is_lost() || !(statement == "BEGIN" || statement.starts_with("SELECT"))) throw;
      connect();
      return connection_->run(statement, parameters);
    }
  }
  void begin() override {
    is_inside_ = false;
    run("BEGIN", {});
    is_inside_ = true;
  }
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
  // Who asks while the server is away is told so at once, and does not wait for one failure after the other.
  void connect() {
    constexpr auto pause = std::chrono::seconds(1);
    const auto now = std::chrono::steady_clock::now();
    if (failed_ && now - *failed_ < pause)
      throw Error(ExitCode::wrong_request, "there is no connection to PostgreSQL; try again in a second",
                  Cause::machine);
    connection_.reset();
    try {
      connection_.emplace(address_, never_);
      failed_.reset();
    } catch (const Error&) {
      failed_ = std::chrono::steady_clock::now();
      throw;
    }
  }

  StopSignal never_;
  PostgresConnection::Address address_;
  std::optional<PostgresConnection> connection_;
  std::optional<std::chrono::steady_clock::time_point> failed_;
  bool is_inside_ = false;  // of a transaction
};

}  // namespace

std::unique_ptr<WritableDatabase> write_postgres(const std::string& address, const std::string& called) {
  return std::make_unique<WritablePostgres>(address, called);
}

}  // namespace stoker::database
