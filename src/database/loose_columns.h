#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "database/columns.h"

namespace stoker::database {

// Columns of which each value may be of another kind, as SQLite has them. A column becomes whole numbers,
// real numbers where one of its values has a fraction, and text where one is text.
class LooseColumns {
 public:
  explicit LooseColumns(std::vector<std::string> names);

  void put_integer(std::size_t column, std::int64_t value);
  void put_real(std::size_t column, double value);
  void put_text(std::size_t column, std::string_view text);
  void put_missing(std::size_t column);
  void end_row();

  std::int64_t rows() const { return rows_before_ + row_; }
  // `booleans` of them hold 0 and 1 for false and true, unless there is another number.
  Rows finish(const std::vector<bool>& booleans);

 private:
  struct Column {
    ValueType type = ValueType::nothing;
    ColumnValues values = {};
    bool was_real = false;  // before it was text, if it is: whole numbers in it were rounded to real ones
  };
  struct LooseBlock {
    std::int64_t rows = 0;
    std::vector<Column> columns;
  };

  void begin_block();
  void end_block();
  void grow(Column& column) const;
  void become(Column& column, ValueType type, std::int64_t rows) const;
  template <class T>
  void put(Column& column, T value);
  void append_text(Column& column, std::int64_t row, std::string_view text) const;
  void settle_types();
  bool is_boolean(std::size_t column) const;
  void pack_booleans(std::size_t column);

  std::vector<std::string> names_;
  std::vector<Column> columns_;
  std::vector<LooseBlock> done_;
  std::int64_t row_ = 0;
  std::int64_t capacity_ = 0;
  std::int64_t rows_before_ = 0;
  bool has_full_text_ = false;
};

}  // namespace stoker::database
