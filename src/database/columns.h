#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// Rows as a database gives them, column by column: each value lies where it stays, in the layout of Arrow,
// so that a table is made of them without a copy.
namespace stoker::database {

enum class ValueType : std::uint8_t {
  boolean,  // one byte each
  int16,
  int32,
  int64,
  float32,
  float64,
  date,        // int32, days since 1970
  time,        // int64, microseconds since midnight
  moment,      // int64, microseconds since 1970, of no zone
  utc_moment,  // the same, in UTC
  text,
  nothing  // where no value has shown what they are
};

std::size_t bytes_of(ValueType type);  // of one value; 0 of text and nothing

// Whole pages of memory that grow without being copied, and go back to the system when they are freed. Where
// the host has not enough, pages of a file (device/row_memory.h).
class Pages {
 public:
  Pages() = default;
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;
  ~Pages() = default;

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  void resize(std::size_t bytes);  // what is new is zero; not where somebody holds the memory
  // For who reads them longer than they are here.
  std::shared_ptr<const void> held() const { return memory_; }

 private:
  struct Memory;
  void move_to_file(std::size_t bytes);

  std::shared_ptr<Memory> memory_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

struct ColumnForm {
  std::string name;
  ValueType type = ValueType::float64;
  bool is_array = false;
};

// The values of one column in a block of rows.
struct ColumnValues {
  Pages values;                     // text: where each ends, int32, behind a first 0
  Pages text;                       // the bytes of a column of text
  std::size_t text_bytes = 0;       // that are used of them
  Pages present;                    // a bit for each value, from the lowest on; none while none is missing
  std::int64_t missing = 0;         // values
  std::vector<std::int64_t> shape;  // of each array; empty while no row has shown it
  std::int64_t width = 1;           // values to a row
  std::int64_t shape_row = -1;      // of the block, that showed it
};

// Rows one behind the other. A block ends where a text would outgrow 32-bit places, and where a reader says
// so: blocks are let go one by one, by whoever is done with their rows.
struct Block {
  std::int64_t rows = 0;
  std::vector<ColumnValues> columns;
};

struct Rows {
  std::vector<ColumnForm> forms;
  std::vector<Block> blocks;

  std::int64_t rows() const;
};

// A row that cannot be taken; the row counts from 0 in what its connection reads, since the rows before that
// are known only at the end.
struct RowProblem {
  std::int64_t row = 0;
  std::string message;  // goes on from "row 7: "
};

// Of a table, which is gone through from its first row to its last.
inline constexpr std::int64_t rows_of_a_block = std::int64_t{1} << 16;

// Fills blocks row by row: every column gets one value for each row, then end_row().
class RowWriter {
 public:
  static constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
  explicit RowWriter(const std::vector<ColumnForm>& forms, std::int64_t most_rows_of_a_block = no_limit);

  // Where a value of a fixed size goes.
  std::byte* place(std::size_t column) {
    const Target& target = targets_[column];
    return target.data + row_ * target.stride;
  }
  void put_text(std::size_t column, std::string_view text);
  void put_missing(std::size_t column);
  // For all values of an array, each of the size of the column's type. Throws RowProblem where the rows
  // before have another shape.
  std::byte* place_array(std::size_t column, const std::vector<std::int64_t>& shape);
  void put_missing_in_array(std::size_t column, std::int64_t at);
  void end_row() {
    ++row_;
    if (row_ == capacity_ || has_full_text_) make_room();
  }

  std::int64_t rows() const { return rows_before_ + row_; }
  std::vector<Block> finish();

 private:
  struct Target {
    std::byte* data = nullptr;
    std::int64_t stride = 0;
  };
  void begin_block();
  void end_block();
  void make_room();
  void lay_out(std::size_t column);
  void set_missing(std::size_t column, std::int64_t first, std::int64_t count);

  std::vector<ColumnForm> forms_;
  std::int64_t most_rows_;
  std::vector<Target> targets_;
  std::vector<Block> done_;
  Block block_;
  std::int64_t row_ = 0;
  std::int64_t capacity_ = 0;
  std::int64_t rows_before_ = 0;
  bool has_full_text_ = false;
};

// Arrays must have one shape in all blocks; blocks with nothing but missing arrays get that of the others.
// Throws RowProblem.
void settle_shapes(Rows& rows);

std::uint64_t bytes_of(const Rows& rows);  // in memory

// SHA-256 of names, types and values, whatever the blocks are.
std::string hash_of(const Rows& rows);

}  // namespace stoker::database
