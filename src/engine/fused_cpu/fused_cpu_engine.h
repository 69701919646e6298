#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "engine/fused_cpu/step.h"
#include "engine/kernels/end_epoch.h"
#include "engine/kernels/losses.h"

namespace stoker::fused_cpu {

// Why the engine cannot run the request, or "".
std::string refusal(const EngineRequest& request);

// A whole training on one CPU: a step is a few loops over one mini-batch that stays in the cache, without
// LibTorch. Large batches are worked through in slices of rows, whose gradients are added up in a fixed
// order.
class FusedCpuEngine : public Engine {
 public:
  explicit FusedCpuEngine(const EngineRequest& request, const Kernels& kernels = best_kernels());

  std::string_view name() const override { return "fused"; }
  ChunkResult run(const Chunk& chunk) override;
  NamedArrays state() const override;
  void restore(const NamedArrays& state) override;
  NamedArrays parameters() const override;
  NamedArrays best_parameters() const override;

 private:
  void make_buffers();
  void make_workspace();
  void make_losses();
  kernels::EndEpoch end_epoch_work();

  void run_step(float rate);
  void choose_rows(std::int64_t step);
  std::int64_t batch_rows(std::int64_t step) const;
  void run_slice(std::int64_t first, std::int64_t count, std::int64_t rows, const Update& update,
                 bool updates_at_once);
  void gather(std::int64_t first, std::int64_t count);
  void validate();
  void end_epoch(ChunkResult& result);
  Update update_of(std::int64_t step, float rate) const;
  Dropout dropout_of(std::int64_t step) const;

  EngineRequest request_;
  const Kernels& kernels_;
  Network network_;
  Workspace workspace_;
  std::int64_t slice_rows_ = 0;
  bool has_validation_ = false;

  // What counts, and goes into state().
  Array parameters_;
  Array first_moment_;
  Array second_moment_;
  Array best_parameters_;
  double best_loss_;
  kernels::StepCounters counters_;
  std::vector<double> row_sums_;
  float stopped_ = 0;

  // Made anew by every step.
  Array transposed_;
  Array gradients_;
  std::vector<Array> buffers_;  // of the workspace
  Dropout dropout_;
  std::vector<std::int64_t> chosen_;  // rows of the batch, in their order
  std::int64_t chosen_step_ = -1;
  std::vector<float> batch_float_targets_;
  std::vector<std::int64_t> batch_class_targets_;
  std::vector<float> batch_row_weights_;
  kernels::Losses losses_;
  std::vector<double> validation_sums_;
  kernels::EpochLine line_;
};

// The maker for tables of engines.
EngineMaker maker();

}  // namespace stoker::fused_cpu
