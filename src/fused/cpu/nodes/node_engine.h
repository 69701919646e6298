#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fused/cpu/framed_engine.h"
#include "model/nodes/fused_chain.h"
#include "model/nodes/node_network.h"

namespace stoker::fused_cpu {

// Why this engine cannot run the request, or "".
std::string node_refusal(const EngineRequest& request);

// Where the arrays of nodes lie in a flat buffer: those that are trained first.
struct NodeLayout {
  explicit NodeLayout(const stoker::Network& network);

  nodes::NodeNetwork network;
  std::vector<std::int64_t> places;  // of network.arrays
  std::int64_t trained = 0;          // numbers that gradients change
  std::int64_t size = 0;
};

// A training of the family node_graph in the frame that all on a CPU have. A batch goes through the nodes
// that lead to losses and back, or, where these are a chain of affine nodes that ends in a detector, through
// fused_chain.h. All threads share the pixels; results do not depend on their number.
class NodeEngine : public FramedEngine {
 public:
  explicit NodeEngine(const EngineRequest& request, const Kernels& kernels = best_kernels());
  NamedArrays state() const override;
  void restore(const NamedArrays& state) override;
  MemoryUse memory() const override;

 protected:
  // The nodes of a stage, and how they are trained in one go, if they can be.
  struct Passage {
    nodes::NodeGraph graph;
    std::optional<nodes::FusedChain> chain;
  };
  // Of rows of the training or, in its stage, of the validation.
  virtual nodes::FusedStep run_chain(const Passage& way, const nodes::States& states,
                                     std::span<const std::int64_t> rows, nodes::Stage stage);
  const stoker::nodes::NodeNetwork& node_network() const { return layout_.network; }
  const nodes::IsTrained& is_trained() const { return is_trained_; }

 private:
  NodeEngine(const EngineRequest& request, NodeLayout layout, const Kernels& kernels);

  void pack_named(const NamedArrays& arrays, const std::string& prefix, Array& flat) const override;
  void append_named(const Array& flat, const std::string& prefix, NamedArrays& arrays) const override;
  void begin_step(std::int64_t step) override;
  void gather(std::int64_t, std::int64_t, std::int64_t) override {}
  void run_slice(std::int64_t, std::int64_t, std::int64_t, std::int64_t, Gradients, const Update&) override {}
  float* gradients_of(std::int64_t) override { return floats(gradients_); }
  void sum_gradients(std::int64_t rows) override;
  void change_weights(const Update& update) override;
  void append_values(EpochRecord& record) override;
  void validate() override;

  Passage passage(nodes::Stage stage) const;
  nodes::States states() const;
  void keep(const nodes::States& states);
  static Trace* trace_of(nodes::Stage stage);
  nodes::FusedStep pass(const Passage& way, std::span<const std::int64_t> rows, nodes::Stage stage);
  const Dataset& rows_of(nodes::Stage stage) const {
    return stage == nodes::Stage::train ? request_.training : request_.validation;
  }
  void add_losses(const nodes::FusedStep& step, std::int64_t rows, std::vector<double>& sums) const;

  NodeLayout layout_;
  nodes::IsTrained is_trained_;
  Passage training_;
  Passage validation_;
  Array gradients_;
  std::vector<double> loss_sums_;  // of the losses of this epoch
  std::vector<double> validation_loss_sums_;
};

}  // namespace stoker::fused_cpu
