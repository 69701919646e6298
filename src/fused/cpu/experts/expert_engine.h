#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fused/cpu/experts/expert_layout.h"
#include "fused/cpu/framed_engine.h"

namespace stoker::fused_cpu {

// What a stage of a training may leave as it is: the first layer of the router, and nothing else.
bool trains_all_but_inner_router(const EngineRequest& request);

// A training of the family of model/experts/experts.h in the frame that all on a CPU have. A batch is one
// slice: its rows are sorted by expert, in the order of the batch, and each expert is the work of one thread,
// whose gradients go straight into the weights. Results do not depend on the number of threads.
class ExpertEngine : public FramedEngine {
 public:
  explicit ExpertEngine(const EngineRequest& request, const Kernels& kernels = best_kernels(),
                        int threads = 0);
  NamedArrays state() const override;
  void restore(const NamedArrays& state) override;
  MemoryUse memory() const override;

 private:
  ExpertEngine(const EngineRequest& request, const ExpertLayout& layout, const Kernels& kernels, int threads);

  void pack_named(const NamedArrays& arrays, const std::string& prefix, Array& flat) const override;
  void append_named(const Array& flat, const std::string& prefix, NamedArrays& arrays) const override;
  void begin_step(std::int64_t step) override;
  void gather(std::int64_t bench, std::int64_t first, std::int64_t count) override;
  void run_slice(std::int64_t bench, std::int64_t first, std::int64_t count, std::int64_t rows,
                 Gradients what, const Update& update) override;
  float* gradients_of(std::int64_t) override { return gradients_; }
  void sum_gradients(std::int64_t rows) override;
  void change_weights(const Update& update) override;
  void append_values(EpochRecord& record) override;
  void validate() override;

  // Where the rows of a dataset are read.
  struct Rows {
    const float* features = nullptr;
    const float* targets = nullptr;
    const std::int64_t* classes = nullptr;
    const float* weights = nullptr;  // null: 1 each
  };
  static Rows rows_of(const Dataset& dataset);

  // Rows of a batch that go to one expert.
  struct Group {
    std::int32_t expert = 0;
    std::int64_t first = 0;  // in the order by experts, where each begins with a whole block of rows
    std::int64_t rows = 0;
  };

  float* buffer(std::int64_t numbers);
  void make_bench();
  void find_living();
  void put_row(const Rows& rows, std::int64_t source, std::int64_t row);
  // Rows that were put, to what the experts mix.
  void forward(std::int64_t count, bool is_training);
  void score(std::int64_t count);
  void add_router_noise(std::int64_t count);
  void choose(std::int64_t count);
  void draw_experts(std::int64_t count);
  void sort_by_expert(std::int64_t count);
  void ask(const Group& group, bool is_training);
  void mix(std::int64_t count);
  void count_usage(std::int64_t count);
  // From the gradient of what was mixed to those of scores and answers.
  void share_gradients(std::int64_t count);
  void add_losses_of_router(std::int64_t count, std::int64_t rows);
  void teach(const Group& group, Gradients what, const Update& update);
  Workspace space_of(const Group& group) const;
  Workspace space_of_router(std::int64_t count) const;

  std::int64_t top_k() const { return layout_.shape.settings.top_k; }
  bool draws_experts() const { return layout_.shape.settings.router_exploration > 0; }

  ExpertLayout layout_;
  Network router_;
  // What of it learns: all, or its second layer alone.
  Network learning_router_;
  bool inner_is_frozen_ = false;
  std::vector<Network> experts_;      // of all of the room
  std::vector<std::int32_t> living_;  // in their order
  Rows training_rows_;
  Rows validation_rows_;
  Dropout dropout_;
  kernels::Losses losses_;
  std::int64_t step_ = 0;

  // Made anew by every step.
  std::vector<Array> buffers_;
  float* gradients_ = nullptr;  // of all parameters, where they are kept
  float* no_gradients_ = nullptr;
  Workspace routed_;                       // the batch on its way through the router
  Workspace asked_;                        // rows of all experts, in the order by experts
  std::vector<std::int32_t> chosen_ones_;  // [rows, top_k]
  std::vector<std::int32_t> liked_ones_;   // the same as the router alone has it, where some are drawn
  std::vector<float> liked_rows_;          // [room]: of each expert the rows that the router likes it for
  std::vector<float> shares_;              // [rows, top_k]
  std::vector<std::int64_t> places_;       // [rows, top_k], in the order by experts
  std::vector<std::int64_t> sources_;      // of each place: the row
  std::vector<std::uint32_t> numbers_;     // of each place: row of the experts' rows together, for dropout
  std::vector<Group> groups_;              // of all that live
  std::vector<float> mixed_;               // [rows, outputs]
  std::vector<float> mixed_gradient_;
  std::vector<float> float_targets_;
  std::vector<std::int64_t> class_targets_;
  std::vector<float> row_weights_;
  std::vector<float> probabilities_;  // [room]
  std::vector<double> loss_sums_;     // of the losses of this epoch, where there are several
};

}  // namespace stoker::fused_cpu
