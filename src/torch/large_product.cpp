#include "torch/large_product.h"

#include <limits>

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <c10/core/InferenceMode.h>

#include "torch/cpu_settings.h"
#include "torch/tensors.h"

namespace stoker::torch_door {

std::int64_t multiply_matrices(std::int64_t times, int threads) {
  return translated("multiplying matrices", [&] {
    const c10::InferenceMode no_autograd;
    constexpr std::int64_t side = 1024;
    settle_cpu(std::numeric_limits<std::int64_t>::max(), threads);
    const at::Tensor one = at::ones({side, side}, floats_on(Device::cpu()));
    at::Tensor product = at::empty({side, side}, floats_on(Device::cpu()));
    for (std::int64_t i = 0; i < times; ++i) at::mm_out(product, one, one);
    return side * side * side;
  });
}

}  // namespace stoker::torch_door
