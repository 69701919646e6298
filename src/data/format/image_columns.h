#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/table/table.h"

namespace arrow {
class Buffer;
class DataType;
}  // namespace arrow

// Images as a table: a column for each pixel, pixel_0_0, pixel_0_1, … (array_columns.h), then `label`.
namespace stoker {

class ImageColumns {
 public:
  struct Element {
    std::shared_ptr<arrow::DataType> type;
    std::int64_t bytes = 0;
  };
  // Room for so many rows; `sizes` are those of one image.
  ImageColumns(std::int64_t rows, std::vector<std::int64_t> sizes, Element pixel, Element label);

  // Where the values of that row belong, one place for each column.
  std::vector<std::uint8_t*> pixels_from(std::int64_t row) const;
  std::vector<std::uint8_t*> labels_from(std::int64_t row) const;
  Table table() const;  // once all of it has values

 private:
  std::vector<std::string> names() const;

  std::int64_t rows_;
  std::vector<std::int64_t> sizes_;
  Element pixel_;
  Element label_;
  std::vector<std::shared_ptr<arrow::Buffer>> pixels_;
  std::shared_ptr<arrow::Buffer> labels_;
};

// Rows that lie one behind the other, the highest byte of an element first, into columns from row `first` on.
void lay_in_columns(const std::uint8_t* rows, std::int64_t element_bytes, std::int64_t count,
                    std::int64_t first, const std::vector<std::uint8_t*>& columns);

}  // namespace stoker
