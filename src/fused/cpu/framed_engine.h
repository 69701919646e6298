#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "engine/shards_ahead.h"
#include "fused/cpu/step.h"
#include "fused/cpu/worker_pool.h"
#include "fused/cpu/zeros.h"
#include "kernels/end_epoch.h"
#include "kernels/losses.h"

namespace stoker::fused_cpu {

inline float* floats(Array& array) {
  return static_cast<float*>(array.data());
}

// How a batch is divided.
struct Slices {
  std::int64_t rows = 0;           // of each, a multiple of row_block
  bool can_update = false;         // a batch of one slice changes the weights on its way back
  std::int64_t most_benches = 16;  // that sum up slices of their own
  std::int64_t multiply_adds = 0;  // of a row on its way forward
  std::int64_t most_threads = 1;   // that could share a batch
};

// What trainings on one CPU have in common, whatever the network: which rows a step takes, slices of a batch
// whose gradients are added up in a fixed order, updates, epochs with their validation and best weights, when
// to stop, and the whole state. The numbers of a network lie in flat buffers; what they mean, and how a slice
// goes through them, is for the engine that stands in this frame.
class FramedEngine : public Engine {
 public:
  std::string_view name() const override { return "fused"; }
  ChunkResult run(const Chunk& chunk) override;
  NamedArrays state() const override;
  void restore(const NamedArrays& state) override;
  NamedArrays parameters() const override;
  NamedArrays best_parameters() const override;

 protected:
  // `laid`: a network whose buffers are not set. threads: at most this many; 0: as many as the machine has
  // and the batch is worth. Results do not depend on it.
  FramedEngine(const EngineRequest& request, const Kernels& kernels, const Network& laid,
               const Slices& slices, int threads);

  // Named arrays to their places in a flat buffer and back.
  virtual void pack_named(const NamedArrays& arrays, const std::string& prefix, Array& flat) const = 0;
  virtual void append_named(const Array& flat, const std::string& prefix, NamedArrays& arrays) const = 0;
  // What is kept beside the parameters and never changes; a state with another is refused.
  virtual void append_fixed(const std::string&, NamedArrays&) const {}
  virtual void check_fixed(const NamedArrays&) const {}

  virtual void begin_step(std::int64_t step) = 0;
  // Asks for the chosen rows: those of the next step, or those that are about to be read.
  virtual void fetch_rows(bool /*are_next*/) const {}
  virtual void gather(std::int64_t bench, std::int64_t first, std::int64_t count) = 0;
  // Rows first .. first + count of a batch of `rows`, which were gathered, to gradients or into the weights.
  virtual void run_slice(std::int64_t bench, std::int64_t first, std::int64_t count, std::int64_t rows,
                         Gradients what, const Update& update) = 0;
  virtual float* gradients_of(std::int64_t bench) = 0;
  // Gradients of the chosen rows to the first bench, and from there into the weights.
  virtual void sum_gradients(std::int64_t rows) { sum_slices(rows); }
  virtual void change_weights(const Update& update) { kernels_.update(network_, gradients_of(0), update); }
  // What is told of an epoch beside its losses; its sums begin anew.
  virtual void append_values(EpochRecord&) {}
  virtual void validate() = 0;

  // Bytes of what every engine in this frame has, its rows included.
  std::uint64_t frame_bytes() const;

  // For an engine's constructor: what no constructor of a frame can do, since it asks the engine.
  void make_buffers();
  // Counts the rows whose class is predicted right, if the loss is one of classes: for an engine that lets
  // the losses count them. Called once validation_sums_ has its places.
  void count_hits();
  double* train_hits() { return train_hits_.empty() ? nullptr : train_hits_.data(); }  // as row_sums_
  double* validation_hits() { return validation_hits_.empty() ? nullptr : validation_hits_.data(); }
  kernels::Losses losses_of(std::int64_t stride) const;  // all but the rows
  // Dropout of a share of the values, its keys not set.
  static Dropout dropout_leaving_out(double share);

  std::int64_t batch_rows() const { return std::min(request_.batch_size, request_.training.rows()); }
  // Partial sums of a batch's gradients: a number that follows from the request alone, not from the machine.
  std::int64_t bench_count() const;
  // Whether gradients of the batch are kept before they change the weights.
  bool keeps_gradients() const;

  EngineRequest request_;
  const Kernels& kernels_;
  Network network_;
  Slices slices_;
  bool has_validation_ = false;
  std::span<const std::int64_t> chosen_;  // rows of the batch, in their order
  // One sum for each place in the batch, and for each place in validation that the engine wants.
  std::vector<double> row_sums_;
  std::vector<double> validation_sums_;
  float stopped_ = 0;
  WorkerPool pool_;

 private:
  static int threads_for(const EngineRequest& request, const Slices& slices, int wanted);
  void run_step(float rate);
  void order_rows(std::int64_t epoch, std::int64_t first);
  void order_by_shards(std::int64_t epoch, std::int64_t first);
  void choose_rows(std::int64_t step);
  std::int64_t rows_of_step(std::int64_t step) const;
  void sum_slices(std::int64_t rows);
  void clip(Update& update);
  void end_epoch(ChunkResult& result);
  kernels::EndEpoch end_epoch_work();
  Update update_of(std::int64_t step, float rate) const;

  // What counts, and goes into state().
  Array parameters_;
  Array first_moment_;
  Array second_moment_;
  Array best_parameters_;
  double best_loss_;
  kernels::StepCounters counters_;
  std::vector<double> train_hits_;       // empty: not counted
  std::vector<double> validation_hits_;  // as validation_sums_
  double gradient_norms_ = 0;            // of the steps of the epoch, summed, where gradients are clipped

  // Made anew by every step.
  Array transposed_;
  std::vector<std::int64_t> order_;  // rows of this step's batch and some that follow
  std::int64_t order_epoch_ = -1;
  std::int64_t order_first_ = 0;  // their place in the epoch
  std::int64_t chosen_step_ = -1;
  kernels::EpochLine line_;
  ShardsAhead shards_;
};

// A row of a table; rows are short, and a call of memcpy costs more than they do.
inline void copy_row(const float* from, std::int64_t count, float* to) {
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) std::memcpy(to + i, from + i, 4 * sizeof(float));
  for (; i < count; ++i) to[i] = from[i];
}

}  // namespace stoker::fused_cpu
