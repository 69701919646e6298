#pragma once

#include <span>

#include <ATen/core/Tensor.h>

namespace stoker::torch_door {

// One LSTM layer on a CPU with its way back written out: one product for the inputs of all moments, then from
// moment to moment one product and one pass over its values, both directions at once on two threads.
// LibTorch's own takes a dozen operations for each moment.
// [rows, length, directions * hidden] of x [rows, length, columns], as at::lstm of one layer gives it;
// weights in its order, four for each direction.
at::Tensor own_lstm_layer(const at::Tensor& x, std::span<const at::Tensor> weights);

}  // namespace stoker::torch_door
