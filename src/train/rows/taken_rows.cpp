#include "train/rows/taken_rows.h"

#include <cstddef>
#include <cstring>
#include <iterator>

namespace stoker {

Array taken_rows(const Array& array, std::span<const std::int64_t> rows) {
  const Array host = array.to_host();
  Shape shape = host.shape();
  const std::size_t bytes = shape.front() == 0 ? 0 : host.bytes() / static_cast<std::size_t>(shape.front());
  shape.front() = std::ssize(rows);
  Array taken(host.type(), shape);
  auto* to = static_cast<std::byte*>(taken.data());
  const auto* from = static_cast<const std::byte*>(host.data());
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::memcpy(to + i * bytes, from + static_cast<std::size_t>(rows[i]) * bytes, bytes);
  return taken;
}

}  // namespace stoker
