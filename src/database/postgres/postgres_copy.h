#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "database/columns.h"
#include "database/postgres/postgres_types.h"

namespace stoker::database {

// Takes what COPY … TO STDOUT (FORMAT binary) sends, row by row, straight into columns.
class CopyDecoder {
 public:
  // One type for each form.
  CopyDecoder(const std::vector<ColumnForm>& forms, std::vector<PostgresType> types);

  // One message of the server, which holds whole rows. Throws RowProblem for a value that cannot be taken,
  // and refuses what is no such stream.
  void take(std::string_view message);

  bool is_at_end() const { return at_end_; }
  std::int64_t rows() const { return writer_.rows(); }
  std::vector<Block> finish() { return writer_.finish(); }

 private:
  std::string_view after_header(std::string_view message);
  const char* take_row(const char* at, const char* end);
  void take_value(std::size_t column, std::string_view bytes);
  void take_array(std::size_t column, std::string_view bytes);
  [[noreturn]] void refuse_value(std::size_t column, const char* problem) const;

  std::vector<ColumnForm> forms_;
  std::vector<PostgresType> types_;
  RowWriter writer_;
  std::vector<std::int64_t> shape_;  // of the array at hand
  bool has_header_ = false;
  bool at_end_ = false;
};

}  // namespace stoker::database
