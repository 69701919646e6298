#include <array>

#include "torch/modules/module.h"
#include "torch/modules/residual_mlp.h"

namespace stoker::torch_door {
namespace {

struct ModuleMaker {
  std::string_view family;
  std::unique_ptr<Module> (*make)(const Network& network, const Parameters& parameters);
};

constexpr std::array<ModuleMaker, 1> makers_of_modules{{{"residual_mlp", make_residual_mlp}}};

const ModuleMaker* find_maker(const Network& network) {
  for (const ModuleMaker& each : makers_of_modules)
    if (each.family == network.family) return &each;
  return nullptr;
}

}  // namespace

bool has_module(const Network& network) {
  return find_maker(network) != nullptr;
}

std::unique_ptr<Module> make_module(const Network& network, const Parameters& parameters) {
  const ModuleMaker* maker = find_maker(network);
  return maker == nullptr ? nullptr : maker->make(network, parameters);
}

}  // namespace stoker::torch_door
