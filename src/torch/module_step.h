#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "engine/engine.h"
#include "fused/cpu/worker_pool.h"
#include "torch/modules/module.h"
#include "torch/parameters.h"
#include "torch/step.h"

namespace stoker::torch_door {

// Where a module's values lie: parameters first, buffers behind them, all in one tensor that is an engine's.
struct FlatValues {
  const ParameterLayout& layout;
  at::Tensor values;
  at::Tensor gradients;
  const NamedArrays& trained_parameters;  // those that the optimiser changes
  std::int64_t buffers_from = 0;          // where buffers begin
  at::Tensor stopped;                     // 1: nothing changes any more
};

// How a module is computed.
struct ModuleWay {
  kernels::Place place;
  std::uint64_t seed = 0;
  const kernels::StepCounters* counters = nullptr;
  std::int64_t planned_steps = 0;
  std::int64_t steps_per_epoch = 1;
  Precision precision = Precision::fp32;
  at::Tensor scale = {};  // of the gradients on the way back; undefined: 1
  bool recomputes = false;
  std::int64_t rows = 0;  // of a step
  int threads = 1;        // that may divide them, if the network allows it
};

// A network whose gradients autograd finds: its family's module, or for a plain multi-layer perceptron, which
// has its gradients written out elsewhere, the form of it that autocast reaches. Parameters are leaves that
// share the flat buffer's memory, and so are their gradients, so that optimiser and checkpoints know nothing
// of modules.
class ModuleTrainee : public Trainee {
 public:
  ModuleTrainee(const Network& network, const FlatValues& flat, ModuleWay way);

  std::unique_ptr<Step> make_step(std::int64_t rows, const Inputs& inputs, bool is_padded) override;
  bool takes_padding() const override { return own_.front().module->takes_padding(); }
  void reserve(std::int64_t) override {}
  at::Tensor predict(const Inputs& inputs) override;
  std::int64_t widest() const override { return own_.front().module->widest(); }
  bool judges_batches() const override { return own_.front().module->judges_batches(); }

 private:
  // What a thread computes gradients with: the parameters are those of all, the gradients its own.
  struct Own {
    std::unique_ptr<Module> module;
    at::Tensor gradients;
  };
  static Own own_of(const Network& network, const FlatValues& flat, const at::Tensor& gradients);
  int threads_dividing_rows(const Network& network, std::int64_t gradients) const;

  std::int64_t outputs_;
  ModuleWay way_;
  at::Tensor buffers_;
  at::Tensor stopped_;
  std::vector<Own> own_;  // one for each thread; the first has the gradients of the engine
  std::unique_ptr<fused_cpu::WorkerPool> pool_;  // null if rows are not divided
};

}  // namespace stoker::torch_door
