#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/value.h"
#include "store/dataset_store.h"

namespace stoker::cli {

// What `stoker datasets` was given; each part of it uses its own.
struct DatasetsCommand {
  std::string id;
  std::string data;
  config::Value reading;
  bool is_faulty = false;
  std::string called;  // empty: by where it is read from
  std::string sample = "boston_housing";
  std::int64_t rows = 0;  // 0: as many as the sample usually has
  std::uint64_t seed = 42;
  std::string to;
  std::string table;
  std::vector<std::string> ranges;
  std::string as;
  std::string output;
  bool json = false;
};

void told_added(const DatasetRecord& record, const DatasetStore& store);

ExitCode validate_dataset(const DatasetsCommand& command);
ExitCode repair_dataset(const DatasetsCommand& command);

}  // namespace stoker::cli
