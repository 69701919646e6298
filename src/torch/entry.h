#pragma once

#include <cstddef>

#include "engine/engine.h"

// What libstoker_torch.so shows to the door: one function under this name, without C++'s decoration.
namespace stoker::torch_door {

struct Library {
  const EngineMaker* makers = nullptr;
  std::size_t maker_count = 0;
  const char* version = nullptr;
  void (*limit_cpu_threads)(int most) = nullptr;
  int (*cpu_threads)() = nullptr;
  Array (*outputs)(const Network& network, const NamedArrays& parameters, const Dataset& data,
                   std::int64_t first, std::int64_t count, Device device) = nullptr;
  std::int64_t (*multiply_matrices)(std::int64_t times, int threads) = nullptr;
};

using OpenLibrary = const Library* (*)();
inline constexpr const char* open_library_name = "stoker_open_torch";

}  // namespace stoker::torch_door
