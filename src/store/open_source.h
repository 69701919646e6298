#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "data/source.h"
#include "data/table_faults.h"
#include "store/dataset_store.h"

namespace stoker {

// A source of any kind; of `source: datasets`, those that the store has under the ids.
Source open_source(const SourceConfig& config, const std::filesystem::path& base,
                   const StopSignal* stop = nullptr, const FindKnownRows& find = {});

// What a source gives, read whole, as it goes on record: with absolute paths, without anything secret.
// Refuses what cannot be read another time, such as standard input.
DatasetRecord record_of(const std::string& id, const SourceConfig& source, const std::filesystem::path& base);

// A dataset read whole, and what is wrong with it. `unreadable` says why it could not be read.
struct CheckedDataset {
  DatasetRecord record;
  std::optional<Table> table;
  std::string unreadable;
  bool has_changed = false;  // since it was put on record
  TableFaults faults;

  bool is_sound() const { return table && !has_changed && faults.found.empty(); }
};
CheckedDataset check_dataset(const DatasetRecord& record, const std::map<std::string, ValueRange>& ranges);

}  // namespace stoker
