#pragma once

#include <cstdint>

namespace stoker::fused_cpu {

// A matrix that many products of few rows share, packed once into the order in which they read it: panels of
// as many columns as an instruction set likes, each row by row. [depth, columns], columns a multiple of 16.
struct PackPanels {
  std::int64_t depth = 0;
  std::int64_t columns = 0;
  const float* matrix = nullptr;
  bool is_turned = false;  // it lies as [columns, depth]
  float* panels = nullptr;
};

// out [rows, columns] = left [rows, depth] * the packed matrix, or is added to.
struct PanelProduct {
  std::int64_t rows = 0;
  std::int64_t depth = 0;
  std::int64_t columns = 0;
  const float* left = nullptr;
  std::int64_t left_stride = 0;
  const float* panels = nullptr;
  float* out = nullptr;
  std::int64_t out_stride = 0;
  bool adds = false;
};

}  // namespace stoker::fused_cpu
