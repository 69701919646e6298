#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace arrow {
class Table;
}

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
// Those rows of columns that come when they are asked for.
std::shared_ptr<arrow::Table> selected_rows(std::shared_ptr<arrow::Table> columns,
                                            std::shared_ptr<const std::vector<std::int64_t>> rows);

}  // namespace stoker
