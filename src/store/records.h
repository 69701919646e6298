#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

namespace stoker::database {
class WritableDatabase;
}

namespace stoker {

// The database that everything on record lies in: the SQLite file runs/store.sqlite of the current folder, or
// what STOKER_STORE says, a file or postgres://…. Its tables carry a version; those of an earlier one are
// brought up to date when it is opened, those of a later one are refused.
class Records {
 public:
  Records();
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;
  ~Records();

  database::WritableDatabase& to_write();
  // Null where nothing was ever recorded.
  database::WritableDatabase* to_read();

  // For who is not the only thread: what is done while it is held, others wait for.
  std::unique_lock<std::recursive_mutex> hold() { return std::unique_lock(mutex_); }

  // For what belongs to a connection, such as a lock; of PostgreSQL alone.
  std::unique_ptr<database::WritableDatabase> another_connection() const;
  // Of an SQLite store: the file with its name and this ending, of the file itself if its name is a link.
  std::filesystem::path file_beside(const std::string& ending) const;

  const std::string& place() const { return place_; }  // for people
  // For files that belong to what is on record; beside its file, or runs where it is no file.
  std::filesystem::path folder() const;

 private:
  void open();
  void refuse_foreign_file();
  void bring_up_to_date();

  std::string address_;         // of PostgreSQL
  std::filesystem::path file_;  // else
  std::string place_;
  std::unique_ptr<database::WritableDatabase> database_;
  std::recursive_mutex mutex_;
  bool is_up_to_date_ = false;
};

}  // namespace stoker
