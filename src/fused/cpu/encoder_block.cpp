#include "fused/cpu/encoder_block.h"

namespace stoker::fused_cpu {
namespace {

struct EncoderSpace {
  float* wide = nullptr;       // [moments, width]
  float* projected = nullptr;  // [moments, 3 width]
  float* sum = nullptr;
  float* context = nullptr;
  float* inner = nullptr;
  float* scratch = nullptr;
};

EncoderSpace space_of(const EncoderWork& work) {
  const std::int64_t values = work.moments() * work.shape.width();
  EncoderSpace space;
  space.wide = work.workspace;
  space.projected = space.wide + values;
  space.sum = space.projected + 3 * values;
  space.context = space.sum + values;
  space.inner = space.context + values;
  space.scratch = space.inner + work.moments() * work.shape.inner;
  return space;
}

float* statistics_of(const EncoderWork& work, int number) {
  return work.kept.statistics + number * work.moments();
}

void multiply_forward(const EncoderWork& work, const float* in, std::int64_t inputs,
                      const EncoderMatrix& weight, std::int64_t outputs, float* out) {
  if (weight.panels != nullptr) {
    work.multiply_panels({work.moments(), inputs, outputs, in, inputs, weight.panels, out, outputs, false});
    return;
  }
  const bool is_turned = weight.turned != nullptr;
  work.multiply({work.moments(), inputs, outputs, in, is_turned ? weight.turned : weight.values, out, false,
                 !is_turned, false});
}

// What entered a linear layer, and the gradient of what it put out, to the gradients of its weights and of
// what entered it.
void multiply_back(const EncoderWork& work, const float* in, std::int64_t inputs, const float* gradient,
                   std::int64_t outputs, const EncoderMatrix& weight, float* weight_gradient, bool is_first,
                   float* in_gradient) {
  work.multiply({outputs, work.moments(), inputs, gradient, in, weight_gradient, true, false, !is_first});
  if (weight.panels_back != nullptr) {
    work.multiply_panels(
        {work.moments(), outputs, inputs, gradient, outputs, weight.panels_back, in_gradient, inputs, false});
    return;
  }
  work.multiply({work.moments(), outputs, inputs, gradient, weight.values, in_gradient, false, false, false});
}

void run_attention(const TokenKernels& kernels, const EncoderWork& work, const EncoderSpace& space) {
  const AttentionShape& shape = work.shape.attention;
  const std::int64_t values = shape.length * shape.width();
  for (std::int64_t window = 0; window < work.windows; ++window) {
    Attend attend;
    attend.shape = shape;
    attend.bias = work.weights->projection_biases;
    if (work.masks.attention != nullptr)
      attend.mask = work.masks.attention + window * shape.heads * shape.length * shape.length;
    attend.projected = work.kept.projected + 3 * window * values;
    attend.shares = work.kept.shares + window * shape.shares_of_window();
    attend.context = work.kept.context + window * values;
    attend.scratch = space.scratch;
    kernels.attend(attend);
  }
}

void run_attention_back(const TokenKernels& kernels, const EncoderWork& work, const EncoderSpace& space) {
  const AttentionShape& shape = work.shape.attention;
  const std::int64_t values = shape.length * shape.width();
  for (std::int64_t window = 0; window < work.windows; ++window) {
    AttendBack attend;
    attend.shape = shape;
    if (work.masks.attention != nullptr)
      attend.mask = work.masks.attention + window * shape.heads * shape.length * shape.length;
    attend.projected = work.kept.projected + 3 * window * values;
    attend.shares = work.kept.shares + window * shape.shares_of_window();
    attend.context_gradient = space.context + window * values;
    attend.projected_gradient = space.projected + 3 * window * values;
    attend.scratch = space.scratch;
    kernels.attend_back(attend);
  }
}

// The linear layers; leaves the gradient of their entrance in space.sum.
void run_linear_back(const TokenKernels& kernels, const EncoderWork& work, const float* out_gradient,
                     const EncoderGradients& gradients, bool is_first, const EncoderSpace& space) {
  const std::int64_t moments = work.moments();
  const std::int64_t width = work.shape.width();
  const std::int64_t inner = work.shape.inner;
  kernels.scale({moments, width, out_gradient, work.masks.outer, space.wide, gradients.outer_biases});
  multiply_back(work, work.kept.bent, inner, space.wide, width, work.weights->outer, gradients.outer,
                is_first, space.inner);
  kernels.scale({moments, inner, space.inner, work.kept.slopes, space.inner, gradients.inner_biases});
  multiply_back(work, work.kept.sum_normed, width, space.inner, inner, work.weights->inner, gradients.inner,
                is_first, space.wide);
  kernels.norm_back({moments, width, work.kept.sum, work.weights->linear_norm, statistics_of(work, 2),
                     statistics_of(work, 3), space.wide, out_gradient, space.sum, gradients.linear_norm,
                     gradients.linear_norm_biases});
}

}  // namespace

void run_encoder_block(const TokenKernels& kernels, const EncoderWork& work, float* out) {
  const EncoderSpace space = space_of(work);
  const EncoderWeights& weights = *work.weights;
  const EncoderKept& kept = work.kept;
  const std::int64_t moments = work.moments();
  const std::int64_t width = work.shape.width();
  const std::int64_t inner = work.shape.inner;
  const float epsilon = work.shape.epsilon;

  kernels.norm({moments, width, epsilon, work.in, weights.attention_norm, weights.attention_norm_biases,
                kept.normed, statistics_of(work, 0), statistics_of(work, 1)});
  multiply_forward(work, kept.normed, width, weights.projections, 3 * width, kept.projected);
  run_attention(kernels, work, space);
  multiply_forward(work, kept.context, width, weights.attended, width, space.wide);
  kernels.join({moments, width, work.in, space.wide, weights.attended_biases, work.masks.attended, kept.sum});

  kernels.norm({moments, width, epsilon, kept.sum, weights.linear_norm, weights.linear_norm_biases,
                kept.sum_normed, statistics_of(work, 2), statistics_of(work, 3)});
  multiply_forward(work, kept.sum_normed, width, weights.inner, inner, kept.bent);
  kernels.bend({moments, inner, work.shape.activation, weights.inner_biases, work.masks.inner, kept.bent,
                kept.slopes});
  multiply_forward(work, kept.bent, inner, weights.outer, width, space.wide);
  kernels.join({moments, width, kept.sum, space.wide, weights.outer_biases, work.masks.outer, out});
}

void run_encoder_block_back(const TokenKernels& kernels, const EncoderWork& work, const float* out_gradient,
                            const EncoderGradients& gradients, bool is_first, float* in_gradient) {
  const EncoderSpace space = space_of(work);
  const EncoderWeights& weights = *work.weights;
  const std::int64_t moments = work.moments();
  const std::int64_t width = work.shape.width();

  run_linear_back(kernels, work, out_gradient, gradients, is_first, space);
  kernels.scale({moments, width, space.sum, work.masks.attended, space.wide, gradients.attended_biases});
  multiply_back(work, work.kept.context, width, space.wide, width, weights.attended, gradients.attended,
                is_first, space.context);
  run_attention_back(kernels, work, space);
  kernels.scale({moments, 3 * width, space.projected, nullptr, nullptr, gradients.projection_biases});
  multiply_back(work, work.kept.normed, width, space.projected, 3 * width, weights.projections,
                gradients.projections, is_first, space.wide);
  kernels.norm_back({moments, width, work.in, weights.attention_norm, statistics_of(work, 0),
                     statistics_of(work, 1), space.wide, space.sum, in_gradient, gradients.attention_norm,
                     gradients.attention_norm_biases});
}

}  // namespace stoker::fused_cpu
