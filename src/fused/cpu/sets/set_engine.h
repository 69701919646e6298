#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fused/cpu/framed_engine.h"
#include "fused/cpu/sets/set_step.h"
#include "model/network/triangulation.h"

namespace stoker::fused_cpu {

// Why it cannot train these sets, or "".
std::string set_refusal(const EngineRequest& request, const TriangulationShape& shape);

// A training of the family of model/network/triangulation.h in the frame that all on a CPU have.
class SetEngine : public FramedEngine {
 public:
  explicit SetEngine(const EngineRequest& request, const Kernels& kernels = best_kernels(), int threads = 0);
  MemoryUse memory() const override;

 private:
  SetEngine(const EngineRequest& request, const TriangulationShape& shape, const Network& laid,
            const Kernels& kernels, int threads);

  void pack_named(const NamedArrays& arrays, const std::string& prefix, Array& flat) const override;
  void append_named(const Array& flat, const std::string& prefix, NamedArrays& arrays) const override;
  void begin_step(std::int64_t step) override;
  void gather(std::int64_t bench, std::int64_t first, std::int64_t count) override;
  void run_slice(std::int64_t bench, std::int64_t first, std::int64_t count, std::int64_t rows,
                 Gradients what, const Update& update) override;
  float* gradients_of(std::int64_t bench) override;
  void validate() override;

  struct Bench {
    SetSlice slice;
    std::vector<std::int32_t> firsts;
    std::vector<float> present;
    std::vector<std::uint32_t> places;
    std::vector<std::uint32_t> numbers;
    std::vector<float> targets;
    std::vector<float> row_weights;
    std::vector<Array> buffers;
  };
  // Where the rows of a dataset are read.
  struct Rows {
    const float* features = nullptr;  // [rows, members, columns]
    const float* mask = nullptr;      // [rows, members]
    const float* targets = nullptr;
    const float* weights = nullptr;  // null: 1 each
  };

  Bench& bench_at(std::int64_t number) { return benches_[static_cast<std::size_t>(number)]; }
  void make_bench(Bench& bench);
  Rows rows_of(const Dataset& dataset) const;
  // The members of row `source` to the bench, as set `set`, which is set `number` of the batch.
  void put_set(Bench& bench, const Rows& rows, std::int64_t source, std::int64_t set, std::int64_t number);
  void end_sets(Bench& bench, std::int64_t sets);
  kernels::Losses losses_in(const Bench& bench, std::int64_t count) const;

  TriangulationShape shape_;
  SetNetwork sets_;
  Rows training_rows_;
  Rows validation_rows_;
  std::vector<Bench> benches_;
  Dropout dropout_;
  kernels::Losses losses_;
};

}  // namespace stoker::fused_cpu
