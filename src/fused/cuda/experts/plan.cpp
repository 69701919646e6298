#include "fused/cuda/experts/plan.h"

#include <cmath>

#include "base/random.h"
#include "fused/cuda/experts/flat.h"

namespace stoker::fused::experts {
namespace {

constexpr std::int64_t validated_at_once = 1024;

Operands operands_of(Precision precision) {
  switch (precision) {
    case Precision::tf32:
      return Operands::tf32;
    case Precision::bf16:
      return Operands::bf16;
    default:
      return Operands::fp32;
  }
}

}  // namespace

std::int64_t rows_of_buffers(const EngineRequest& request) {
  const std::int64_t batch = std::min(request.batch_size, request.training.rows());
  return std::max(batch, std::min(request.validation.rows(), validated_at_once));
}

ExpertWork work_of(const EngineRequest& request, const ExpertShape& shape) {
  const ExpertSettings& settings = shape.settings;
  const OptimizerSettings& optimizer = request.optimizer;
  ExpertWork work;
  work.layout = layout_of(shape);
  work.top_k = static_cast<int>(settings.top_k);
  work.inverse_temperature = static_cast<float>(1 / settings.temperature);
  work.noise = static_cast<float>(settings.router_noise);
  work.exploration = settings.router_exploration;
  work.planned_steps = request.planned_steps();
  work.seed = request.seed;
  work.dropout_threshold = dropout_threshold(static_cast<float>(settings.dropout));
  work.dropout_scale = 1.0F / (1.0F - static_cast<float>(settings.dropout));
  work.load_balance = static_cast<float>(settings.load_balance);
  work.router_z = static_cast<float>(settings.router_z);
  work.terms = static_cast<int>(request.losses.size());
  work.operands = operands_of(request.precision);
  work.batch = rows_of_buffers(request);
  work.losses.loss = request.loss().kind;
  work.losses.shape = static_cast<float>(request.loss().shape());
  work.losses.smoothing = static_cast<float>(request.loss().label_smoothing);
  work.losses.rows = work.batch;
  work.losses.width = shape.outputs;
  work.losses.stride = work.layout.last().outputs;

  work.optimizer = static_cast<int>(optimizer.kind);
  const bool is_sgd = optimizer.kind == Optimizer::sgd;
  work.beta1 = static_cast<float>(is_sgd ? optimizer.momentum : optimizer.beta1);
  work.beta2 = static_cast<float>(optimizer.beta2);
  work.take1 = static_cast<float>(1 - optimizer.beta1);
  work.take2 = static_cast<float>(1 - optimizer.beta2);
  work.epsilon = static_cast<float>(optimizer.epsilon);
  work.decay = optimizer.kind == Optimizer::adamw ? 0.0F : static_cast<float>(optimizer.weight_decay);
  work.max_grad_norm = static_cast<float>(optimizer.max_grad_norm);
  return work;
}

ExpertWork validation_of(const ExpertWork& training) {
  ExpertWork work = training;
  work.is_training = false;
  work.losses.smoothing = 0;
  work.losses.gradients = nullptr;
  work.losses.batch_rows = nullptr;
  work.term_sums = nullptr;
  return work;
}

UpdateStep update_step(const OptimizerSettings& settings, std::int64_t number, float rate) {
  const double first = 1.0 - std::pow(settings.beta1, static_cast<double>(number));
  const double second = 1.0 - std::pow(settings.beta2, static_cast<double>(number));
  const auto of_rate = static_cast<double>(rate);
  return {rate, static_cast<float>(1.0 - of_rate * settings.weight_decay),
          static_cast<float>(of_rate / first), static_cast<float>(1.0 / std::sqrt(second))};
}

int gathers_of(const Dataset& dataset, const Layout& layout, const BatchBuffers& to,
               kernels::Gather* gathers) {
  int count = 0;
  const auto add = [&](const Array& array, void* batch, std::int64_t stride) {
    const std::int64_t bytes = static_cast<std::int64_t>(array.bytes()) / dataset.rows();
    gathers[count++] = {array.data(), nullptr, bytes, bytes, batch, stride};
  };
  add(dataset.features(), to.features, layout.router[0].inputs * static_cast<std::int64_t>(sizeof(float)));
  add(dataset.targets(), to.targets, 0);
  if (const Array* weights = dataset.find(Role::weights)) add(*weights, to.weights, 0);
  return count;
}

}  // namespace stoker::fused::experts
