#pragma once

#include <string>
#include <vector>

#include "data/source/source.h"
#include "data/source/source_reader.h"

namespace stoker {

// A dataset on record, opened.
struct OpenedDataset {
  std::string id;
  Source source;
  std::string recorded_fingerprint;  // of its content when it was put on record
  std::string reading;  // the settings that it is read with, which make other rows of the same content
};

// The rows of all of them, one dataset behind the other. Reading refuses datasets with other columns than the
// first, by the name of the column; warnings() names those whose content is another than on record.
OpenedSource joined_datasets(std::vector<OpenedDataset> datasets);

// Rows of several tables one behind the other; `names` are theirs, for people. Columns are taken by their
// names, in the order of the first table; whole numbers become real ones where another table has such.
Table joined_rows(const std::vector<Table>& tables, const std::vector<std::string>& names);

}  // namespace stoker
