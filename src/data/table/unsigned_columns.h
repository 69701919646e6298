#pragma once

#include <memory>
#include <string>
#include <vector>

namespace arrow {
class ChunkedArray;
class Table;
}  // namespace arrow

// Whole numbers from 2^63 to 2^64, as hashes and identifiers are. Arrow's reader of CSV knows no such column
// and makes them doubles, which takes neighbours for the same number.
namespace stoker {

// Columns of doubles that may have been such numbers.
std::vector<std::string> columns_that_may_be_unsigned(const arrow::Table& table);

// The column as uint64; null when one of its texts is no such number.
std::shared_ptr<arrow::ChunkedArray> as_unsigned(const std::shared_ptr<arrow::ChunkedArray>& texts);

// Columns of whole numbers so long that not even 64 bits hold them, read as real numbers.
std::vector<std::string> columns_with_lost_digits(const arrow::Table& table);

}  // namespace stoker
