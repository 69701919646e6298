#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/device_info.h"

struct CUstream_st;  // cudaStream_t is a pointer to it

// What the rest of the room needs of CUDA. cuda.cpp has it, no_cuda.cpp says what is missing.
namespace stoker::cuda {

// GPUs, or an empty list and the reason.
std::vector<DeviceInfo> devices(std::string& none_because);

// Where a GPU stands on the bus, "0000:0F:00.0"; empty where that is not known.
std::string bus_place(int device);

std::byte* allocate(std::size_t bytes, int device);  // throws OutOfMemory
void release(std::byte* pointer, int device) noexcept;
// For what a call throws away when it is done: the process keeps some of it, so that the next need not ask
// the driver.
std::byte* allocate_for_now(std::size_t bytes, int device, CUstream_st* stream);  // throws OutOfMemory
void release_for_now(std::byte* pointer, int device, CUstream_st* stream) noexcept;
std::byte* allocate_pinned(std::size_t bytes);  // throws OutOfMemory
void release_pinned(std::byte* pointer) noexcept;
void copy(void* target, const void* source, std::size_t bytes, int device);  // any direction; waits

}  // namespace stoker::cuda
