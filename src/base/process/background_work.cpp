#include "base/process/background_work.h"

#include <chrono>
#include <memory>
#include <system_error>
#include <utility>

namespace stoker {

bool BackgroundWork::is_under_way() const {
  return running_.valid() && running_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
}

void BackgroundWork::begin(std::function<void()> work) {
  wait();
  const auto shared = std::make_shared<const std::function<void()>>(std::move(work));
  try {
    running_ = std::async(std::launch::async, [shared] { (*shared)(); });
  } catch (const std::system_error&) {
    (*shared)();
  }
}

void BackgroundWork::wait() {
  if (running_.valid()) running_.get();
}

}  // namespace stoker
