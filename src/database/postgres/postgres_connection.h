#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/stop.h"

namespace stoker::database {

struct PGconn;
struct PGresult;

// One connection to PostgreSQL; for who reads, in a read-only transaction that sees one state of the database
// from the beginning to the end of its life. Every text of SQL is sent by the extended protocol, which takes
// one statement alone: a second one behind it cannot end the transaction.
class PostgresConnection {
 public:
  // `address` is postgres://…, or keywords and values, or empty: then libpq's own variables say it all.
  // `snapshot` is that of another connection whose state is to be seen. Throws where there is no connection;
  // nobody learns a password from any of the errors.
  PostgresConnection(const std::string& address, const std::string& snapshot, const StopSignal& stop);

  // For who writes: without a transaction, each statement by itself.
  struct Address {
    std::string text;
    std::string called;  // what it was given as, for messages
  };
  PostgresConnection(const Address& address, const StopSignal& stop);

  using TextRow = std::vector<std::optional<std::string>>;
  // With parameters that may be NULL.
  std::vector<TextRow> run(const std::string& text, const TextRow& parameters);
  std::vector<TextRow> rows_of(const std::string& text, const std::vector<std::string>& parameters = {});

  struct Column {
    std::string name;
    unsigned type = 0;  // by its number in the catalogue
  };
  // Of a statement that is parsed and not carried out.
  std::vector<Column> columns_of(const std::string& text);

  // Each message of COPY … TO STDOUT in turn.
  void copy(const std::string& text, const std::function<void(std::string_view message)>& take);

  bool is_lost() const;  // the server has ended it, or cannot be reached any more

  std::string snapshot();  // for other connections, while this one lives

 private:
  struct EndsConnection {
    void operator()(PGconn* connection) const;
  };
  struct ClearsResult {
    void operator()(PGresult* result) const;
  };
  using Result = std::unique_ptr<PGresult, ClearsResult>;

  void connect(const std::string& address, const std::string& server);
  void end_queries_of_lost_clients();
  void send(const std::string& text, const TextRow& parameters);
  void wait_for_input();
  void heed_stop();
  Result next_result();
  Result only_result();  // and refuses an error
  void refuse_error(const PGresult* result) const;
  [[noreturn]] void refuse_lost() const;
  std::string without_secrets(std::string message) const;

  const StopSignal& stop_;
  std::vector<std::string> secrets_;
  std::unique_ptr<PGconn, EndsConnection> connection_;
};

// Which database an address leads to, by host, port, name, user and the like, with what libpq's own variables
// add: no password, and nothing that is only of this connection.
std::string postgres_place(const std::string& address);

}  // namespace stoker::database
