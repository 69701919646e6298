#pragma once

#include <memory>

#include "model/restructuring.h"

namespace stoker {

// An engine whose structure can be changed where it lies, beside state() and restore(), which would bring all
// of it to the host and back.
class EditsInPlace {
 public:
  virtual ~EditsInPlace() = default;
  // For one edit, between two chunks; null where it cannot be. What was changed is part of the state from
  // then on.
  virtual std::unique_ptr<StructureHandle> structure() = 0;
};

}  // namespace stoker
