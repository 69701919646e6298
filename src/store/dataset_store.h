#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/source_config.h"

namespace stoker::database {
class WritableDatabase;
}

namespace stoker {

// A dataset on record: where its rows come from, and what they were when it was put there.
struct DatasetRecord {
  std::string id;
  SourceConfig source;  // paths are absolute; nothing in it is secret
  std::string name;     // of the source, for people
  std::int64_t rows = 0;
  std::string fingerprint;                                   // of the content
  std::vector<std::pair<std::string, std::string>> columns;  // names and types
  std::string added;                                         // when, in UTC
  std::string cleaned_of;                                    // the id of what this is a cleaned copy of
};

// Datasets on record, in a database: the SQLite file runs/store.sqlite of the current folder, or what
// STOKER_STORE says, a file or postgres://…. Its tables carry a version; those of an earlier one are brought
// up to date when it is opened, those of a later one are refused.
class DatasetStore {
 public:
  DatasetStore();
  DatasetStore(const DatasetStore&) = delete;
  DatasetStore& operator=(const DatasetStore&) = delete;
  ~DatasetStore();

  // Refuses an id that is taken, or none.
  void add(const DatasetRecord& dataset);
  void remove(const std::string& id);
  // Refuses an id that is not on record, with the nearest one.
  DatasetRecord find(const std::string& id);
  bool has(const std::string& id);
  std::vector<DatasetRecord> all();  // by their ids

  const std::string& place() const { return place_; }  // for people
  // For files that belong to the store; beside its file, or runs where it is no file.
  std::filesystem::path folder() const;

 private:
  database::WritableDatabase& to_write();
  // Null where nothing was ever recorded.
  database::WritableDatabase* to_read();
  void open();
  void bring_up_to_date();

  std::string address_;         // of PostgreSQL
  std::filesystem::path file_;  // else
  std::string place_;
  std::unique_ptr<database::WritableDatabase> database_;
};

// Letters, digits, - _ and ., up to 64 of them, from a letter or digit on.
void refuse_unless_dataset_id(const std::string& id);

}  // namespace stoker
