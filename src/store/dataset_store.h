#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "data/source/source_config.h"
#include "store/records.h"

namespace stoker {

// What the cubes of a dataset are; there are as many as rows.
struct CubesOnRecord {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
};

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
  std::optional<CubesOnRecord> cubes;  // where the rows are cubes; older records do not tell
};

// A dataset as the copy of it that is next to its file.
nlohmann::json dataset_json(const DatasetRecord& dataset);
DatasetRecord dataset_from_json(const nlohmann::json& copy);

// A record that cannot be read, and why.
struct DamagedRecord {
  std::string id;
  std::string problem;
};

// By their ids.
struct DatasetsOnRecord {
  std::vector<DatasetRecord> records;
  std::vector<DamagedRecord> damaged;
};

// Datasets on record, of the project that the thread works in, or of `default`: an id is unique within its
// project alone.
class DatasetStore {
 public:
  // Refuses an id that is taken, or none.
  void add(const DatasetRecord& dataset);
  void refuse_taken(const std::string& id);  // before any work is done for it
  void remove(const std::string& id);        // a damaged record too
  // Refuses an id that is not on record, with the nearest one.
  DatasetRecord find(const std::string& id);
  bool has(const std::string& id);
  // Documents may also name a built-in sample, such as uhf_mixed. A dataset on record of that name comes
  // first.
  bool is_known(const std::string& id);
  DatasetRecord find_known(const std::string& id);
  std::vector<std::string> known_ids();
  DatasetsOnRecord all();

  const std::string& place() const { return records_.place(); }  // for people
  // For files that belong to datasets.
  std::filesystem::path folder() const { return records_.folder(); }

 private:
  Records records_;
};

// Letters, digits, - _ and ., up to 64 of them, from a letter or digit on.
void refuse_unless_dataset_id(const std::string& id);

}  // namespace stoker
