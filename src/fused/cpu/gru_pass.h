#pragma once

#include "fused/cpu/curves.h"
#include "fused/cpu/gru_moment.h"
#include "fused/cpu/simd.h"

namespace stoker::fused_cpu {
namespace {

void run_gru_moment(const GruMoment& work) {
  const std::int64_t hidden = work.hidden;
  for (std::int64_t row = 0; row < work.rows; ++row) {
    float* gates = work.gates + 3 * hidden * row;
    for (std::int64_t i = 0; i < hidden; i += lanes) {
      const auto by_state = [&](std::int64_t gate) {
        const V bias = load_anywhere(work.state_bias + gate * hidden + i);
        if (work.state_sums == nullptr) return bias;
        return bias + load_anywhere(work.state_sums + (3 * row + gate) * hidden + i);
      };
      const V reset = sigmoid(load_anywhere(gates + i) + by_state(0));
      const V update = sigmoid(load_anywhere(gates + hidden + i) + by_state(1));
      const V state_news = by_state(2);
      const V news = hyperbolic_tangent(load_anywhere(gates + 2 * hidden + i) + reset * state_news);
      V before{};
      if (work.before != nullptr) before = load_anywhere(work.before + work.output_stride * row + i);
      store_anywhere(gates + i, reset);
      store_anywhere(gates + hidden + i, update);
      store_anywhere(gates + 2 * hidden + i, news);
      store_anywhere(work.state_news + hidden * row + i, state_news);
      store_anywhere(work.output + work.output_stride * row + i, news + update * (before - news));
    }
  }
}

void run_gru_moment_back(const GruMomentBack& work) {
  const std::int64_t hidden = work.hidden;
  for (std::int64_t row = 0; row < work.rows; ++row) {
    const float* gates = work.gates + 3 * hidden * row;
    float* of_inputs = work.input_sums_gradient + 3 * hidden * row;
    float* of_state = work.state_sums_gradient + 3 * hidden * row;
    for (std::int64_t i = 0; i < hidden; i += lanes) {
      const std::int64_t at = hidden * row + i;
      const V reset = load_anywhere(gates + i);
      const V update = load_anywhere(gates + hidden + i);
      const V news = load_anywhere(gates + 2 * hidden + i);
      V before{};
      if (work.before != nullptr) before = load_anywhere(work.before + work.output_stride * row + i);
      V of_output = load_anywhere(work.output_gradient + work.output_stride * row + i) +
                    load_anywhere(work.kept_gradient + at);
      if (work.state_gradient != nullptr) of_output += load_anywhere(work.state_gradient + at);
      const V of_news = of_output * (1.0F - update) * (1.0F - news * news);
      const V of_reset = of_news * load_anywhere(work.state_news + at) * reset * (1.0F - reset);
      const V of_update = of_output * (before - news) * update * (1.0F - update);
      store_anywhere(of_inputs + i, of_reset);
      store_anywhere(of_inputs + hidden + i, of_update);
      store_anywhere(of_inputs + 2 * hidden + i, of_news);
      store_anywhere(of_state + i, of_reset);
      store_anywhere(of_state + hidden + i, of_update);
      store_anywhere(of_state + 2 * hidden + i, of_news * reset);
      store_anywhere(work.kept_gradient + at, of_output * update);
    }
  }
}

}  // namespace
}  // namespace stoker::fused_cpu
