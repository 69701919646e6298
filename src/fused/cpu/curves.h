#pragma once

#include "fused/cpu/simd.h"
#include "model/network/activation.h"

// The activations and their slopes, vector by vector, within about 2 units in the last place of libm's.
namespace stoker::fused_cpu {
namespace {

// exp of values of at most 0; below -87 it stays at what exp(-87) is, the least normal number.
STOKER_INLINE V exp_of_negative(V x) {
  x = choose(x < -87.0F, all(-87.0F), x);  // a NaN stays
  // Adding 1.5 * 2^23 rounds to a whole number, which then stands in the lowest bits.
  const V shifted = x * 1.44269504F + 12582912.0F;
  const V whole = shifted - 12582912.0F;
  V rest = x - whole * 0.693359375F;  // ln 2 in two parts, of which the first is exact
  rest = rest - whole * -2.12194440e-4F;
  V p = all(1.9875691500e-4F);  // polynomial of Cephes' expf
  p = p * rest + 1.3981999507e-3F;
  p = p * rest + 8.3334519073e-3F;
  p = p * rest + 4.1665795894e-2F;
  p = p * rest + 1.6666665459e-1F;
  p = p * rest + 5.0000001201e-1F;
  p = p * (rest * rest) + rest + 1.0F;
  const I exponent = bits_of(shifted) << 23;  // its other bits fall off the upper end
  return as_floats(bits_of(p) + exponent);
}

STOKER_INLINE V sigmoid(V x) {
  const V small = exp_of_negative(-size_of_each(x));
  const V share = 1.0F / (1.0F + small);
  return choose(x < 0.0F, small * share, share);
}

STOKER_INLINE V hyperbolic_tangent(V x) {
  const V size = size_of_each(x);
  const V square = x * x;
  V p = all(-5.70498872745e-3F);  // polynomial of Cephes' tanhf
  p = p * square + 2.06390887954e-2F;
  p = p * square - 5.37397155531e-2F;
  p = p * square + 1.33314422036e-1F;
  p = p * square - 3.33332819422e-1F;
  const V near = p * square * x + x;
  const V small = exp_of_negative(size * -2.0F);
  const V far = (1.0F - small) / (1.0F + small);
  const V signed_far = as_floats(bits_of(far) | (bits_of(x) & static_cast<std::int32_t>(0x80000000U)));
  return choose(size < 0.625F, near, signed_far);
}

// The error function in two polynomials, as Norbert Juffa gives them for single precision.
STOKER_INLINE V error_function(V x) {
  const V size = size_of_each(x);
  const V square = x * x;
  V far = -1.72853470e-5F * size + 3.83197126e-4F;
  const V upper = -3.88396438e-3F * size + 2.42546219e-2F;
  far = far * square + upper;
  far = far * size - 1.06777877e-1F;
  far = far * size - 6.34846687e-1F;
  far = far * size - 1.28717512e-1F;
  far = far * size - size;
  far = 1.0F - exp_of_negative(far);
  far = as_floats(bits_of(far) | (bits_of(x) & static_cast<std::int32_t>(0x80000000U)));
  V near = all(-5.96761703e-4F);
  near = near * square + 4.99119423e-3F;
  near = near * square - 2.67681349e-2F;
  near = near * square + 1.12819925e-1F;
  near = near * square - 3.76125336e-1F;
  near = near * square + 1.28379166e-1F;
  near = near * x + x;
  return choose(size > 0.927734375F, far, near);
}

struct Bent {
  V value;
  V slope;
};

// gelu and its slope with one exponential for both: the normal distribution by formula 7.1.26 of Abramowitz
// and Stegun, within 1e-7.
STOKER_INLINE Bent bend_by_gelu(V x) {
  const V size = size_of_each(x);
  const V bell = exp_of_negative(x * x * -0.5F);
  const V t = 1.0F / (1.0F + 0.23164189F * size);  // 0.3275911 / sqrt(2)
  V p = all(0.530702714F);                         // half of its coefficients
  p = p * t - 0.726576014F;
  p = p * t + 0.710706871F;
  p = p * t - 0.142248368F;
  p = p * t + 0.127414796F;
  const V tail = p * t * bell;
  const V below = choose(x < 0.0F, tail, 1.0F - tail);
  return {x * below, below + x * bell * 0.39894228F};
}

// relu has no slope here: what it let through is what is above 0.
template <Activation activation>
STOKER_INLINE Bent bend(V x) {
  if constexpr (activation == Activation::relu) {
    return {at_least_zero(x), V{}};
  } else if constexpr (activation == Activation::tanh) {
    const V y = hyperbolic_tangent(x);
    return {y, 1.0F - y * y};
  } else if constexpr (activation == Activation::sigmoid) {
    const V y = sigmoid(x);
    return {y, y * (1.0F - y)};
  } else if constexpr (activation == Activation::gelu) {
    const V below = 0.5F + 0.5F * error_function(x * 0.70710678F);  // of a standard normal number
    const V density = 0.39894228F * exp_of_negative(x * x * -0.5F);
    return {x * below, below + x * density};
  } else {
    const V y = sigmoid(x);
    return {x * y, y * (1.0F + x * (1.0F - y))};
  }
}

}  // namespace
}  // namespace stoker::fused_cpu
