#include "torch/tensors.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#include <ATen/ops/from_blob.h>

#include "base/text/text.h"

namespace stoker::torch_door {
namespace {

at::ScalarType scalar_type(DType type) {
  switch (type) {
    case DType::float32:
      return at::kFloat;
    case DType::float64:
      return at::kDouble;
    case DType::int32:
      return at::kInt;
    case DType::int64:
      return at::kLong;
    case DType::uint8:
      return at::kByte;
  }
  fail("an array of an unknown type");
}

DType array_type(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return DType::float32;
    case at::kDouble:
      return DType::float64;
    case at::kInt:
      return DType::int32;
    case at::kLong:
      return DType::int64;
    case at::kByte:
      return DType::uint8;
    default:
      fail("a tensor of type {} has no counterpart among arrays", c10::toString(type));
  }
}

}  // namespace

bool tells_of_too_little_memory(const char* message) {
  constexpr std::array<std::string_view, 4> words{"can't allocate memory", "not enough memory",
                                                  "out of memory", "ALLOC_FAILED"};
  const std::string_view text = message;
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view each) { return text.find(each) != text.npos; });
}

std::string text_of_lack(const char* message) {
  constexpr std::string_view before_bytes = "you tried to allocate ";  // of the host's allocator
  const std::string_view text = message;
  const std::size_t at = text.find(before_bytes);
  std::uint64_t bytes = 0;
  if (at != text.npos)
    std::from_chars(text.data() + at + before_bytes.size(), text.data() + text.size(), bytes);
  if (bytes == 0) return "out of memory";
  return fmt::format("out of memory: {} could not be allocated", human_bytes(bytes));
}

at::Device torch_device(Device device) {
  if (!device.is_cuda()) return at::Device(at::kCPU);
  return {at::kCUDA, static_cast<c10::DeviceIndex>(device.index)};
}

at::TensorOptions options_of(DType type, Device device) {
  return at::TensorOptions().dtype(scalar_type(type)).device(torch_device(device));
}

at::TensorOptions floats_on(Device device) {
  return options_of(DType::float32, device);
}

at::TensorOptions doubles_on(Device device) {
  return options_of(DType::float64, device);
}

at::TensorOptions integers_on(Device device) {
  return options_of(DType::int64, device);
}

at::Tensor view_of(const Array& array) {
  const Device device = array.memory() == Memory::device ? array.device() : Device::cpu();
  const auto options = at::TensorOptions().dtype(scalar_type(array.type())).device(torch_device(device));
  // LibTorch has no tensor over constant memory; what is made here is only read.
  return at::from_blob(const_cast<void*>(array.data()), array.shape(), options);
}

Array host_array(const at::Tensor& tensor) {
  const at::Tensor copy = tensor.to(at::kCPU).contiguous();
  Array array(array_type(copy.scalar_type()), copy.sizes().vec());
  array.copy_from_host(copy.const_data_ptr(), copy.nbytes());
  return array;
}

}  // namespace stoker::torch_door
