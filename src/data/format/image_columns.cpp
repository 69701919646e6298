#include "data/format/image_columns.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <numeric>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <fmt/format.h>

#include "data/memory/arrow_result.h"
#include "data/memory/page_memory.h"

namespace stoker {
namespace {

template <std::size_t bytes>
void lay_elements(const std::uint8_t* rows, std::int64_t count, std::int64_t first,
                  const std::vector<std::uint8_t*>& columns) {
  const std::size_t row_bytes = columns.size() * bytes;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const std::uint8_t* source = rows + c * bytes;
    std::uint8_t* target = columns[c] + static_cast<std::size_t>(first) * bytes;
    for (std::int64_t row = 0; row < count; ++row, source += row_bytes, target += bytes) {
      std::memcpy(target, source, bytes);
      if constexpr (bytes > 1 && std::endian::native == std::endian::little)
        std::reverse(target, target + bytes);
    }
  }
}

std::shared_ptr<arrow::Buffer> room_of(std::int64_t bytes) {
  return or_fail(arrow::AllocateBuffer(bytes, page_memory()), "reading images");
}

}  // namespace

ImageColumns::ImageColumns(std::int64_t rows, std::vector<std::int64_t> sizes, Element pixel, Element label)
    : rows_(rows), sizes_(std::move(sizes)), pixel_(std::move(pixel)), label_(std::move(label)) {
  const std::int64_t count =
      std::accumulate(sizes_.begin(), sizes_.end(), std::int64_t{1}, std::multiplies<>());
  for (std::int64_t i = 0; i < count; ++i) pixels_.push_back(room_of(rows * pixel_.bytes));
  labels_ = room_of(rows * label_.bytes);
}

std::vector<std::uint8_t*> ImageColumns::pixels_from(std::int64_t row) const {
  std::vector<std::uint8_t*> places;
  for (const auto& each : pixels_) places.push_back(each->mutable_data() + row * pixel_.bytes);
  return places;
}

std::vector<std::uint8_t*> ImageColumns::labels_from(std::int64_t row) const {
  return {labels_->mutable_data() + row * label_.bytes};
}

std::vector<std::string> ImageColumns::names() const {
  std::vector<std::string> names{"pixel"};
  for (const std::int64_t size : sizes_) {
    std::vector<std::string> longer;
    for (const std::string& each : names)
      for (std::int64_t place = 0; place < size; ++place) longer.push_back(fmt::format("{}_{}", each, place));
    names = std::move(longer);
  }
  return names;
}

Table ImageColumns::table() const {
  arrow::FieldVector fields;
  arrow::ArrayVector columns;
  const auto add = [&](const std::string& name, const Element& element,
                       const std::shared_ptr<arrow::Buffer>& values) {
    fields.push_back(arrow::field(name, element.type));
    columns.push_back(arrow::MakeArray(arrow::ArrayData::Make(element.type, rows_, {nullptr, values}, 0)));
  };
  const std::vector<std::string> of_pixels = names();
  for (std::size_t i = 0; i < of_pixels.size(); ++i) add(of_pixels[i], pixel_, pixels_[i]);
  add("label", label_, labels_);
  return {arrow::Table::Make(arrow::schema(fields), columns, rows_)};
}

void lay_in_columns(const std::uint8_t* rows, std::int64_t element_bytes, std::int64_t count,
                    std::int64_t first, const std::vector<std::uint8_t*>& columns) {
  switch (element_bytes) {
    case 1:
      return lay_elements<1>(rows, count, first, columns);
    case 2:
      return lay_elements<2>(rows, count, first, columns);
    case 4:
      return lay_elements<4>(rows, count, first, columns);
    default:
      return lay_elements<8>(rows, count, first, columns);
  }
}

}  // namespace stoker
