#include "fused/cuda/sets/plan.h"

#include <limits>

#include <fmt/format.h>

#include "fused/refusal.h"
#include "model/network/layer_specs.h"
#include "model/network/triangulation.h"

namespace stoker::fused::sets {
namespace {

constexpr std::int64_t most_batch = 65'536;

std::string width_problem(const TriangulationSettings& settings) {
  const bool fits = settings.receiver_width == inner && settings.width == width &&
                    settings.attention_heads == heads && settings.head_width == hidden;
  if (fits) return "";
  return fmt::format(
      "layers of {} and {}, {} heads and a head of {}; on a GPU it has {} and {}, {} heads and {}",
      settings.receiver_width, settings.width, settings.attention_heads, settings.head_width, inner, width,
      heads, hidden);
}

std::string size_problem(const SetShape& set, std::int64_t outputs) {
  if (set.members > most_members)
    return fmt::format("sets of {} receivers; it supports up to {}", set.members, most_members);
  if (set.columns > most_columns)
    return fmt::format("receivers of {} columns; it supports up to {}", set.columns, most_columns);
  if (outputs > most_outputs)
    return fmt::format("{} targets; it supports up to {}", outputs - 1, most_outputs - 1);
  return "";
}

std::string gpu_problem(const Gpu& gpu, const Sizes& sizes) {
  if (gpu.capability < 90)
    return fmt::format("it needs clusters of blocks, from compute capability 9.0 on, but this GPU has {:.1f}",
                       gpu.capability / 10.0);
  if (gpu.block_bytes < shared_bytes(sizes))
    return "the values of its rows do not fit into a multiprocessor's memory";
  return "";
}

}  // namespace

bool reads_sets(const Network& network) {
  return network.family == "triangulation";
}

std::optional<Sizes> sizes_for(const EngineRequest& request, const Gpu& gpu, std::string& why_not) {
  const auto no = [&](std::string reason) {
    why_not = std::move(reason);
    return std::nullopt;
  };
  const auto settings = settings_as<TriangulationSettings>(request.network.settings);
  const SetShape set = set_shape(request.network);
  if (std::string problem = width_problem(settings); !problem.empty()) return no(std::move(problem));
  if (std::string problem = size_problem(set, request.network.outputs); !problem.empty())
    return no(std::move(problem));
  const Sizes sizes{static_cast<int>(set.members), static_cast<int>(set.columns),
                    static_cast<int>(request.network.outputs)};
  if (request.precision != Precision::automatic && request.precision != Precision::fp16)
    return no(fmt::format("its operands of sets are fp16, not {}", config::name_of(request.precision)));
  if (request.batch_size > most_batch)
    return no(fmt::format("batches of {} rows; it supports up to {}", request.batch_size, most_batch));
  if (request.training.rows() > std::numeric_limits<std::int32_t>::max())
    return no("more than 2,147,483,647 rows");
  if (std::string problem = refusal_of_any(request); !problem.empty()) return no(std::move(problem));
  if (request.loss().kind != Loss::gaussian)
    return no(
        fmt::format("it trains sets with the loss gaussian, not {}", config::name_of(request.loss().kind)));
  if (std::string problem = gpu_problem(gpu, sizes); !problem.empty()) return no(std::move(problem));
  return sizes;
}

}  // namespace stoker::fused::sets
