#include "data/placement/dataset.h"

#include "base/error.h"

namespace stoker {

ArraySpec table_features(DType type, std::int64_t columns) {
  return {"features", Role::features, type, {columns}, {}};
}

Shape DatasetArray::row_shape() const {
  Shape shape = array.shape();
  if (!shape.empty()) shape.erase(shape.begin());
  if (has_windows()) shape.insert(shape.begin(), length);
  return shape;
}

const DatasetArray* Dataset::find(std::string_view name) const {
  for (const DatasetArray& part : arrays) {
    if (part.name == name) return &part;
  }
  return nullptr;
}

const Array* Dataset::find(Role role) const {
  for (const DatasetArray& part : arrays) {
    if (part.role == role) return &part.array;
  }
  return nullptr;
}

const Array& Dataset::features() const {
  const Array* found = find(Role::features);
  if (found == nullptr) fail("the dataset has no features");
  return *found;
}

const Array& Dataset::targets() const {
  const Array* found = find(Role::targets);
  if (found == nullptr) fail("the dataset has no targets");
  return *found;
}

std::size_t Dataset::bytes() const {
  std::size_t sum = 0;
  for (const DatasetArray& part : arrays) sum += part.array.bytes() + part.starts.bytes();
  return sum;
}

}  // namespace stoker
