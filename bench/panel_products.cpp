// How many multiply-adds a second products with packed panels do (fused/cpu/panel_pass.h), on one core. For
// the instruction set of the machine's baseline, with the options of src/fused/CMakeLists.txt:
//   g++ -std=c++20 -O3 -ffp-contract=fast -fno-math-errno -fno-trapping-math -fno-schedule-insns -Isrc
//     bench/panel_products.cpp src/fused/cpu/kernels_baseline.cpp -o /tmp/panel_products &&
//     /tmp/panel_products
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <vector>

#include "fused/cpu/step.h"

namespace {

using namespace stoker::fused_cpu;

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::vector<float> filled(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 17) / 17.0F - 0.5F;
  return values;
}

// The least of some runs of about a millisecond.
double seconds_of(const PanelProduct& product, std::int64_t work) {
  const std::int64_t times = 20'000'000 / work + 1;
  double least = 1e9;
  for (int run = 0; run < 25; ++run) {
    const double start = processor_seconds();
    for (std::int64_t i = 0; i < times; ++i) kernels_baseline().multiply_panels(product);
    least = std::min(least, (processor_seconds() - start) / static_cast<double>(times));
  }
  return least;
}

}  // namespace

int main() {
  struct Shape {
    std::int64_t rows, depth, columns;
  };
  for (const Shape& shape :
       {Shape{16, 128, 512}, Shape{16, 512, 128}, Shape{160, 128, 128}, Shape{160, 128, 384},
        Shape{160, 128, 512}, Shape{160, 384, 128}, Shape{160, 512, 128}}) {
    const std::vector<float> matrix = filled(shape.depth * shape.columns);
    const std::vector<float> left = filled(shape.rows * shape.depth);
    std::vector<float> panels(matrix.size());
    std::vector<float> out(static_cast<std::size_t>(shape.rows * shape.columns));
    kernels_baseline().pack_panels({shape.depth, shape.columns, matrix.data(), false, panels.data()});
    const std::int64_t work = shape.rows * shape.depth * shape.columns;
    const double seconds = seconds_of({shape.rows, shape.depth, shape.columns, left.data(), shape.depth,
                                       panels.data(), out.data(), shape.columns, false},
                                      work);
    std::printf("%3d rows by %d x %d: %.1f thousand million multiply-adds a second\n",
                static_cast<int>(shape.rows), static_cast<int>(shape.depth), static_cast<int>(shape.columns),
                1e-9 * static_cast<double>(work) / seconds);
  }
}
