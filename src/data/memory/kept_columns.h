#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

namespace arrow {
class RecordBatch;
class Schema;
class Table;
}  // namespace arrow

// Columns that lie in a file and come into memory one at a time, each for as long as somebody holds it. A
// large table is looked at column by column, and what is trained on is a copy in other numbers: there is no
// need for all of it to be there twice.
namespace stoker {

// Whether the columns of a table come when they are asked for.
bool come_when_asked_for(const arrow::Table& columns);
// Each column that is asked for costs a look at all of them, so those of wide tables come at once.
constexpr int most_kept_columns = 256;
// Memory that was freed goes back to the system, which allocators put off.
void give_back_unused_memory();
// All columns at once, for who writes rows.
std::shared_ptr<arrow::Table> in_memory(const std::shared_ptr<arrow::Table>& columns);

// Columns of an Arrow IPC file. It stays open, so that it may be removed.
std::shared_ptr<arrow::Table> columns_in_file(const std::filesystem::path& path);
// Some of the columns, by their positions; those that come when they are asked for still do.
std::shared_ptr<arrow::Table> chosen_columns(const std::shared_ptr<arrow::Table>& columns,
                                             const std::vector<int>& positions);
// Those rows of columns that come when they are asked for.
std::shared_ptr<arrow::Table> selected_rows(std::shared_ptr<arrow::Table> columns,
                                            std::shared_ptr<const std::vector<std::int64_t>> rows);

// Rows behind each other, up to the one before `end`.
struct RangeOfRows {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
};
// Of each column the rows of these ranges, seen where they lie and not copied, unless the ranges are many.
std::shared_ptr<arrow::Table> ranges_of_rows(const std::shared_ptr<arrow::Table>& columns,
                                             std::vector<RangeOfRows> ranges);

// Whether they are rows of one file in its order, all of them or some.
bool come_in_batches(const arrow::Table& columns);
// Rows of such columns piece by piece, so that they are not all in memory: the next one at each call, null
// behind the last. The columns must live as long.
std::function<std::shared_ptr<arrow::RecordBatch>()> batches_of(const arrow::Table& columns);
void each_batch(const arrow::Table& columns,
                const std::function<void(const std::shared_ptr<arrow::RecordBatch>&)>& take);

}  // namespace stoker
