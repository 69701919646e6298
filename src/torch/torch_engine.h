#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/Stream.h>
#include <c10/core/StreamGuard.h>

#include "engine/engine.h"
#include "engine/shards_ahead.h"
#include "kernels/begin_step.h"
#include "kernels/end_epoch.h"
#include "torch/gpu.h"
#include "torch/gradient_norms.h"
#include "torch/last_batch.h"
#include "torch/loss_scaling.h"
#include "torch/loss_terms.h"
#include "torch/parameters.h"
#include "torch/rows.h"
#include "torch/runner.h"
#include "torch/sliding_window.h"
#include "torch/step.h"
#include "torch/step_profile.h"
#include "torch/tensors.h"
#include "torch/update.h"
#include "torch/validation.h"

namespace stoker::torch_door {

// The eager and the graph engine: the same work on the same buffers, brought to the device by another runner.
// And the fused one for sequences: as graph, with kernels of our own for the passes through the network.
// Everything that a step reads or changes lies in device memory, so neither waits for the host within a
// chunk.
class TorchEngine : public Engine {
 public:
  enum class Kind { eager, graph, fused };
  TorchEngine(const EngineRequest& request, Kind kind, LastBatch last_batch = LastBatch::as_it_pays);

  std::string_view name() const override;
  ChunkResult run(const Chunk& chunk) override;
  NamedArrays state() const override;
  void restore(const NamedArrays& state) override;
  NamedArrays parameters() const override;
  NamedArrays best_parameters() const override;
  Precision precision() const override { return precision_; }
  bool can_start_over() const override { return true; }
  MemoryUse memory() const override;

 private:
  // A batch is taken in parts of one number of rows and, where that does not divide it, a smaller one.
  struct PartWork {
    kernels::BeginStep begin;
    Step* step;
    std::vector<kernels::Losses> losses;
  };
  // Full batches have one, the smaller last batch has another unless it is padded.
  using BatchWork = std::vector<PartWork>;

  void make_tensors();
  void make_work(LastBatch last_batch);
  std::unique_ptr<Trainee> make_trainee() const;
  bool pads(LastBatch last_batch) const;
  template <class Work>
  auto on_stream(const char* what, Work&& work) const;
  BatchWork batch_work_of(std::int64_t rows);
  kernels::BeginStep begin_step_of(std::int64_t rows) const;
  kernels::EndEpoch end_epoch_work();
  std::vector<at::Tensor> changing_tensors() const;

  void do_piece(Piece piece);  // called by the runner
  void end_epoch();
  void validate();
  void average_gradients();
  void average_buffers();
  gpu::Settings gpu_settings() const { return {precision_, request_.is_deterministic}; }
  void run_steps(std::int64_t count);
  std::int64_t run_piece(Piece piece, std::int64_t times);
  std::int64_t steps_in_one_go(std::int64_t wanted) const;
  void begin_part(std::int64_t first_step, const float* rates, std::int64_t count);
  void collect(ChunkResult& result);
  std::vector<NamedValue> loss_values(const double* means) const;
  void restore_hits(const NamedArrays& state);
  bool is_sound(const ChunkResult& result) const;
  at::Tensor parameters_given_out() const;
  bool has_stopped() const;  // waits for the device
  static constexpr std::int64_t counter_words = sizeof(kernels::StepCounters) / sizeof(std::int64_t);
  static constexpr std::int64_t line_words = sizeof(kernels::EpochLine) / sizeof(std::int64_t);
  const kernels::StepCounters* device_counters() const;
  kernels::StepCounters host_counters() const;
  void set_counters(const kernels::StepCounters& counters);

  gpu::BorrowedMemory memory_;  // first, so that it is handed back when all else is gone
  EngineRequest request_;
  Kind kind_;
  bool has_kernels_;  // for the passes; fused goes on without them where bfloat16 has not enough range
  Precision precision_;
  std::optional<gpu::LentStream> stream_;  // none on the CPU
  kernels::Place place_;
  NamedArrays trained_parameters_;
  ParameterLayout layout_;    // what is trained, what is frozen, buffers
  std::int64_t trained_ = 0;  // floats of what is trained
  std::int64_t buffers_from_ = 0;
  bool records_gradients_ = false;
  std::int64_t next_step_ = 0;
  bool has_threads_ = false;  // those that share the steps on a CPU

  // What counts, and goes into state().
  at::Tensor parameters_;
  at::Tensor first_moment_;  // undefined where the optimiser has none
  at::Tensor second_moment_;
  at::Tensor average_;  // of the trained parameters over the steps; undefined where none is kept
  at::Tensor best_parameters_;
  at::Tensor best_loss_;
  at::Tensor counters_;  // kernels::StepCounters
  at::Tensor stopped_;
  std::optional<LossTerms> losses_;
  std::optional<LossScaling> scaling_;  // fp16
  std::optional<GradientNorms> norms_;  // where gradients are clipped
  // Made anew by every step or chunk.
  at::Tensor gradients_;
  at::Tensor not_averaged_;  // the parameters, while their average is validated
  at::Tensor rates_;
  at::Tensor learning_rate_;
  at::Tensor update_number_;
  at::Tensor lines_;                     // kernels::EpochLine
  at::Tensor loss_lines_;                // of several losses: one line per epoch, as `lines_`
  std::optional<SlidingWindow> window_;  // where not all training rows lie on the device
  ShardsAhead shards_;                   // where they lie in a file, on the CPU
  std::optional<Batch> batch_;

  std::unique_ptr<Trainee> trainee_;
  std::map<std::int64_t, std::unique_ptr<Step>> steps_;  // by their rows
  BatchWork full_;
  BatchWork last_;
  bool pads_last_batch_ = false;
  std::optional<Validation> validation_;
  std::optional<Update> update_;
  kernels::EndEpoch end_epoch_;
  StepProfile profile_;
  std::unique_ptr<Runner> runner_;
};

// Around everything that touches LibTorch: its errors become ours, no autograd where a step does not ask for
// it, work goes to our stream.
template <class Work>
auto TorchEngine::on_stream(const char* what, Work&& work) const {
  return translated(what, [&] {
    const c10::InferenceMode no_autograd_at_all(!records_gradients_);
    const at::NoGradGuard no_autograd;
    c10::OptionalStreamGuard guard;
    if (stream_) guard.reset_stream(stream_->get());
    return work();
  });
}

}  // namespace stoker::torch_door
