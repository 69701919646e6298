#include "fused/cuda/choose_plan.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "fused/cuda/fp32/plain_layout.h"
#include "fused/cuda/fp32/split_layout.h"
#include "fused/cuda/warpgroups/duet_plan.h"
#include "fused/cuda/whole_gpu/crowd_layout.h"
#include "model/network/mlp.h"

namespace stoker::fused {
namespace {

constexpr int most_shared_bytes = 232'448 - 1024;  // of a block; older GPUs have less
constexpr int most_state_registers = 84;           // of 128: the rest is for addresses and operands
constexpr int most_team_registers = 84;
constexpr std::int64_t most_plain_batch = 128;
constexpr std::int64_t most_split_batch = 512;
constexpr std::int64_t most_split_batch_alone = 128;  // of 256 rows, graph is faster
constexpr std::int64_t most_crowd_batch = 512;        // a thread a row, where losses are made
constexpr int most_crowd_width = 1024;
constexpr long long most_exchange_bytes = 1LL << 30;
constexpr int most_crowd_classes = 64;  // every block computes all of them

int state_registers(const Plan& plan) {
  return plan.owned_tiles() * 4 * (plan.optimizer == number::sgd ? 2 : 3);
}

// Blocks that share a batch: enough for its rows, a power of two, at most a cluster. Sixteen where one
// cluster is enough for the batch; clusters of eight find more room when there are several.
int team_for(std::int64_t batch) {
  const std::int64_t tiles = (batch + rows - 1) / rows;
  if (tiles > 16) return 8;
  int team = 1;
  while (team < tiles) team *= 2;
  return team;
}

// Registers of a thread that its share of the parameters takes in a team.
int team_registers(const Plan& plan) {
  return plan.thread_share() * 4 * (plan.optimizer == number::sgd ? 2 : 3);
}

template <class Enum>
constexpr bool counts_as(Enum value, int counted) {
  return static_cast<int>(value) == counted;
}
static_assert(counts_as(Activation::relu, number::relu) && counts_as(Activation::tanh, number::tanh) &&
              counts_as(Activation::sigmoid, number::sigmoid) && counts_as(Activation::gelu, number::gelu) &&
              counts_as(Activation::silu, number::silu));
static_assert(counts_as(Loss::mse, number::mse) &&
              counts_as(Loss::binary_cross_entropy, number::binary_cross_entropy) &&
              counts_as(Loss::cross_entropy, number::cross_entropy) &&
              counts_as(Loss::huber, number::huber) && counts_as(Loss::quantile, number::quantile));
static_assert(counts_as(Optimizer::adam, number::adam) && counts_as(Optimizer::adamw, number::adamw) &&
              counts_as(Optimizer::sgd, number::sgd));

// The shape of the network as kernels know it.
std::optional<Plan> shape_of(const EngineRequest& request, std::string& why_not) {
  const auto no = [&](std::string reason) {
    why_not = std::move(reason);
    return std::nullopt;
  };
  const std::optional<MlpShape> of_request = mlp_shape(request.network);
  if (!of_request)
    return no(fmt::format("it trains multi-layer perceptrons, not {}", request.network.family));
  const MlpShape& shape = *of_request;
  if (!shape.entrance.is_plain()) return no("it does not embed numbers or categories");
  if (request.loss().label_smoothing > 0) return no("it does not smooth labels");
  if (request.optimizer.kind == Optimizer::lion) return no("it does not have the optimizer lion");
  if (shape.layer_count() > Plan::most_layers)
    return no(fmt::format("{} hidden layers; it supports up to 8", shape.hidden_layers.size()));
  if (request.loss().kind != Loss::cross_entropy && shape.outputs != 1)
    return no("it does not support several targets");
  Plan plan{};
  plan.layers = static_cast<int>(shape.layer_count());
  for (std::size_t i = 0; i <= shape.layer_count(); ++i) {
    const std::int64_t width = i == 0 ? shape.inputs : shape.layer_outputs(i - 1);
    if (width > 2048) return no(fmt::format("a layer of {} is wider than a block can hold", width));
    plan.width[i] = static_cast<int>(width);
  }
  plan.activation = static_cast<int>(shape.activation);
  plan.loss = static_cast<int>(request.loss().kind);
  plan.optimizer = static_cast<int>(request.optimizer.kind);
  plan.has_dropout = shape.dropout > 0;
  plan.has_decay = request.optimizer.weight_decay > 0;
  return plan;
}

// Over all multiprocessors, for what fits neither a block nor a cluster, for the reason in `why_not`: as many
// blocks as give every one the same number of slabs of the widest layer.
std::optional<Plan> crowd_plan_for(const EngineRequest& request, const Gpu& gpu, Plan plan,
                                   std::string& why_not) {
  const auto no = [&](const std::string& reason) {
    why_not += ", and for all multiprocessors together: " + reason;
    return std::nullopt;
  };
  if (request.batch_size > most_crowd_batch)
    return no(fmt::format("batches of {} rows; they support up to {}", request.batch_size, most_crowd_batch));
  if (plan.width[plan.layers] > most_crowd_classes)
    return no(fmt::format("{} classes; they support up to {}", plan.width[plan.layers], most_crowd_classes));
  for (int i = 0; i < plan.layers; ++i)
    if (plan.width[i] > most_crowd_width)
      return no(fmt::format("a layer of {}; they support up to {}", plan.width[i], most_crowd_width));
  if (!gpu.blocks_can_meet) return no("their blocks cannot wait for each other on this GPU");
  int slabs = 1;
  for (int h = 1; h <= plan.hidden(); ++h) slabs = std::max(slabs, divide_up(plan.width[h], 8));
  plan.team = 0;
  plan.pitch = 0;
  plan.crowd.blocks = divide_up(slabs, divide_up(slabs, gpu.processors));
  plan.crowd.tiles = divide_up(static_cast<int>(request.batch_size), 16);
  plan.crowd.clips = request.optimizer.max_grad_norm > 0;
  plan.crowd.memory = std::min(gpu.block_bytes, most_shared_bytes);
  const CrowdLayout layout{plan};
  if (layout.needed_bytes() > plan.crowd.memory || layout.exchange_bytes() > most_exchange_bytes)
    return no("they do not have enough memory either");
  return plan;
}

}  // namespace

EngineRequest widest_of(std::span<const EngineRequest> group) {
  EngineRequest widest = group.front();
  double dropout = 0;
  for (const EngineRequest& request : group) {
    const std::optional<MlpShape> shape = mlp_shape(request.network);
    if (shape && shape->dropout > dropout) {
      dropout = shape->dropout;
      widest.network = request.network;
    }
    widest.batch_size = std::max(widest.batch_size, request.batch_size);
    widest.optimizer.weight_decay = std::max(widest.optimizer.weight_decay, request.optimizer.weight_decay);
    widest.optimizer.max_grad_norm =
        std::max(widest.optimizer.max_grad_norm, request.optimizer.max_grad_norm);
  }
  return widest;
}

bool splits_operands(const Plan& plan, const Gpu& gpu) {
  const char* asked = std::getenv("STOKER_FP32");
  const std::string_view wanted = asked == nullptr ? "" : asked;
  if (wanted == "plain") return false;
  if (!wanted.empty()) refuse("STOKER_FP32 is '{}'; it must be plain, or not be set", wanted);
  return gpu.capability >= 80 && SplitLayout::fits(plan, gpu.block_bytes);
}

bool is_fast_in_fp32(const EngineRequest& request, const Gpu& gpu) {
  std::string why_not;
  const std::optional<Plan> plan = plain_plan_for(request, gpu, why_not);
  return plan && splits_operands(*plan, gpu) && request.batch_size <= most_split_batch_alone;
}

std::optional<Plan> plain_plan_for(const EngineRequest& request, const Gpu& gpu, std::string& why_not) {
  std::optional<Plan> plan = shape_of(request, why_not);
  if (!plan) return std::nullopt;
  const bool splits = splits_operands(*plan, gpu);
  if (!splits && PlainLayout::bytes(*plan) > gpu.block_bytes) {
    why_not = fmt::format("{} weights do not fit into a multiprocessor's memory as fp32",
                          parameter_count(request.network));
    return std::nullopt;
  }
  if (request.batch_size > (splits ? most_split_batch : most_plain_batch)) {
    why_not = fmt::format("fp32 operands and batches of {} rows, for which the graph engine is faster",
                          request.batch_size);
    return std::nullopt;
  }
  return plan;
}

std::optional<Plan> plan_for(const EngineRequest& request, const Gpu& gpu, std::string& why_not) {
  if (request.precision == Precision::fp32) return plain_plan_for(request, gpu, why_not);
  const std::optional<Plan> shape = shape_of(request, why_not);
  if (!shape) return std::nullopt;
  Plan plan = *shape;
  const bool is_alone = request.batch_size <= rows && request.optimizer.max_grad_norm == 0;
  if (is_alone && DuetPlan{plan}.fits() && gpu.capability == 90) {
    plan.duet = DuetPlan{plan}.shared_bytes();
    return plan;
  }
  const int most = std::min(gpu.block_bytes, most_shared_bytes);
  plan.pitch = plan.widest() + 8;
  if (plan.shared_bytes() > most) plan.pitch = 0;
  const bool one_block =
      is_alone && state_registers(plan) <= most_state_registers && plan.shared_bytes() <= most;
  if (one_block) return plan;
  plan.team = team_for(request.batch_size);
  plan.pitch = 0;
  // A larger network than one block can update takes more blocks than its batch needs.
  while (team_registers(plan) > most_team_registers && plan.team < 16) plan.team *= 2;
  const bool has_clusters = gpu.capability >= 90;
  if (has_clusters && plan.shared_bytes() <= most && team_registers(plan) <= most_team_registers) return plan;
  why_not = has_clusters ? fmt::format("{} weights do not fit into a multiprocessor's memory",
                                       parameter_count(request.network))
                         : fmt::format(
                               "batches of {} rows, clipping or {} weights need clusters of blocks, which "
                               "this GPU does not have",
                               request.batch_size, parameter_count(request.network));
  return crowd_plan_for(request, gpu, *shape, why_not);
}

std::int64_t Spread::exchange_bytes(const Plan& plan) const {
  if (plan.crowd.blocks > 0) return CrowdLayout{plan}.exchange_bytes();
  return clusters > 1 ? 2LL * clusters * plan.team * (plan.share() + plan.vector_fours()) * 16 : 0;
}

Spread spread_of(const Plan& plan, int most_clusters, std::int64_t batch) {
  Spread spread;
  if (plan.team == 0) return spread;
  const std::int64_t tiles = (batch + rows - 1) / rows;
  const std::int64_t wanted = (tiles + plan.team - 1) / plan.team;
  // Beyond eight clusters their meeting costs more than a second pass.
  const int most = std::clamp(most_clusters, 1, 8);
  spread.clusters = static_cast<int>(std::min<std::int64_t>(wanted, most));
  spread.passes = static_cast<int>((wanted + spread.clusters - 1) / spread.clusters);
  return spread;
}

Spread plain_spread_of(std::int64_t batch) {
  return {1, static_cast<int>((batch + rows - 1) / rows)};
}

}  // namespace stoker::fused
