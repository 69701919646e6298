#pragma once

#include "engine/engine.h"
#include "model/network/mlp.h"

namespace stoker::test {

inline MlpShape shape_of(const EngineRequest& request) {
  return mlp_shape(request.network).value();
}

// The request with another network.
template <class Edit>
void reshape(EngineRequest& request, const Edit& edit) {
  MlpShape shape = request.network.family.empty() ? MlpShape{} : shape_of(request);
  edit(shape);
  request.network = mlp_network(shape);
}

}  // namespace stoker::test
