#include <algorithm>
#include <cmath>
#include <cstdint>
#include <list>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "fused/cpu/encoder_block.h"
#include "fused/cpu/step.h"
#include "plain_encoder.h"

// The kernels of networks over windows on a CPU, for every instruction set that this machine has. They need
// nothing but themselves, so that tools/neon-check can run this file for another processor.
namespace stoker {
namespace {

using fused_cpu::Kernels;
using test::Doubles;
using Floats = std::vector<float>;

const std::vector<const Kernels*>& kernels_here() {
  static const std::vector<const Kernels*> all = [] {
    std::vector<const Kernels*> found{&fused_cpu::kernels_baseline()};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
      found.push_back(&fused_cpu::kernels_avx2());
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
      found.push_back(&fused_cpu::kernels_avx512());
#endif
    return found;
  }();
  return all;
}

Floats drawn(std::int64_t count, std::uint64_t number, double size = 1) {
  Floats values(static_cast<std::size_t>(count));
  const RandomKey key = random_key(11, Purpose::sample, number);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(size * (2 * uniform(key, static_cast<std::uint32_t>(i)) - 1));
  return values;
}

Doubles doubles(const Floats& values) {
  return {values.begin(), values.end()};
}

void multiply_plainly(const fused_cpu::Product& p) {
  for (std::int64_t i = 0; i < p.rows; ++i)
    for (std::int64_t j = 0; j < p.columns; ++j) {
      double sum = p.adds ? static_cast<double>(p.out[i * p.columns + j]) : 0;
      for (std::int64_t k = 0; k < p.depth; ++k)
        sum += static_cast<double>(p.left_is_turned ? p.left[k * p.rows + i] : p.left[i * p.depth + k]) *
               static_cast<double>(p.right_is_turned ? p.right[j * p.depth + k] : p.right[k * p.columns + j]);
      p.out[i * p.columns + j] = static_cast<float>(sum);
    }
}

class SequenceKernelsOnCpu : public testing::TestWithParam<const Kernels*> {};

TEST_P(SequenceKernelsOnCpu, MultiplyByPackedPanels) {
  for (const std::int64_t rows : {1, 3, 8, 21})
    for (const std::int64_t depth : {1, 16, 37})
      for (const std::int64_t columns : {16, 32, 80})
        for (const bool is_turned : {false, true}) {
          const Floats left = drawn(rows * depth, 1);
          const Floats matrix = drawn(depth * columns, 2);
          Floats out = drawn(rows * columns, 3);
          Floats expected = out;
          multiply_plainly(
              {rows, depth, columns, left.data(), matrix.data(), expected.data(), false, is_turned, true});
          Floats panels(matrix.size());
          GetParam()->pack_panels({depth, columns, matrix.data(), is_turned, panels.data()});
          GetParam()->multiply_panels(
              {rows, depth, columns, left.data(), depth, panels.data(), out.data(), columns, true});
          for (std::size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], expected[i], 1e-5) << rows << i;
        }
}

struct EncoderRun {
  Floats out;
  std::vector<Floats> gradients;  // of what enters and of the weights
};

// How the weights are given to the block.
enum class Weights { as_they_are, turned, in_panels };

// A matrix of `rows` rows; what is made of it stays in `made`.
fused_cpu::EncoderMatrix matrix_of(const Kernels& kernels, const Floats& values, std::size_t rows,
                                   Weights how, std::list<Floats>& made) {
  const auto outputs = static_cast<std::int64_t>(rows);
  const auto inputs = static_cast<std::int64_t>(values.size() / rows);
  const auto room = [&] { return made.emplace_back(values.size()).data(); };
  fused_cpu::EncoderMatrix matrix;
  matrix.values = values.data();
  if (how == Weights::turned) {
    float* turned = room();
    for (std::int64_t i = 0; i < inputs * outputs; ++i)
      turned[i % inputs * outputs + i / inputs] = values[static_cast<std::size_t>(i)];
    matrix.turned = turned;
  } else if (how == Weights::in_panels) {
    float* panels = room();
    float* panels_back = room();
    kernels.pack_panels({inputs, outputs, values.data(), /*is_turned=*/true, panels});
    kernels.pack_panels({outputs, inputs, values.data(), /*is_turned=*/false, panels_back});
    matrix.panels = panels;
    matrix.panels_back = panels_back;
  }
  return matrix;
}

// The block over these arrays, forward and back from `factors`.
EncoderRun run_block(const Kernels& kernels, const fused_cpu::EncoderShape& shape, std::int64_t windows,
                     const std::vector<Floats>& all, const test::EncoderMaskArrays& masks,
                     const Floats& factors, Weights how) {
  std::list<Floats> made;
  const auto matrix = [&](std::size_t number) {
    return matrix_of(kernels, all[number], all[number + 1].size(), how, made);
  };
  const auto at = [&](std::size_t number) { return all[number].data(); };
  const fused_cpu::EncoderWeights weights{matrix(1), at(2), matrix(3), at(4),  matrix(5), at(6),
                                          matrix(7), at(8), at(9),     at(10), at(11),    at(12)};
  const std::int64_t moments = windows * shape.attention.length;
  std::vector<Floats> kept;
  for (const std::int64_t count :
       {moments * shape.width(), 3 * moments * shape.width(), windows * shape.attention.shares_of_window(),
        moments * shape.width(), moments * shape.width(), moments * shape.width(), moments * shape.inner,
        moments * shape.inner, 4 * moments})
    kept.emplace_back(static_cast<std::size_t>(count));
  Floats workspace(static_cast<std::size_t>(shape.workspace(windows)));
  const auto mask = [&](std::size_t i) { return masks[i].empty() ? nullptr : masks[i].data(); };
  fused_cpu::EncoderWork work;
  work.shape = shape;
  work.windows = windows;
  work.weights = &weights;
  work.masks = {mask(0), mask(1), mask(2), mask(3)};
  work.kept = {kept[0].data(), kept[1].data(), kept[2].data(), kept[3].data(), kept[4].data(),
               kept[5].data(), kept[6].data(), kept[7].data(), kept[8].data()};
  work.in = all[0].data();
  work.workspace = workspace.data();
  work.multiply = multiply_plainly;
  work.multiply_panels = kernels.multiply_panels;

  EncoderRun run;
  run.out.resize(all[0].size());
  fused_cpu::run_encoder_block(kernels.tokens, work, run.out.data());
  for (const Floats& each : all) run.gradients.emplace_back(each.size());
  const auto of = [&](std::size_t number) { return run.gradients[number].data(); };
  fused_cpu::run_encoder_block_back(
      kernels.tokens, work, factors.data(),
      {of(1), of(2), of(3), of(4), of(5), of(6), of(7), of(8), of(9), of(10), of(11), of(12)},
      /*is_first=*/true, of(0));
  return run;
}

// Each array's gradient along a random direction, against the difference of two losses on either side.
void expect_encoder(const Kernels& kernels, const fused_cpu::EncoderShape& shape, std::int64_t windows,
                    bool with_masks, Weights how) {
  const std::int64_t width = shape.width();
  const std::int64_t inner = shape.inner;
  const std::int64_t moments = windows * shape.attention.length;
  const std::int64_t sizes[]{moments * width,
                             3 * width * width,
                             3 * width,
                             width * width,
                             width,
                             inner * width,
                             inner,
                             width * inner,
                             width,
                             width,
                             width,
                             width,
                             width};
  std::vector<Floats> all;
  test::EncoderArrays exact;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const bool is_matrix = i > 0 && sizes[i] > 3 * width;
    all.push_back(drawn(sizes[i], 20 + i, is_matrix ? 2 / std::sqrt(static_cast<double>(width)) : 1));
    exact[i] = doubles(all.back());
  }
  test::EncoderMaskArrays masks;
  const std::int64_t pairs = shape.attention.heads * shape.attention.length * shape.attention.length;
  const std::int64_t mask_sizes[]{windows * pairs, moments * width, moments * inner, moments * width};
  for (std::size_t i = 0; with_masks && i < masks.size(); ++i) {
    masks[i] = drawn(mask_sizes[i], 40 + i);
    for (float& each : masks[i]) each = each < 0 ? 0.0F : 2.0F;
  }
  const Floats factors = drawn(moments * width, 50);
  const EncoderRun run = run_block(kernels, shape, windows, all, masks, factors, how);

