#pragma once

#include <cstdint>

namespace stoker {

// Apart from mlp.h so that kernels, which know nothing of settings, can name it.
enum class Activation : std::uint8_t { relu, tanh, sigmoid, gelu, silu };

}  // namespace stoker
