#pragma once

#include "fused/cpu/curves.h"
#include "fused/cpu/lstm_moment.h"
#include "fused/cpu/simd.h"

namespace stoker::fused_cpu {
namespace {

void run_lstm_moment(const LstmMoment& work) {
  const std::int64_t hidden = work.hidden;
  for (std::int64_t row = 0; row < work.rows; ++row) {
    float* gates = work.gates + 4 * hidden * row;
    const std::int64_t at = hidden * row;
    for (std::int64_t i = 0; i < hidden; i += lanes) {
      const V input = sigmoid(load(gates + i));
      const V forget = sigmoid(load(gates + hidden + i));
      const V news = hyperbolic_tangent(load(gates + 2 * hidden + i));
      const V output = sigmoid(load(gates + 3 * hidden + i));
      V cell = input * news;
      if (work.cell_before != nullptr) cell += forget * load(work.cell_before + at + i);
      const V bent = hyperbolic_tangent(cell);
      store(gates + i, input);
      store(gates + hidden + i, forget);
      store(gates + 2 * hidden + i, news);
      store(gates + 3 * hidden + i, output);
      store(work.cell + at + i, cell);
      store(work.bent_cell + at + i, bent);
      store(work.output + work.output_stride * row + i, output * bent);
    }
  }
}

void run_lstm_moment_back(const LstmMomentBack& work) {
  const std::int64_t hidden = work.hidden;
  for (std::int64_t row = 0; row < work.rows; ++row) {
    const float* gates = work.gates + 4 * hidden * row;
    float* gradient = work.gate_gradient + 4 * hidden * row;
    const std::int64_t at = hidden * row;
    for (std::int64_t i = 0; i < hidden; i += lanes) {
      const V input = load(gates + i);
      const V forget = load(gates + hidden + i);
      const V news = load(gates + 2 * hidden + i);
      const V output = load(gates + 3 * hidden + i);
      const V bent = load(work.bent_cell + at + i);
      V of_output = load(work.output_gradient + work.output_stride * row + i);
      if (work.state_gradient != nullptr) of_output += load(work.state_gradient + at + i);
      const V of_cell = load(work.cell_gradient + at + i) + of_output * output * (1.0F - bent * bent);
      V before{};
      if (work.cell_before != nullptr) before = load(work.cell_before + at + i);
      store(gradient + i, of_cell * news * input * (1.0F - input));
      store(gradient + hidden + i, of_cell * before * forget * (1.0F - forget));
      store(gradient + 2 * hidden + i, of_cell * input * (1.0F - news * news));
      store(gradient + 3 * hidden + i, of_output * bent * output * (1.0F - output));
      store(work.cell_gradient + at + i, of_cell * forget);
    }
  }
}

}  // namespace
}  // namespace stoker::fused_cpu
