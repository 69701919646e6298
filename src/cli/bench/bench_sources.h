#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/source/source_config.h"

namespace stoker::cli {

// Formats that `stoker bench load` knows.
const std::vector<std::string>& load_formats();

// Rows of numbers in one of these formats, how to read them, and what the peers are told.
struct BenchSource {
  SourceConfig config;
  std::string target;  // one of the columns
  std::string peers;   // how the names of their scripts begin
  std::vector<std::string> peer_arguments;
};

// Where the rows of a format will be: a file in `folder`, or a table behind `uri`. Refuses an address that
// cannot be used.
BenchSource bench_source(const std::string& format, std::int64_t columns, const std::filesystem::path& folder,
                         const std::string& uri);
// Puts the rows there.
void fill(const BenchSource& source, std::int64_t rows, std::int64_t columns);
// Takes away again what would stay in a database.
void clear(const BenchSource& source);

}  // namespace stoker::cli
