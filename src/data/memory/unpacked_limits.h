#pragma once

#include <cstdint>
#include <string>

#include <arrow/type_fwd.h>

// What a file may take in memory, so that a small packed file cannot take all there is; for the .cpp files of
// this room.
namespace stoker {

// Far more than a model can use, and few enough to be named and described within seconds.
constexpr std::int64_t most_columns_of_table = 1'000'000;
void refuse_too_many_columns(std::int64_t columns, const std::string& name);

// Few honest files are packed so well that their rows take 512 times the file. Small results are always
// allowed.
std::uint64_t most_bytes_of_rows(std::uint64_t file_bytes);
arrow::Status takes_too_much(std::uint64_t limit);

// Memory of a pool up to a limit, beyond which allocations fail with takes_too_much(). Lives as long as the
// program, because tables are freed into it.
arrow::MemoryPool* bounded_memory(arrow::MemoryPool* of, std::uint64_t limit);

// Fails if the values, written out one by one, take more than the limit. Columns that share values (text
// views, dictionaries) or have none (null columns) can have any number of rows in a few bytes. Safe for
// columns that ValidateFull() has not seen yet, as soon as Validate() has.
arrow::Status check_size_written_out(const arrow::Table& table, std::uint64_t limit);

// The same rule as for archives of cubes, whose directory says how large everything is. Deflate packs zeros a
// thousand times; measured cubes, at most ten.
void refuse_if_packed_too_well(std::uint64_t unpacked, std::uint64_t packed, const std::string& shown);

}  // namespace stoker
