#include "fused/cuda/own_stream.h"

#include "fused/cuda/device_memory.h"

namespace stoker::fused {

OwnStream::OwnStream(Device device) {
  check(cudaSetDevice(device.index), "choosing a GPU");
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
}

OwnStream::~OwnStream() {
  cudaStreamDestroy(stream_);
}

void OwnStream::wait() const {
  ++wait_count;
  check(cudaStreamSynchronize(stream_), "training");
}

}  // namespace stoker::fused