  const Doubles expected = test::plain_encoder(shape, exact, masks);
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(run.out[i], expected[i], 3e-5) << i;
  const auto loss = [&](const test::EncoderArrays& arrays) {
    const Doubles out = test::plain_encoder(shape, arrays, masks);
    double sum = 0;
    for (std::size_t i = 0; i < out.size(); ++i) sum += out[i] * static_cast<double>(factors[i]);
    return sum;
  };
  for (std::size_t number = 0; number < exact.size(); ++number) {
    const Floats direction = drawn(sizes[number], 60 + number);
    constexpr double distance = 1e-6;
    test::EncoderArrays ahead = exact;
    test::EncoderArrays behind = exact;
    double along = 0;
    double size = 0;
    for (std::size_t i = 0; i < direction.size(); ++i) {
      const auto towards = static_cast<double>(direction[i]);
      ahead[number][i] += distance * towards;
      behind[number][i] -= distance * towards;
      along += towards * static_cast<double>(run.gradients[number][i]);
      size += std::abs(towards * static_cast<double>(run.gradients[number][i]));
    }
    EXPECT_NEAR(along, (loss(ahead) - loss(behind)) / (2 * distance), 1e-5 * size + 1e-4) << number;
  }
}

TEST_P(SequenceKernelsOnCpu, TakeWindowsThroughAnEncoderLayerAndBack) {
  struct LayerCase {
    fused_cpu::AttentionShape attention;
    std::int64_t inner;
    std::int64_t windows;
    Activation activation;
  };
  for (const LayerCase& each :
       {LayerCase{{5, 2, 16}, 48, 3, Activation::gelu}, LayerCase{{20, 1, 32}, 16, 1, Activation::relu},
        LayerCase{{1, 1, 16}, 16, 2, Activation::tanh}, LayerCase{{17, 2, 16}, 32, 1, Activation::silu},
        LayerCase{{16, 1, 16}, 16, 2, Activation::sigmoid}})
    for (const bool with_masks : {false, true}) {
      SCOPED_TRACE(std::to_string(each.attention.length) + (with_masks ? " with masks" : ""));
      fused_cpu::EncoderShape shape;
      shape.attention = each.attention;
      shape.inner = each.inner;
      shape.activation = each.activation;
      shape.epsilon = 1e-5F;
      for (const Weights how : {Weights::as_they_are, Weights::turned, Weights::in_panels})
        expect_encoder(*GetParam(), shape, each.windows, with_masks, how);
    }
}

