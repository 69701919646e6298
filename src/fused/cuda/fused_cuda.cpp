#include "fused/cuda/fused_cuda.h"

#include <limits>

#include "base/error.h"
#include "fused/cuda/device_memory.h"
#include "fused/cuda/experts/expert_engine.h"
#include "fused/cuda/group.h"
#include "fused/cuda/nodes/node_engine.h"
#include "fused/cuda/own_stream.h"
#include "fused/cuda/sets/plan.h"
#include "fused/cuda/sets/set_engine.h"
#include "fused/refusal.h"
#include "model/experts/expert_shape.h"
#include "model/nodes/node_network.h"

namespace stoker::fused {
namespace {

// One model is a group of one.
class CudaEngine : public Engine {
 public:
  explicit CudaEngine(const EngineRequest& request) : group_({&request, 1}) {}

  std::string_view name() const override { return "fused"; }
  ChunkResult run(const Chunk& chunk) override { return group_.run({&chunk, 1}).front(); }
  NamedArrays state() const override { return group_.state(0); }
  void restore(const NamedArrays& state) override { group_.restore(0, state); }
  NamedArrays parameters() const override { return group_.parameters(0); }
  NamedArrays best_parameters() const override { return group_.best_parameters(0); }
  Precision precision() const override { return group_.precision(); }

 private:
  CudaGroup group_;
};

bool has_experts(const EngineRequest& request) {
  return expert_shape(request.network).has_value();
}

bool has_large_feature(const EngineRequest& request) {
  const OwnStream stream(request.device);
  Array flag = device_memory<std::uint32_t>(1, request.device, stream.get());
  const Array& features = request.training.features();
  check(find_beyond(pointer<float>(features), features.size(), 1, most_feature, pointer<std::uint32_t>(flag),
                    stream.get()),
        "looking at the features");
  stream.wait();
  return download<std::uint32_t>(flag, 0, 1)[0] != 0;
}

constexpr std::string_view large_feature =
    "a feature is not a number or is larger than 32,768, which fp16 operands cannot hold";

// Looked at here only where there is no kernel with fp32 operands to fall back to.
std::string range_problem(const EngineRequest& request) {
  std::string why_not;
  if (plain_plan_for(request, gpu_of(request.device), why_not) || !has_large_feature(request)) return "";
  return fmt::format("{}, and with fp32 ones: {}", large_feature, why_not);
}

}  // namespace

std::string cuda_refusal(const EngineRequest& request) {
  if (!request.device.is_cuda()) return "it needs a GPU";
  if (sets::reads_sets(request.network)) return sets::refusal(request);
  if (has_experts(request)) return experts::refusal(request);
  if (nodes::is_node_network(request.network)) return cubes::refusal(request);
  if (request.training.rows() > std::numeric_limits<std::int32_t>::max())
    return "more than 2,147,483,647 rows";
  // Its automatic is fp16 operands.
  if (request.precision == Precision::tf32 || request.precision == Precision::bf16)
    return fmt::format("its operands are fp16 or fp32, not {}", config::name_of(request.precision));
  std::string problem = refusal_of_both(request);
  if (!problem.empty()) return problem;
  const std::optional<Plan> plan = plan_for(request, gpu_of(request.device), problem);
  if (!plan) return problem;
  if (request.precision == Precision::fp32) return "";
  problem = range_problem(request);
  if (problem.empty()) kernel_for(*plan, request.device, problem);
  return problem;
}

std::string slower_alone(const EngineRequest& request) {
  if (!request.device.is_cuda() || !can_group(request)) return "";
  if (is_fast_in_fp32(request, gpu_of(request.device))) return "";
  const std::string_view why = request.precision == Precision::fp32 ? "fp32 operands were requested"
                               : has_large_feature(request)         ? large_feature
                                                                    : "";
  return why.empty() ? "" : fmt::format("{}, and graph is faster with fp32 operands", why);
}

void compile_ahead(std::span<const EngineRequest> group, const StopSignal& stop) {
  if (group.empty() || !group.front().device.is_cuda() || group.front().precision == Precision::fp32) return;
  std::string why_not;
  const Device device = group.front().device;
  if (const std::optional<Plan> plan = plan_for(widest_of(group), gpu_of(device), why_not))
    compile_ahead(*plan, device, stop);
}

bool can_group(const EngineRequest& request) {
  return !sets::reads_sets(request.network) && !has_experts(request) &&
         !nodes::is_node_network(request.network);
}

std::int64_t copies_to_gpu() {
  return upload_count;
}

std::int64_t waits_for_gpu() {
  return wait_count;
}

std::unique_ptr<Engine> make_cuda(const EngineRequest& request) {
  if (sets::reads_sets(request.network)) return sets::make_engine(request);
  if (has_experts(request)) return experts::make_engine(request);
  if (nodes::is_node_network(request.network)) return cubes::make_engine(request);
  return std::make_unique<CudaEngine>(request);
}

std::unique_ptr<EngineGroup> make_cuda_group(std::span<const EngineRequest> requests) {
  return std::make_unique<CudaGroup>(requests);
}

}  // namespace stoker::fused
