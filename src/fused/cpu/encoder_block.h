#pragma once

#include <cstdint>

#include "fused/cpu/step.h"
#include "fused/cpu/token_rows.h"

// One pre-norm layer of a transformer's encoder (self-attention, then two linear layers, each added to what
// entered it) over some windows, forward and backward, while their values are in the cache.
namespace stoker::fused_cpu {

// out [rows, columns] = left [rows, depth] * right [depth, columns], or is added to. A side that is turned
// lies with its rows as columns.
struct Product {
  std::int64_t rows = 0;
  std::int64_t depth = 0;
  std::int64_t columns = 0;
  const float* left = nullptr;
  const float* right = nullptr;
  float* out = nullptr;
  bool left_is_turned = false;
  bool right_is_turned = false;
  bool adds = false;
};
using Multiply = void (*)(const Product& product);

struct EncoderShape {
  AttentionShape attention;
  std::int64_t inner = 0;  // width between the two linear layers, a multiple of token_vector
  Activation activation = Activation::gelu;
  float epsilon = 0;  // of the norms

  std::int64_t width() const { return attention.width(); }
  // Floats of a workspace for so many windows.
  std::int64_t workspace(std::int64_t windows) const {
    return windows * attention.length * (6 * width() + inner) + attention.scratch();
  }
};

// A matrix as torch.nn lays it out, [outputs, inputs], and as products with moments read it best.
struct EncoderMatrix {
  const float* values = nullptr;
  // The same as [inputs, outputs], for the way forward: libraries read a matrix that leads to few outputs
  // faster so. Null: `values` are read.
  const float* turned = nullptr;
  // Packed as PackPanels has it, [inputs, outputs] for the way forward and [outputs, inputs] for the way
  // back. Null: the library multiplies.
  const float* panels = nullptr;
  const float* panels_back = nullptr;
};

struct EncoderWeights {
  EncoderMatrix projections;
  const float* projection_biases = nullptr;
  EncoderMatrix attended;
  const float* attended_biases = nullptr;
  EncoderMatrix inner;
  const float* inner_biases = nullptr;
  EncoderMatrix outer;
  const float* outer_biases = nullptr;
  const float* attention_norm = nullptr;
  const float* attention_norm_biases = nullptr;
  const float* linear_norm = nullptr;
  const float* linear_norm_biases = nullptr;
};

// Added to; matrices are written to by the first windows.
struct EncoderGradients {
  float* projections = nullptr;
  float* projection_biases = nullptr;
  float* attended = nullptr;
  float* attended_biases = nullptr;
  float* inner = nullptr;
  float* inner_biases = nullptr;
  float* outer = nullptr;
  float* outer_biases = nullptr;
  float* attention_norm = nullptr;
  float* attention_norm_biases = nullptr;
  float* linear_norm = nullptr;
  float* linear_norm_biases = nullptr;
};

// Of these windows; null: nothing is left out.
struct EncoderMasks {
  const float* attention = nullptr;  // [windows, heads * length * length]
  const float* attended = nullptr;   // [windows, length * width]
  const float* inner = nullptr;
  const float* outer = nullptr;
};

// What the way back needs of the way forward, for these windows.
struct EncoderKept {
  float* normed = nullptr;     // [moments, width]
  float* projected = nullptr;  // [moments, 3 width]
  float* shares = nullptr;     // [windows, shares_of_window]
  float* context = nullptr;    // [moments, width]
  float* sum = nullptr;        // [moments, width], after the attention
  float* sum_normed = nullptr;
  float* bent = nullptr;        // [moments, inner]
  float* slopes = nullptr;      // [moments, inner]
  float* statistics = nullptr;  // [4, moments]: means and scales of both norms
};

struct EncoderWork {
  EncoderShape shape;
  std::int64_t windows = 0;
  const EncoderWeights* weights = nullptr;
  EncoderMasks masks;
  EncoderKept kept;
  const float* in = nullptr;   // [moments, width]
  float* workspace = nullptr;  // shape.workspace(windows)
  Multiply multiply = nullptr;
  void (*multiply_panels)(const PanelProduct& product) = nullptr;

  std::int64_t moments() const { return windows * shape.attention.length; }
};

void run_encoder_block(const TokenKernels& kernels, const EncoderWork& work, float* out);
// The gradient of what entered, from that of what was put out. `is_first`: matrices of gradients are not yet
// written to.
void run_encoder_block_back(const TokenKernels& kernels, const EncoderWork& work, const float* out_gradient,
                            const EncoderGradients& gradients, bool is_first, float* in_gradient);

}  // namespace stoker::fused_cpu
