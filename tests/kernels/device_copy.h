#pragma once

#include <cstring>
#include <functional>
#include <optional>
#include <vector>

#include "device/array.h"

// For comparing a CUDA kernel with its CPU twin: host values sent to the GPU and fetched back.
namespace stoker::test {

inline std::optional<Device> first_gpu() {
  for (const DeviceInfo& info : list_devices().devices) {
    if (info.device.is_cuda()) return info.device;
  }
  return std::nullopt;
}

class DeviceCopy {
 public:
  explicit DeviceCopy(Device gpu) : gpu_(gpu) {}

  // `pointer` is set to a copy of the values where the GPU reads them.
  template <class T>
  void send(const T*& pointer, const std::vector<T>& values, Memory memory) {
    pointer = static_cast<const T*>(place(values.data(), values.size() * sizeof(T), memory).data());
  }

  // The same, and fetch() brings back what the GPU wrote.
  template <class T>
  void share(T*& pointer, std::vector<T>& values) {
    pointer = static_cast<T*>(share_bytes(values.data(), values.size() * sizeof(T)));
  }
  template <class T>
  void share_one(T*& pointer, T& value) {
    pointer = static_cast<T*>(share_bytes(&value, sizeof(T)));
  }

  void fetch() const {
    for (const auto& bring : fetches_) bring();
  }

 private:
  Array& place(const void* values, std::size_t bytes, Memory memory) {
    Array host(DType::uint8, {static_cast<std::int64_t>(bytes)});
    host.copy_from_host(values, bytes);
    arrays_.push_back(host.to(memory, gpu_));
    return arrays_.back();
  }

  void* share_bytes(void* values, std::size_t bytes) {
    Array array = place(values, bytes, Memory::device);
    fetches_.push_back([array, values, bytes] { std::memcpy(values, array.to_host().data(), bytes); });
    return array.data();
  }

  Device gpu_;
  std::vector<Array> arrays_;
  std::vector<std::function<void()>> fetches_;
};

}  // namespace stoker::test
