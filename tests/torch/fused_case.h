#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "fused/reshaped.h"
#include "torch/training_case.h"

// A network, its loss and its optimiser, for the tests of the fused engine on CUDA.
namespace stoker::test {

struct Case {
  std::string name;
  std::int64_t inputs = 6;
  std::vector<std::int64_t> hidden{128, 64, 32};
  Activation activation = Activation::relu;
  Loss loss = Loss::mse;
  Optimizer optimizer = Optimizer::adam;
  double dropout = 0;
  double weight_decay = 0;
  double max_grad_norm = 0;
  std::int64_t batch = 32;
  float rate = 0.001F;
  std::int64_t classes = 3;
};
inline std::ostream& operator<<(std::ostream& out, const Case& each) {
  return out << each.name;
}

inline EngineRequest request_of(const Case& each, std::int64_t rows) {
  const bool classes = each.loss == Loss::cross_entropy;
  EngineRequest request;
  request.network =
      mlp_network({each.inputs, each.hidden, classes ? each.classes : 1, each.activation, each.dropout});
  request.loss().kind = each.loss;
  request.loss().huber_delta = 0.3;
  request.loss().quantile = 0.8;
  request.optimizer.kind = each.optimizer;
  request.optimizer.momentum = each.optimizer == Optimizer::sgd ? 0.9 : 0;
  request.optimizer.weight_decay = each.weight_decay;
  request.optimizer.max_grad_norm = each.max_grad_norm;
  request.batch_size = each.batch;
  request.seed = 5;
  request.training = synthetic_rows(rows, each.inputs, classes, 1);
  if (each.loss == Loss::binary_cross_entropy)
    for (DatasetArray& part : request.training.arrays)
      if (part.role == Role::targets)
        for (float& target : part.array.as<float>()) target = target > 0 ? 1.0F : 0.0F;
  request.initial_parameters = initial_parameters(request.network, 5);
  return request;
}

}  // namespace stoker::test
