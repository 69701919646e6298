#pragma once

#include <memory>

#include "engine/engine.h"
#include "fused/cuda/experts/sleep_work.h"
#include "fused/cuda/own_stream.h"
#include "model/experts/expert_shape.h"
#include "model/experts/expert_state.h"

namespace stoker::fused::experts {

// What a training keeps on the GPU so that its experts are edited there: the rows that are remembered, and
// room for all that an edit computes.
class Sleeping {
 public:
  // `work` is that of the training; what it points to must stay where it is, and the stream as well.
  Sleeping(const EngineRequest& request, const ExpertShape& shape, const ExpertWork& work, Array& living,
           int blocks, const OwnStream& stream);
  ~Sleeping();

  std::uint64_t bytes() const;
  std::unique_ptr<ExpertState> edit();

 private:
  friend class ExpertsOnDevice;
  struct Memory;

  ExpertShape shape_;
  Device device_;
  int blocks_;
  const OwnStream& stream_;
  ExpertWork router_;  // of some rows at a time
  SleepWork work_;
  std::unique_ptr<Memory> memory_;
  Array rows_;  // of the host, that were brought to the GPU
  std::int64_t brought_ = 0;
};

// Whether a training of such experts will ever be edited.
bool may_sleep(const ExpertShape& shape);

}  // namespace stoker::fused::experts
