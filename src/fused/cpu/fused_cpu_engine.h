#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "fused/cpu/entrance_rows.h"
#include "fused/cpu/layout.h"
#include "fused/cpu/step.h"
#include "fused/cpu/worker_pool.h"
#include "kernels/end_epoch.h"
#include "kernels/losses.h"
#include "model/mlp.h"

namespace stoker::fused_cpu {

// Why the engine cannot run the request, or "".
std::string refusal(const EngineRequest& request);

// A whole training on one CPU: a step is a few loops over one mini-batch that stays in the cache, without
// LibTorch. Large batches are worked through in slices of rows, whose gradients are added up in a fixed
// order.
class FusedCpuEngine : public Engine {
 public:
  // threads: at most this many; 0: as many as the machine has and the batch is worth. Results do not depend
  // on it.
  explicit FusedCpuEngine(const EngineRequest& request, const Kernels& kernels = best_kernels(),
                          int threads = 0);

  std::string_view name() const override { return "fused"; }
  ChunkResult run(const Chunk& chunk) override;
  NamedArrays state() const override;
  void restore(const NamedArrays& state) override;
  NamedArrays parameters() const override;
  NamedArrays best_parameters() const override;

 private:
  void make_buffers();
  // What one slice of a batch at a time is worked on in. A batch of many slices is dealt out to a fixed
  // number of these, each of which sums up its own slices.
  struct Bench {
    Workspace space;
    Dropout dropout;
    std::vector<float> float_targets;
    std::vector<std::int64_t> class_targets;
    std::vector<float> row_weights;
    std::optional<EntranceSpace> entered;  // none where rows are read as they stand
    Array gradients;
    std::vector<Array> buffers;
  };

  void make_benches();
  void make_bench(Bench& bench);
  void make_losses();
  kernels::EndEpoch end_epoch_work();

  void run_step(float rate);
  void order_rows(std::int64_t epoch, std::int64_t first);
  void choose_rows(std::int64_t step);
  template <int nearness>
  void fetch_rows() const;
  std::int64_t batch_rows(std::int64_t step) const;
  void gather(Bench& bench, std::int64_t first, std::int64_t count) const;
  void enter(Bench& bench, const EnteringRows& rows, std::int64_t source, std::int64_t row) const;
  void update_entrance(Bench& bench, std::int64_t count, Gradients what, const Update& update);
  void run_slice(Bench& bench, std::int64_t first, std::int64_t count, std::int64_t rows, Gradients what,
                 const Update& update);
  void sum_slices(std::int64_t rows);
  void clip(Update& update);
  void validate();
  void end_epoch(ChunkResult& result);
  Update update_of(std::int64_t step, float rate) const;
  Dropout dropout_of(std::int64_t step) const;

  EngineRequest request_;
  MlpShape shape_;
  const Kernels& kernels_;
  LaidNetwork laid_;
  Network& network_;
  Array edges_;  // of piecewise linear embeddings
  EnteringRows training_rows_;
  EnteringRows validation_rows_;
  LearntValues learnt_;
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
  double gradient_norms_ = 0;  // of the steps of the epoch, summed, where gradients are clipped
  float stopped_ = 0;

  // Made anew by every step.
  Array transposed_;
  std::vector<Bench> benches_;
  Dropout dropout_;
  std::vector<std::int64_t> order_;  // rows of this step's batch and some that follow
  std::int64_t order_epoch_ = -1;
  std::int64_t order_first_ = 0;          // their place in the epoch
  std::span<const std::int64_t> chosen_;  // rows of the batch, in their order
  std::int64_t chosen_step_ = -1;
  kernels::Losses losses_;
  std::vector<double> validation_sums_;
  kernels::EpochLine line_;
  WorkerPool pool_;
};

// The maker for tables of engines.
EngineMaker maker();

}  // namespace stoker::fused_cpu
