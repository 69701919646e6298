#pragma once

#include <functional>
#include <memory>

#include "store/records.h"

namespace stoker {

// Held by the service that works with a store, from its start until its process ends, however it ends. In
// PostgreSQL it is an advisory lock of a connection of its own, for SQLite a lock on a file next to the
// store.
class ServiceLock {
 public:
  // Null if another service holds it.
  static std::unique_ptr<ServiceLock> take(Records& records);
  virtual ~ServiceLock() = default;

  // To be called from another thread if another service has taken the lock meanwhile, which happens only
  // after a lost connection.
  virtual void when_lost(std::function<void()> lost) = 0;
};

}  // namespace stoker