double sigmoid_of(double x) {
  return 1 / (1 + std::exp(-x));
}

// The loss of one moment of an LSTM: factors of its output and of its cell.
double lstm_loss(const Doubles& gates, const Doubles& before, const Floats& of_output, const Floats& of_cell,
                 std::size_t hidden) {
  double sum = 0;
  for (std::size_t place = 0; place < before.size(); ++place) {
    const double* row = gates.data() + place / hidden * 4 * hidden + place % hidden;
    const double cell =
        sigmoid_of(row[hidden]) * before[place] + sigmoid_of(row[0]) * std::tanh(row[2 * hidden]);
    sum += static_cast<double>(of_output[place]) * sigmoid_of(row[3 * hidden]) * std::tanh(cell) +
           static_cast<double>(of_cell[place]) * cell;
  }
  return sum;
}

TEST_P(SequenceKernelsOnCpu, TakeAnLstmThroughAMomentAndBack) {
  constexpr std::int64_t hidden = 32;
  constexpr std::int64_t rows = 3;
  struct alignas(64) Wide {
    float values[rows * 4 * hidden];
  };
  Wide gates, cell_before, cell, bent_cell, output, of_output, of_cell, of_gates;
  const Floats sums = drawn(rows * 4 * hidden, 80, 3);
  const Floats before = drawn(rows * hidden, 81);
  const Floats output_factors = drawn(rows * hidden, 82);
  const Floats cell_factors = drawn(rows * hidden, 83);
  std::copy(sums.begin(), sums.end(), gates.values);
  std::copy(before.begin(), before.end(), cell_before.values);
  std::copy(output_factors.begin(), output_factors.end(), of_output.values);
  std::copy(cell_factors.begin(), cell_factors.end(), of_cell.values);
  GetParam()->lstm_moment(
      {rows, hidden, gates.values, cell_before.values, cell.values, bent_cell.values, output.values, hidden});
  GetParam()->lstm_moment_back({rows, hidden, gates.values, cell_before.values, bent_cell.values,
                                of_output.values, hidden, nullptr, of_cell.values, of_gates.values});
  double loss = 0;
  for (std::size_t i = 0; i < before.size(); ++i)
    loss += static_cast<double>(output_factors[i] * output.values[i]) +
            static_cast<double>(cell_factors[i] * cell.values[i]);
  EXPECT_NEAR(loss, lstm_loss(doubles(sums), doubles(before), output_factors, cell_factors, hidden), 1e-4);
  const auto difference = [&](Doubles of_sums, Doubles of_before, std::size_t place, bool of_gate) {
    constexpr double distance = 1e-6;
    double& moved = of_gate ? of_sums[place] : of_before[place];
    moved += distance;
    const double ahead = lstm_loss(of_sums, of_before, output_factors, cell_factors, hidden);
    moved -= 2 * distance;
    return (ahead - lstm_loss(of_sums, of_before, output_factors, cell_factors, hidden)) / (2 * distance);
  };
  for (std::size_t i = 0; i < sums.size(); ++i)
    EXPECT_NEAR(of_gates.values[i], difference(doubles(sums), doubles(before), i, true), 1e-5) << i;
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_NEAR(of_cell.values[i], difference(doubles(sums), doubles(before), i, false), 1e-5) << i;
}

