#pragma once

#include "device/device.h"
#include "kernels/launch.h"

namespace stoker::fused {

// A stream of its own on a device; work in it is waited for at the end of every chunk.
class OwnStream {
 public:
  explicit OwnStream(Device device);
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  ~OwnStream();
  kernels::Stream get() const { return stream_; }
  void wait() const;

 private:
  kernels::Stream stream_ = nullptr;
};

}  // namespace stoker::fused
