#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "fused/cuda/choose_plan.h"
#include "fused/cuda/fp32/split_layout.h"
#include "fused/cuda/group_memory.h"
#include "fused/cuda/group_rows.h"
#include "fused/cuda/kernels.h"
#include "fused/cuda/moments.h"
#include "fused/cuda/own_stream.h"
#include "fused/cuda/train_kernel.h"

namespace stoker::fused {

// How the models of a group lie on the GPU, and what trains them.
struct GroupKernel {
  Plan plan{};
  TrainKernel fast;
  bool is_plain = false;  // fp32 operands, and moments in their plain form
  bool is_split = false;  // the split kernel has them, else the plain one
  SplitLayout split;
  Spread spread;
  std::size_t at_once = 1;  // models in a launch

  // Refuses models that it cannot train. `widest` stands for all of them.
  static GroupKernel for_models(const EngineRequest& widest);
  void become_plain(const EngineRequest& widest, const Gpu& gpu);
};

// Models of one plan that train side by side, a block each.
class CudaGroup : public EngineGroup {
 public:
  explicit CudaGroup(std::span<const EngineRequest> requests);

  std::size_t size() const override { return models_.size(); }
  std::vector<ChunkResult> run(std::span<const Chunk> chunks) override;
  NamedArrays state(std::size_t model) const override;
  void restore(std::size_t model, const NamedArrays& state) override;
  NamedArrays parameters(std::size_t model) const override;
  NamedArrays best_parameters(std::size_t model) const override;
  Precision precision() const override { return kernel_.is_plain ? Precision::fp32 : Precision::fp16; }

 private:
  struct Model {
    EngineRequest request;
    double dropout = 0;
    Rows training;
    Rows validation;
    std::int64_t next_step = 0;
    bool stopped = false;
    int lowered = 0;  // times that its loss scale was
    // As they were when the last copy was kept.
    std::int64_t copied_step = 0;
    int copied_lowered = 0;
  };

  // group.cpp: how it begins
  GroupSizes sizes() const;
  void convert_rows();
  void write_initial_state();
  EpochWork epoch_work(std::size_t model);
  double loss_scale_of(const Model& model) const;
  double initial_second_moment_of(const Model& model) const;

  // group_run.cpp: what it launches, part by part
  ModelWork model_work(std::size_t model, std::int64_t offset, std::int64_t steps) const;
  StepsWork steps_work(std::size_t model, std::int64_t steps);
  void run_part(std::span<const Chunk> chunks, std::vector<std::int64_t>& done,
                std::vector<ChunkResult>& results);
  void prepare_part(std::span<const Chunk> chunks, const std::vector<std::int64_t>& done,
                    const std::vector<std::int64_t>& counts);
  void train_part(const std::vector<std::int64_t>& counts);
  void launch(std::size_t first, std::size_t count, const std::vector<std::int64_t>& offsets,
              const std::vector<std::int64_t>& steps);
  void launch_fast(const Models& models, std::size_t count);
  void launch_plain(std::size_t first, std::size_t count, const Models& models,
                    const std::vector<std::int64_t>& offsets);
  std::vector<kernels::EpochLine> download_lines(std::size_t most) const;
  void collect(std::vector<ChunkResult>& results);

  // group_state.cpp: what it gives, takes and goes back to. Training that runs out of fp16's range goes back
  // to the last look of the host and on from there, the model's losses scaled less and less, at last all
  // models in fp32.
  static constexpr std::int64_t plain_form = -1;  // of saved moments; else how often the scale was lowered
  void take_form(std::size_t model, std::int64_t form);
  std::vector<double> saved_sums(std::size_t model) const;
  void restore_sums(std::size_t model, std::span<const double> by_place);
  double saved_hits(std::size_t model) const;
  void restore_hits(std::size_t model, double hits);
  void keep_copy();
  std::vector<std::size_t> out_of_range();
  bool go_back(const std::vector<std::size_t>& models);       // false: there is nothing left to try
  void rescale_moments(std::size_t model, int from, int to);  // lowered so often
  void make_moments_plain(std::size_t model, int lowered);
  void become_plain();
  void take_plain_kernel();
  EngineRequest widest() const;
  std::string plain_reason() const;  // why there is no kernel with fp32 operands for it; empty: there is

  Device device_;
  std::shared_ptr<const OwnStream> stream_;
  GroupKernel kernel_;
  std::vector<Model> models_;
  GroupRows rows_;
  std::unique_ptr<GroupMemory> memory_;
  std::unique_ptr<Models> works_ = std::make_unique<Models>();  // of the launch that is being made
};

}  // namespace stoker::fused
