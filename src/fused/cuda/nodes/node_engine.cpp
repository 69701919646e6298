#include "fused/cuda/nodes/node_engine.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "data/cubes/cube_rows.h"
#include "fused/cpu/nodes/node_engine.h"
#include "fused/cuda/device_memory.h"
#include "fused/cuda/nodes/cubes_on_gpu.h"
#include "fused/cuda/own_stream.h"
#include "kernels/quadratic_scores.h"

namespace stoker::fused::cubes {
namespace {

using stoker::nodes::FusedStep;
using stoker::nodes::PixelsOfBatch;
using stoker::nodes::Stage;
using stoker::nodes::States;

// What is trained is small and stays with the host; of a step, its matrix goes to the GPU and its sums come
// back.
class NodeEngineOnGpu final : public fused_cpu::NodeEngine {
 public:
  explicit NodeEngineOnGpu(const EngineRequest& request)
      : NodeEngine(request),
        stream_(request.device),
        training_cubes_(node_network(), request_.training, request_, stream_.get()) {
    if (has_validation_)
      validation_cubes_.emplace(node_network(), request_.validation, request_, stream_.get());
    stream_.wait();
  }

  MemoryUse memory() const override {
    std::uint64_t bytes = parts_.bytes() + numbers_.bytes() + training_cubes_.bytes_brought();
    if (validation_cubes_) bytes += validation_cubes_->bytes_brought();
    std::set<const void*> counted;  // training and validation look at the same arrays
    for (const Dataset* rows : {&request_.training, &request_.validation})
      for (const DatasetArray& each : rows->arrays)
        if (each.array.memory() == Memory::device && counted.insert(each.array.data()).second)
          bytes += each.array.bytes();
    return {bytes, bytes, bytes};
  }

 protected:
  FusedStep run_chain(const Passage& way, const States& states, std::span<const std::int64_t> rows,
                      Stage stage) override {
    check(cudaSetDevice(request_.device.index), "choosing a GPU");
    CubesOnGpu& cubes = stage == Stage::train ? training_cubes_ : *validation_cubes_;
    PixelsOfBatch pixels = cubes.pixels_of(rows);
    pixels.loss = [&](const kernels::QuadraticScores& work) { return loss_of(work, cubes, rows); };
    return run_fused_chain(way.graph, *way.chain, states, pixels, is_trained(), stage);
  }

 private:
  kernels::QuadraticLoss loss_of(kernels::QuadraticScores work, CubesOnGpu& cubes,
                                 std::span<const std::int64_t> rows) {
    const std::vector<float> matrix = kernels::filled_up(work);
    const std::vector<std::int64_t> first_pixels = cubes.first_pixels_of(rows);
    kernels::QuadraticCubes chosen = cubes.all();
    chosen.count = std::ssize(rows);
    work.matrix = sent(matrix, matrix_);
    work.shift = cubes.shift();
    chosen.first_pixels = sent(first_pixels, first_pixels_);
    const auto numbers = static_cast<std::size_t>((work.columns + 1) * work.outputs + 3);
    make_room<double>(static_cast<std::size_t>(quadratic_parts_cuda(work, chosen)), parts_);
    make_room<double>(numbers, numbers_);
    check(
        quadratic_loss_cuda(work, chosen, pointer<double>(parts_), pointer<double>(numbers_), stream_.get()),
        "the loss of pixels");
    stream_.wait();
    const std::vector<double> found = download<double>(numbers_, 0, numbers);
    return {.loss = found[numbers - 3],
            .of_matrix = {found.begin(), found.end() - 3},
            .of_scale = found[numbers - 2],
            .of_bias = found[numbers - 1]};
  }

  template <class T>
  void make_room(std::size_t count, Array& room) const {
    if (room.bytes() < count * sizeof(T)) room = device_memory<T>(count, request_.device, stream_.get());
  }
  // The values must outlive the wait of the step.
  template <class T>
  const T* sent(const std::vector<T>& values, Array& room) const {
    make_room<T>(values.size(), room);
    upload(room, 0, values.data(), values.size(), stream_.get());
    return pointer<T>(room);
  }

  OwnStream stream_;
  CubesOnGpu training_cubes_;
  std::optional<CubesOnGpu> validation_cubes_;
  Array matrix_, first_pixels_, parts_, numbers_;
};

}  // namespace

std::unique_ptr<Engine> make_engine(const EngineRequest& request) {
  return std::make_unique<NodeEngineOnGpu>(request);
}

}  // namespace stoker::fused::cubes
