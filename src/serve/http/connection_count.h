#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "serve/http/server_limits.h"

namespace stoker::serve {

// How many connections there are, and whose.
class ConnectionCount {
 public:
  bool has_room_for(const std::string& address, const ServerLimits& limits) const {
    const auto found = by_address_.find(address);
    return all_ < limits.connections &&
           (found == by_address_.end() || found->second < limits.connections_of_an_address);
  }
  void enter(const std::string& address) {
    ++by_address_[address];
    ++all_;
  }
  void leave(const std::string& address) {
    --all_;
    if (--by_address_[address] == 0) by_address_.erase(address);
  }
  std::size_t all() const { return all_; }

 private:
  std::atomic<std::size_t> all_ = 0;
  std::map<std::string, std::size_t> by_address_;
};

// One of them is there for as long as this is, however its conversation ends.
class Visit {
 public:
  Visit(ConnectionCount& counter, std::string address) : counter_(&counter), address_(std::move(address)) {
    counter.enter(address_);
  }
  Visit(Visit&& other) noexcept
      : counter_(std::exchange(other.counter_, nullptr)), address_(std::move(other.address_)) {}
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  ~Visit() {
    if (counter_ != nullptr) counter_->leave(address_);
  }
  const std::string& address() const { return address_; }

 private:
  ConnectionCount* counter_;
  std::string address_;
};

}  // namespace stoker::serve
