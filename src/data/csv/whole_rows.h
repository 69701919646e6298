#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/csv/csv_dialect.h"
#include "data/table/table.h"

// What can be read of a file that cannot be read whole: rows with other numbers of values than the header,
// lines that are no JSON, a file that ends too early.
namespace stoker {

struct UnreadRows {
  struct Row {
    std::int64_t line = 0;  // counted from 1
    std::string problem;
  };
  static constexpr std::size_t most_named = 10;

  std::int64_t count = 0;  // rows that are left out, as far as they are there
  std::vector<Row> first;  // of them, most_named at most
  std::string cut;         // where a file ends too early, so that nobody knows how many rows it had

  bool is_none() const { return count == 0 && cut.empty(); }
};

// A table with the rows that can be read, and what was left out. A row is what lies between two line ends
// outside of quotes; of a faulty one that goes over several lines, its first line alone is left out.
struct WholeRows {
  Table table;
  UnreadRows left_out;
};
WholeRows read_whole_csv_rows(const std::filesystem::path& path, const CsvDialect& dialect,
                              const std::vector<std::string>& text_columns);
WholeRows read_whole_json_lines(const std::filesystem::path& path,
                                const std::vector<std::string>& text_columns);
// Batches up to the first that is damaged. None where not even the first can be read.
std::optional<WholeRows> read_whole_batches(const std::filesystem::path& path);

}  // namespace stoker
