#include <algorithm>

#include "base/error.h"
#include "fused/cpu/fused_cpu_engine.h"

namespace stoker::fused_cpu {
namespace {

constexpr std::size_t most_hidden_layers = 8;
constexpr std::int64_t most_width = 4096;

std::string shape_problem(const MlpShape& shape) {
  const std::size_t depth = shape.hidden_layers.size();
  if (depth < 1 || depth > most_hidden_layers)
    return fmt::format("it trains networks of 1 to {} hidden layers, not {}", most_hidden_layers, depth);
  for (std::size_t i = 0; i < shape.layer_count(); ++i) {
    const std::int64_t widest = std::max(shape.layer_inputs(i), shape.layer_outputs(i));
    if (shape.layer_inputs(i) < 1 || shape.layer_outputs(i) < 1 || widest > most_width)
      return fmt::format("it trains layers of 1 to {} inputs and outputs; layer {} has {} and {}", most_width,
                         i, shape.layer_inputs(i), shape.layer_outputs(i));
  }
  if (!(shape.dropout >= 0 && shape.dropout < 1))
    return fmt::format("a dropout of {}; it must be at least 0 and below 1", shape.dropout);
  return "";
}

std::string array_problem(const Array& array, const char* what, DType type, const Shape& shape) {
  if (array.type() != type || array.shape() != shape)
    return fmt::format("the {} are {} and not {} of the network's shape", what, name_of(array.type()),
                       name_of(type));
  if (array.memory() == Memory::device)
    return fmt::format("the {} lie in a GPU's memory and training is on the CPU", what);
  return "";
}

std::string dataset_problem(const EngineRequest& request, const Dataset& dataset) {
  const std::int64_t rows = dataset.rows();
  const bool classes = request.loss == Loss::cross_entropy;
  std::string problem =
      array_problem(dataset.features(), "features", DType::float32, {rows, feature_width(request.network)});
  if (problem.empty())
    problem = array_problem(dataset.targets(), "targets", classes ? DType::int64 : DType::float32,
                            classes ? Shape{rows} : Shape{rows, request.network.outputs});
  const Array* weights = dataset.find(Role::weights);
  if (problem.empty() && weights != nullptr)
    problem = array_problem(*weights, "row weights", DType::float32, {rows});
  return problem;
}

}  // namespace

std::string refusal(const EngineRequest& request) {
  if (request.device.is_cuda()) return "it trains on a CPU";
  if (request.batch_size < 1) return fmt::format("a batch of {} rows", request.batch_size);
  if (request.training.rows() < 1) return "there are no training rows";
  if (request.loss == Loss::binary_cross_entropy && request.network.outputs != 1)
    return "binary_cross_entropy needs a network with one output";
  const std::optional<MlpShape> shape = mlp_shape(request.network);
  if (!shape) return fmt::format("it trains multi-layer perceptrons, not {}", request.network.family);
  std::string problem = shape_problem(*shape);
  if (problem.empty()) problem = dataset_problem(request, request.training);
  if (problem.empty() && request.validation.rows() > 0)
    problem = dataset_problem(request, request.validation);
  return problem;
}

}  // namespace stoker::fused_cpu
