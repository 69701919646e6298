#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// Databases that records and tables are written to. Values go along as parameters, never inside of a
// statement.
namespace stoker::database {

using WrittenValue = std::optional<std::string>;  // none: NULL
using WrittenRow = std::vector<WrittenValue>;

class WritableDatabase {
 public:
  virtual ~WritableDatabase() = default;

  // Carries out one statement, whose parameters are $1, $2, … (more than 32 in the order in which they stand
  // in it), and gives its rows as text.
  virtual std::vector<WrittenRow> run(const std::string& statement,
                                      const std::vector<WrittenValue>& parameters = {}) = 0;
  // Others who write wait from here until the end of the transaction, for a while.
  virtual void begin() = 0;
  virtual bool has_table(const std::string& name) = 0;
  virtual std::size_t most_parameters() const = 0;  // of one statement
  // Beyond which a statement takes longer than two of half the size.
  virtual std::size_t parameters_at_once() const { return most_parameters(); }
  virtual bool is_postgres() const = 0;
};

// A file that is not there is made. Refuses one that is damaged, or that others write to for longer than a
// few seconds.
std::unique_ptr<WritableDatabase> write_sqlite(const std::filesystem::path& file);
// `address` is that of PostgresConnection, `called` what it was given as, for messages: STOKER_STORE.
std::unique_ptr<WritableDatabase> write_postgres(const std::string& address, const std::string& called);

// All that is done while one is there is done by commit(); dropped without it, nothing is.
class Transaction {
 public:
  explicit Transaction(WritableDatabase& database);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  void commit();

 private:
  WritableDatabase& database_;
  bool is_open_ = true;
};

// As many rows to a statement as the database takes.
void insert_rows(WritableDatabase& database, const std::string& table,
                 const std::vector<std::string>& columns, const std::vector<WrittenRow>& rows);

}  // namespace stoker::database
