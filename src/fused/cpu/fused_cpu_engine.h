#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fused/cpu/entrance_rows.h"
#include "fused/cpu/framed_engine.h"
#include "fused/cpu/layout.h"
#include "model/network/mlp.h"

namespace stoker::fused_cpu {

// Why no engine of this folder can run the request, or "".
std::string refusal(const EngineRequest& request);

// A whole training of a multi-layer perceptron on one CPU: a step is a few loops over one mini-batch that
// stays in the cache, without LibTorch. Large batches are worked through in slices of rows.
class FusedCpuEngine : public FramedEngine {
 public:
  // threads: at most this many; 0: as many as the machine has and the batch is worth. Results do not depend
  // on it.
  explicit FusedCpuEngine(const EngineRequest& request, const Kernels& kernels = best_kernels(),
                          int threads = 0);

 private:
  FusedCpuEngine(const EngineRequest& request, const MlpShape& shape, LaidNetwork laid,
                 const Kernels& kernels, int threads);

  void pack_named(const NamedArrays& arrays, const std::string& prefix, Array& flat) const override;
  void append_named(const Array& flat, const std::string& prefix, NamedArrays& arrays) const override;
  void append_fixed(const std::string& prefix, NamedArrays& arrays) const override;
  void check_fixed(const NamedArrays& state) const override;
  void begin_step(std::int64_t step) override;
  void fetch_rows(bool are_next) const override;
  void gather(std::int64_t bench, std::int64_t first, std::int64_t count) override;
  void run_slice(std::int64_t bench, std::int64_t first, std::int64_t count, std::int64_t rows,
                 Gradients what, const Update& update) override;
  float* gradients_of(std::int64_t bench) override;
  void validate() override;

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
  Bench& bench_at(std::int64_t number) { return benches_[static_cast<std::size_t>(number)]; }
  void make_bench(Bench& bench);
  void enter(Bench& bench, const EnteringRows& rows, std::int64_t source, std::int64_t row) const;
  void update_entrance(Bench& bench, std::int64_t count, Gradients what, const Update& update);

  MlpShape shape_;
  LaidNetwork laid_;
  Array edges_;  // of piecewise linear embeddings
  EnteringRows training_rows_;
  EnteringRows validation_rows_;
  LearntValues learnt_;
  std::vector<Bench> benches_;
  Dropout dropout_;
  kernels::Losses losses_;
};

// The maker for tables of engines.
EngineMaker maker();

}  // namespace stoker::fused_cpu
