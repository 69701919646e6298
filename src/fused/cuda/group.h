#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "engine/engine.h"
#include "fused/cuda/choose_plan.h"
#include "fused/cuda/kernels.h"
#include "fused/cuda/train_kernel.h"

namespace stoker::fused {

// A stream of its own on a device; work in it is waited for at the end of every chunk.
class OwnStream {
 public:
  explicit OwnStream(Device device);
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  ~OwnStream();
  Stream get() const { return stream_; }
  void wait() const;

 private:
  Stream stream_ = nullptr;
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

 private:
  // Rows that several models may share.
  struct Rows {
    Array half_features;
    Array targets;
  };
  struct Model {
    EngineRequest request;
    double dropout = 0;
    Rows training;
    Rows validation;
    std::int64_t next_step = 0;
    bool stopped = false;
    int lowered = 0;  // times that its loss scale was
  };

  void make_memory();
  void write_initial_state();
  void check_classes(const EngineRequest& request, const Dataset& dataset) const;
  Rows convert_rows(const EngineRequest& request, const Dataset& dataset, bool for_training);
  EpochWork epoch_work(std::size_t model);
  ModelWork model_work(std::size_t model, std::int64_t offset, std::int64_t steps) const;
  void run_part(std::span<const Chunk> chunks, std::vector<std::int64_t>& done,
                std::vector<ChunkResult>& results);
  StepsWork steps_work(std::size_t model, std::int64_t steps);
  void prepare_part(std::span<const Chunk> chunks, const std::vector<std::int64_t>& done,
                    const std::vector<std::int64_t>& counts);
  void train_part(const std::vector<std::int64_t>& counts);
  void launch(std::size_t first, std::size_t count, const std::vector<std::int64_t>& offsets,
              const std::vector<std::int64_t>& steps);
  void launch_fast(const Models& models, std::size_t count);
  void launch_plain(std::size_t first, std::size_t count, const Models& models,
                    const std::vector<std::int64_t>& offsets);
  // fp16 ends at 65,504. Training that runs out of it goes back to the last look of the host and on from
  // there, the model's losses scaled less and less, at last all models in fp32.
  static constexpr int most_lowered = 2;
  static constexpr std::int64_t plain_form = -1;  // of saved moments; else how often the scale was lowered
  void become_plain_for_large_features();
  void keep_copy();
  std::vector<std::size_t> out_of_range();
  bool go_back(const std::vector<std::size_t>& models);       // false: there is nothing left to try
  void rescale_moments(std::size_t model, int from, int to);  // lowered so often
  void become_plain();
  void make_moments_plain(std::size_t model, int lowered);
  void take_form(std::size_t model, std::int64_t form);  // of saved moments
  std::vector<double> saved_sums(std::size_t model) const;
  void restore_sums(std::size_t model, std::span<const double> by_place);
  void take_plain_kernel();
  std::string plain_reason()
      const;  // why there is no kernel with fp32 operands for the group; empty: there is
  double loss_scale(const Model& model) const;
  static double loss_scale(int lowered);
  std::vector<kernels::EpochLine> download_lines(std::size_t most) const;
  void collect(std::vector<ChunkResult>& results);
  std::vector<float> read_flat(const Array& array, std::size_t model) const;
  void write_flat(Array& array, std::size_t model, const std::vector<float>& flat);
  double initial_second_moment(const Model& model) const;
  static double initial_second_moment(const OptimizerSettings& settings, double scale);

  static constexpr std::int64_t most_epochs = 1024;  // that the device keeps between two looks of the host
  Plan plan_{};
  TrainKernel kernel_;
  bool is_plain_ = false;  // fp32, by the plain kernel
  Spread spread_;
  std::size_t places_ = 0;  // rows that a step has in the lists
  std::size_t sums_ = 0;    // of losses that a model has
  Device device_;
  std::unique_ptr<OwnStream> stream_;
  std::vector<Model> models_;
  std::map<std::tuple<const void*, const void*, const void*, bool>, Rows> shared_rows_;
  std::size_t at_once_ = 1;      // models in a launch
  std::int64_t most_steps_ = 0;  // of a model in one part
  std::int64_t most_validation_rows_ = 0;

  std::unique_ptr<Models> works_ = std::make_unique<Models>();  // of the launch that is being made
  Array staged_rates_;  // pinned [models, most_steps_]: on their way to rates_

  // In device memory, model after model.
  Array parameters_, first_moment_, second_moment_, best_parameters_;
  Array row_sums_, best_loss_, stopped_, counters_, lines_, validation_parts_;
  Array rates_, order_, factors_, steps_works_, epoch_works_, flags_;
  Array arrivals_, exchange_;  // where clusters meet
  Array gradients_;            // of the plain kernel
  std::vector<Array> copies_;  // of changing_arrays()
  struct CopiedModel {
    std::int64_t next_step;
    int lowered;
  };
  std::vector<CopiedModel> copied_models_;
  std::vector<Array*> changing_arrays();
};

}  // namespace stoker::fused
