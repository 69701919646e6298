#pragma once

#include <exception>
#include <string>

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include "base/error.h"
#include "device/array.h"

// Arrays on our side of the door, tensors on LibTorch's.
namespace stoker::torch_door {

at::Device torch_device(Device device);
at::TensorOptions options_of(DType type, Device device);
at::TensorOptions floats_on(Device device);
at::TensorOptions doubles_on(Device device);
at::TensorOptions integers_on(Device device);

// A tensor over the array's memory. Pinned memory is the host's; the array must outlive the tensor.
at::Tensor view_of(const Array& array);

// A copy on the host; waits for the device.
Array host_array(const at::Tensor& tensor);

// What LibTorch says where an allocation failed, which is not always an error of its own kind: the host's
// allocator and cuBLAS tell it in words.
bool tells_of_too_little_memory(const char* message);

// The same for people: "out of memory: 1.5 GiB could not be allocated", where the message says how much was
// asked for.
std::string text_of_lack(const char* message);

// Runs work and turns LibTorch's errors into the program's.
template <class Work>
auto translated(const char* what, Work&& work) {
  try {
    return work();
  } catch (const Error&) {
    throw;
  } catch (const c10::OutOfMemoryError& error) {
    throw OutOfMemory(fmt::format("{}: the GPU ran out of memory: {}", what, error.what_without_backtrace()));
  } catch (const c10::AcceleratorError& error) {
    if (tells_of_too_little_memory(error.what_without_backtrace()))
      throw OutOfMemory(
          fmt::format("{}: the GPU ran out of memory: {}", what, error.what_without_backtrace()));
    throw Error(ExitCode::run_failed, fmt::format("{}: LibTorch: {}", what, error.what_without_backtrace()),
                Cause::machine);
  } catch (const c10::Error& error) {
    if (tells_of_too_little_memory(error.what_without_backtrace()))
      throw OutOfMemory(fmt::format("{}: {}", what, text_of_lack(error.what_without_backtrace())));
    fail("{}: LibTorch: {}", what, error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(fmt::format("{}: the host ran out of memory", what));
  } catch (const std::exception& error) {
    fail("{}: {}", what, error.what());
  }
}

}  // namespace stoker::torch_door
