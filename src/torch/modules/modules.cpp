#include <utility>

#include "torch/modules/cnn1d.h"
#include "torch/modules/embedded_mlp.h"
#include "torch/modules/experts.h"
#include "torch/modules/module.h"
#include "torch/modules/node_graph.h"
#include "torch/modules/recurrent.h"
#include "torch/modules/residual_mlp.h"
#include "torch/modules/temporal_mlp.h"
#include "torch/modules/transformer.h"
#include "torch/modules/triangulation.h"

namespace stoker::torch_door {
namespace {

struct ModuleMaker {
  std::string family;
  MakeModule make;
  bool (*is_for)(const Network& network) = nullptr;  // null: for all of the family
};

std::vector<ModuleMaker>& makers_of_modules() {
  static std::vector<ModuleMaker> all{{"residual_mlp", make_residual_mlp},
                                      {"lstm", make_lstm},
                                      {"gru", make_gru},
                                      {"transformer", make_transformer},
                                      {"temporal_mlp", make_temporal_mlp},
                                      {"cnn1d", make_cnn1d},
                                      {"triangulation", make_triangulation},
                                      {"mixture_of_experts", make_experts},
                                      {"node_graph", make_node_graph},
                                      {"neural_network", make_embedded_mlp, has_learning_entrance},
                                      {"deep_neural_network", make_embedded_mlp, has_learning_entrance}};
  return all;
}

const ModuleMaker* find_maker(const Network& network) {
  for (const ModuleMaker& each : makers_of_modules())
    if (each.family == network.family && (each.is_for == nullptr || each.is_for(network))) return &each;
  return nullptr;
}

}  // namespace

void add_module(std::string family, MakeModule make) {
  makers_of_modules().push_back({std::move(family), make, nullptr});
}

bool has_module(const Network& network) {
  return find_maker(network) != nullptr;
}

std::unique_ptr<Module> make_module(const Network& network, const Parameters& parameters) {
  const ModuleMaker* maker = find_maker(network);
  return maker == nullptr ? nullptr : maker->make(network, parameters);
}

}  // namespace stoker::torch_door
