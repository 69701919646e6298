#pragma once

#include <cstdint>

namespace stoker::kernels {

struct StatisticsWork {
  const float* values = nullptr;  // [rows, columns], where the device can read them
  const float* mask = nullptr;    // [rows]: rows with a 0 do not count; null: all do
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool with_products = false;
};

}  // namespace stoker::kernels