// The loss of one moment of a GRU: factors of its output. The state's sums and the output before vary apart
// from each other.
double gru_loss(const Doubles& gates, const Doubles& sums, const Doubles& before, const Floats& bias,
                const Floats& of_output, std::size_t hidden) {
  double loss = 0;
  for (std::size_t place = 0; place < before.size(); ++place) {
    const std::size_t unit = place % hidden;
    const std::size_t row = place / hidden * 3 * hidden + unit;
    const auto by_state = [&](std::size_t gate) {
      return sums[row + gate * hidden] + static_cast<double>(bias[gate * hidden + unit]);
    };
    const double reset = sigmoid_of(gates[row] + by_state(0));
    const double update = sigmoid_of(gates[row + hidden] + by_state(1));
    const double news = std::tanh(gates[row + 2 * hidden] + reset * by_state(2));
    loss += static_cast<double>(of_output[place]) * ((1 - update) * news + update * before[place]);
  }
  return loss;
}

TEST_P(SequenceKernelsOnCpu, TakeAGruThroughAMomentAndBack) {
  constexpr std::int64_t hidden = 32;
  constexpr std::int64_t rows = 3;
  const Floats input_sums = drawn(rows * 3 * hidden, 90, 3);
  const Floats sums = drawn(rows * 3 * hidden, 91, 2);
  const Floats before = drawn(rows * hidden, 92);
  const Floats bias = drawn(3 * hidden, 93);
  const Floats factors = drawn(rows * hidden, 94);
  Floats gates = input_sums;
  Floats state_news(before.size()), output(before.size()), of_before(before.size());
  Floats of_inputs(gates.size()), of_state(gates.size());
  GetParam()->gru_moment({rows, hidden, gates.data(), sums.data(), bias.data(), state_news.data(),
                          before.data(), output.data(), hidden});
  GetParam()->gru_moment_back({rows, hidden, gates.data(), state_news.data(), before.data(), factors.data(),
                               hidden, of_before.data(), nullptr, of_inputs.data(), of_state.data()});
  double loss = 0;
  for (std::size_t i = 0; i < output.size(); ++i) loss += static_cast<double>(factors[i] * output[i]);
  const auto loss_of = [&](const std::vector<Doubles>& all) {
    return gru_loss(all[0], all[1], all[2], bias, factors, hidden);
  };
  const std::vector<Doubles> exact{doubles(input_sums), doubles(sums), doubles(before)};
  EXPECT_NEAR(loss, loss_of(exact), 1e-4);
  const Floats* found[]{&of_inputs, &of_state, &of_before};
  for (std::size_t number = 0; number < exact.size(); ++number)
    for (std::size_t i = 0; i < exact[number].size(); ++i) {
      constexpr double distance = 1e-6;
      std::vector<Doubles> ahead = exact;
      std::vector<Doubles> behind = exact;
      ahead[number][i] += distance;
      behind[number][i] -= distance;
      EXPECT_NEAR((*found[number])[i], (loss_of(ahead) - loss_of(behind)) / (2 * distance), 1e-5)
          << number << " " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, SequenceKernelsOnCpu, testing::ValuesIn(kernels_here()),
                         [](const testing::TestParamInfo<const Kernels*>& set) {
                           std::string name = set.param->name;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace stoker
