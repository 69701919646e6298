#include "torch/predict.h"

#include <algorithm>
#include <bit>

#include <c10/core/InferenceMode.h>

#include "base/error.h"
#include "model/family.h"
#include "torch/cpu_settings.h"
#include "torch/modules/module.h"
#include "torch/tensors.h"

namespace stoker::torch_door {
namespace {

// Of the widest layer: what a processor's cache holds.
constexpr std::int64_t values_of_slice = 1 << 18;

// A part of rows_of_block, so that parts of a table that begin at a block have the same bits as the whole.
std::int64_t rows_of_slice(std::int64_t widest) {
  const std::int64_t fitting = std::clamp<std::int64_t>(values_of_slice / widest, 1, rows_of_block);
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(fitting)));
}

void predict_slices(const Module& module, const at::Tensor& features, at::Tensor outputs,
                    std::int64_t slice) {
  for (std::int64_t begin = 0; begin < features.size(0); begin += slice) {
    const std::int64_t rows = std::min(slice, features.size(0) - begin);
    outputs.narrow(0, begin, rows).copy_(module.outputs(features.narrow(0, begin, rows), {}));
  }
}

}  // namespace

Array module_outputs(const Network& network, const NamedArrays& parameters, const Dataset& data,
                     std::int64_t first, std::int64_t count) {
  return translated("predicting", [&] {
    const Array& features = data.features();
    if (features.dimension(1) != feature_width(network))
      fail("a network of {} inputs was given {} columns", feature_width(network), features.dimension(1));
    const c10::InferenceMode no_autograd;
    const std::unique_ptr<Module> module =
        make_module(network, [&](const std::string& name) { return view_of(find_array(parameters, name)); });
    if (module == nullptr) fail("LibTorch has no module of {}", network.family);
    const std::int64_t slice = rows_of_slice(module->widest());
    settle_cpu(slice * weight_count(parameters), 0);
    const FlushAllToZero flushed;
    Array outputs(DType::float32, {count, network.outputs});
    predict_slices(*module, view_of(features).narrow(0, first, count), view_of(outputs), slice);
    return outputs;
  });
}

}  // namespace stoker::torch_door
