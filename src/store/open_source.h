#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "data/cubes/cube_faults.h"
#include "data/source/source.h"
#include "data/table/table_faults.h"
#include "store/dataset_store.h"

namespace stoker {

// A source of any kind; of `source: datasets`, those that the store has under the ids.
Source open_source(const SourceConfig& config, const std::filesystem::path& base,
                   const StopSignal* stop = nullptr, const FindKnownRows& find = {});

// What a source gives, read whole, as it goes on record: with absolute paths, without anything secret.
// Refuses what cannot be read another time, such as standard input; of a file that cannot be read whole, the
// record may be of the rows that can.
enum class RowsToRecord { all, those_that_can_be_read };
DatasetRecord record_of(const std::string& id, const SourceConfig& source, const std::filesystem::path& base,
                        RowsToRecord rows = RowsToRecord::all);

// Whether some rows of what cannot be read whole can be read all the same.
bool has_whole_rows(const SourceConfig& source, const std::filesystem::path& base);

// A dataset read as far as it can be, and what is wrong with it.
struct CheckedDataset {
  DatasetRecord record;
  std::optional<Table> table;  // without the rows of `unread`
  std::string unreadable;      // why it cannot be read as it is
  UnreadRows unread;
  bool has_changed = false;  // since it was put on record
  TableFaults faults;
  std::optional<CubeFaults> cubes;  // where the rows are cubes

  bool is_sound() const { return unreadable.empty() && !has_changed && faults.found.empty(); }
};
CheckedDataset check_dataset(const DatasetRecord& record, const ValueRanges& ranges);

}  // namespace stoker
