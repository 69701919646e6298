#pragma once

#include <cstdint>

// Products of tall matrices, one row for each pixel, with small ones: with the widest vectors that the CPU
// has, on one core.
namespace stoker::kernels {

// A matrix as it lies in memory. Those with a row for each pixel have their columns side by side.
struct MatrixThere {
  const float* values = nullptr;
  std::int64_t row_step = 0;
  std::int64_t column_step = 1;
};

// target [rows, columns] = left [rows, inner] · right [inner, columns]
struct PixelProduct {
  std::int64_t rows = 0;
  std::int64_t inner = 0;
  std::int64_t columns = 0;
  MatrixThere left;
  MatrixThere right;
  float* target = nullptr;
  std::int64_t target_step = 0;  // from row to row
};
void multiply_pixels(const PixelProduct& work);

// target [left columns, right columns] += leftᵀ · right, both with a row for each pixel
struct CrossedProduct {
  std::int64_t pixels = 0;
  std::int64_t left_columns = 0;
  std::int64_t right_columns = 0;
  MatrixThere left;
  MatrixThere right;
  float* target = nullptr;
  std::int64_t target_step = 0;
};
void add_crossed_products(const CrossedProduct& work);

// The loops for one instruction set, for tests; those above take the last of them.
struct PixelLoops {
  const char* name;
  void (*multiply)(const PixelProduct& work);
  void (*add_crossed)(const CrossedProduct& work);
};
struct AllPixelLoops {
  PixelLoops loops[3];
  int count = 0;
};
AllPixelLoops pixel_loops_here();

}  // namespace stoker::kernels
