#pragma once

#include <span>

#include <ATen/core/Tensor.h>

namespace stoker::torch_door {

// One GRU layer on a CPU with its way back written out, as lstm_layer.h has it for an LSTM.
// [rows, length, directions * hidden] of x [rows, length, columns], as at::gru of one layer gives it; weights
// in its order, four for each direction.
at::Tensor own_gru_layer(const at::Tensor& x, std::span<const at::Tensor> weights);

}  // namespace stoker::torch_door
