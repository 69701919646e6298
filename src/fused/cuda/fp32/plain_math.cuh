#pragma once

#include "fused/cuda/math.cuh"

// As math.cuh, for kinds that are known at run time only; activations are not approximated.
namespace stoker::fused {

__device__ inline Activated activated(int kind, float z) {
  switch (kind) {
    case number::tanh: {
      const float t = tanhf(z);
      return {t, 1.0F - t * t};
    }
    case number::sigmoid: {
      const float s = 1.0F / (1.0F + expf(-z));
      return {s, s * (1.0F - s)};
    }
    case number::gelu: {
      const float cdf = 0.5F * (1.0F + erff(z * 0.70710678F));
      return {z * cdf, cdf + z * 0.39894228F * expf(-0.5F * z * z)};
    }
    case number::silu: {
      const float s = 1.0F / (1.0F + expf(-z));
      return {z * s, s * (1.0F + z * (1.0F - s))};
    }
    default:
      return {fmaxf(z, 0.0F), z > 0 ? 1.0F : 0.0F};
  }
}

__device__ inline RowLoss scalar_loss(int kind, float output, float target, float loss_shape) {
  switch (kind) {
    case number::binary_cross_entropy:
      return scalar_loss<number::binary_cross_entropy>(output, target, loss_shape);
    case number::huber:
      return scalar_loss<number::huber>(output, target, loss_shape);
    case number::quantile:
      return scalar_loss<number::quantile>(output, target, loss_shape);
    default:
      return scalar_loss<number::mse>(output, target, loss_shape);
  }
}

}  // namespace stoker::fused
