#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

namespace stoker::torch_door {

// The pieces that a training is made of.
enum class Piece { full_batch, last_batch, epoch_end };
constexpr std::size_t piece_count = 3;

using Work = std::function<void(Piece)>;

// How pieces get to the device: the only difference between the eager and the graph engine.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual void run(Piece piece, std::int64_t times) = 0;
};

// Operation by operation.
class EagerRunner : public Runner {
 public:
  explicit EagerRunner(Work work) : work_(std::move(work)) {}
  void run(Piece piece, std::int64_t times) override {
    for (std::int64_t i = 0; i < times; ++i) work_(piece);
  }

 private:
  Work work_;
};

}  // namespace stoker::torch_door
