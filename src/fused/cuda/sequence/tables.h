#pragma once

#include <cstdint>
#include <vector>

#include "fused/cuda/device_memory.h"
#include "fused/cuda/sequence/kernel_set.h"
#include "fused/cuda/sequence/pack.h"
#include "fused/cuda/sequence/weight_gradients.h"

// What kernels of sequence networks read from tables: which weights are packed how, and which gradients are
// made of what.
namespace stoker::fused::sequence {

// Device memory that lives as long as its owner.
class Room {
 public:
  explicit Room(Device device) : device_(device) {}

  template <class T>
  T* take(std::int64_t count) {
    arrays_.push_back(device_memory<T>(static_cast<std::size_t>(count), device_, nullptr));
    check(cudaStreamSynchronize(nullptr), "clearing device memory");
    return pointer<T>(arrays_.back());
  }
  template <class T>
  const T* take_copy(const std::vector<T>& values) {
    T* to = take<T>(static_cast<std::int64_t>(values.size()));
    check(cudaMemcpy(to, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
          "copying to the GPU");
    check(cudaStreamSynchronize(nullptr), "copying to the GPU");  // which cudaMemcpy need not
    return to;
  }
  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const Array& each : arrays_) sum += each.bytes();
    return sum;
  }

 private:
  Device device_;
  std::vector<Array> arrays_;
};

// A matrix of the network: [m, k] as PyTorch keeps a linear layer's weight.
struct Matrix {
  std::int64_t offset = 0;
  int m = 0;
  int k = 0;
};

// Weights in the order in which passes take them.
class Packing {
 public:
  // As the left factor of products, `m_tiles` of 16 x 16 by `k_tiles`; returns the first fragment.
  std::int64_t add(const Matrix& matrix, bool transposed, PackOrder order, int k_tiles = 0);
  // Makes room for the fragments; `parameters` are where they are read from.
  void finish(const float* parameters, Room& room);
  const char* at(std::int64_t fragment) const;
  void run(const Launch& launch, Stream stream) const;

 private:
  std::vector<PackedMatrix> matrices_;
  std::int64_t fragments_ = 0;
  PackWork work_{};
};

// Rows of bfloat16 that a gradient is made of.
struct RowsOf {
  const unsigned short* rows = nullptr;
  int pitch = 0;
};

class GradientTables {
 public:
  // The gradient of a matrix [m, k] at `to`: d is that of the product's result, x what was multiplied.
  void add_product(const RowsOf& d, const RowsOf& x, std::int64_t rows, float* to, int m, int k);
  // The sum over the blocks' rows of parts; columns from `from` on go to flat[to] and behind.
  void begin_sums(const float* parts, int blocks, int pitch);
  void add_sum(int from, std::int64_t to, int count);
  void finish(float* flat, Room& room);
  void run(const Launch& launch, Stream stream) const;

 private:
  struct Sums {
    PartialSums work;
    std::vector<int> from;
    std::vector<int> to;
  };
  std::vector<GradientTile> tiles_;
  std::vector<Sums> sums_;
  GradientWork work_{};
  unsigned blocks_ = 0;
};

}  // namespace stoker::fused::sequence
