#pragma once

#include <array>
#include <span>

#include <ATen/core/Tensor.h>

#include "fused/cpu/encoder_block.h"

namespace stoker::torch_door {

// One layer of a transformer's encoder on a CPU with its way back written out (fused/cpu/encoder_block.h).
// LibTorch's takes some sixty operations, each over all values of a batch, which do not stay in the cache.
bool suits_own_encoder(const at::Tensor& x, const fused_cpu::EncoderShape& shape);
// [rows, length, width] of x of that shape; weights in the order of torch.nn.TransformerEncoderLayer's
// parameters, masks of the attention, of what it puts out, and of what both linear layers do. An undefined
// mask leaves nothing out.
at::Tensor own_encoder_layer(const at::Tensor& x, const fused_cpu::EncoderShape& shape,
                             std::span<const at::Tensor> weights, const std::array<at::Tensor, 4>& masks);

}  // namespace stoker::torch_door
