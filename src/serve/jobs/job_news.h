#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace stoker::serve {

// Tells those who listen to a job that its record has changed, so that none of them asks the store for
// nothing.
class JobNews {
 public:
  using Changes = std::shared_ptr<const std::atomic<std::uint64_t>>;

  // A number that grows with each change from here on.
  Changes listen(const std::string& id) {
    const std::lock_guard lock(mutex_);
    std::erase_if(counts_, [](const auto& each) { return each.second.expired(); });
    auto count = counts_[id].lock();
    if (!count) counts_[id] = count = std::make_shared<std::atomic<std::uint64_t>>(0);
    return count;
  }
  void tell(const std::string& id) {
    const std::lock_guard lock(mutex_);
    const auto found = counts_.find(id);
    if (found == counts_.end()) return;
    if (const auto count = found->second.lock()) ++*count;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<std::atomic<std::uint64_t>>> counts_;
};

}  // namespace stoker::serve
