#include "data/arrays/columns_first.h"

#include <algorithm>

namespace stoker {
namespace {

// Where the next number in the file belongs: the first index runs fastest there.
class PlaceOfColumns {
 public:
  explicit PlaceOfColumns(const Shape& shape) : shape_(shape), steps_(shape.size(), 1), at_(shape.size(), 0) {
    for (std::size_t i = shape.size() - 1; i-- > 0;) steps_[i] = steps_[i + 1] * shape[i + 1];
  }
  // Of the column that begins here, and from one number of it to the next.
  std::int64_t place() const { return place_; }
  std::int64_t step() const { return steps_[0]; }
  void next_column() {
    for (std::size_t i = 1; i < shape_.size(); ++i) {
      place_ += steps_[i];
      if (++at_[i] < shape_[i]) return;
      place_ -= steps_[i] * shape_[i];
      at_[i] = 0;
    }
  }

 private:
  const Shape& shape_;
  std::vector<std::int64_t> steps_, at_;
  std::int64_t place_ = 0;
};

}  // namespace

std::shared_ptr<const Array> ColumnsFirst::turned(const StoredNumbers& from) {
  const std::lock_guard lock(mutex_);
  if (rows_first_ != nullptr) return rows_first_;
  constexpr std::int64_t numbers_at_once = std::int64_t{1} << 18U;
  auto all = std::make_shared<Array>(Array::for_rows(DType::float32, shape_));
  float* const to = all->as<float>().data();
  const std::int64_t column = shape_.front();
  const std::int64_t columns = all->size() / column;
  const std::int64_t at_once = std::clamp<std::int64_t>(numbers_at_once / column, 1, columns);
  std::vector<float> part(static_cast<std::size_t>(at_once * column));
  PlaceOfColumns place(shape_);
  for (std::int64_t first = 0; first < columns; first += at_once) {
    const std::int64_t now = std::min(at_once, columns - first);
    read_numbers(from, first * column, now * column, part.data());
    for (std::int64_t i = 0; i < now; ++i, place.next_column())
      for (std::int64_t row = 0; row < column; ++row)
        to[place.place() + row * place.step()] = part[static_cast<std::size_t>(i * column + row)];
  }
  rows_first_ = all;
  left_ = column;
  return all;
}

void ColumnsFirst::read(const StoredNumbers& from, std::int64_t first, std::int64_t count, float* to) {
  const std::shared_ptr<const Array> all = turned(from);
  const std::int64_t slice = size_of_slice(shape_);
  std::copy_n(all->as<float>().data() + first * slice, count * slice, to);
  const std::lock_guard lock(mutex_);
  left_ -= count;
  if (left_ <= 0) rows_first_.reset();
}

}  // namespace stoker
