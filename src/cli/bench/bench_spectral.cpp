#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "base/notes.h"
#include "base/random.h"
#include "base/time/measure.h"
#include "cli/bench/bench.h"
#include "cli/view/terminal.h"
#include "device/array.h"
#include "device/device.h"
#include "device/workers.h"
#include "kernels/covariance.h"
#include "kernels/place.h"
#include "model/nodes/fused_chain.h"
#include "torch/door.h"

namespace stoker::cli {
namespace {

constexpr std::int64_t pixels_of_cube = 128 * 128;
constexpr std::int64_t cube_channels = 50;

// Each pixel a sum of two Gaussian curves over the channels with noise.
Array spectral_pixels(std::int64_t cubes) {
  const std::int64_t rows = cubes * pixels_of_cube;
  Array pixels(DType::float32, {rows, cube_channels});
  float* values = pixels.as<float>().data();
  share_among_cores(cubes, [&](std::int64_t cube) {
    const RandomKey key = random_key(42, Purpose::sample, static_cast<std::uint64_t>(cube));
    std::uint32_t index = 0;
    for (std::int64_t row = cube * pixels_of_cube; row < (cube + 1) * pixels_of_cube; ++row) {
      const auto first = static_cast<float>(uniform(key, index++));
      const auto second = static_cast<float>(uniform(key, index++));
      for (std::int64_t i = 0; i < cube_channels; ++i) {
        const float a = (static_cast<float>(i) - 15) / 8;
        const float b = (static_cast<float>(i) - 34) / 6;
        values[row * cube_channels + i] = 0.2F + first / (1 + a * a) + second / (1 + b * b) +
                                          0.05F * static_cast<float>(uniform(key, index++));
      }
    }
  });
  return pixels;
}

BenchLine line_of(const Measured& measured, std::int64_t pixels) {
  BenchLine line;
  line.batch = pixels;
  line.device = "cpu";
  line.us_per_step = 1e6 * measured.seconds_per_unit;
  line.spread = measured.spread;
  line.processor_us_per_step = 1e6 * measured.processor_seconds_per_unit;
  line.processor_spread = measured.processor_spread;
  line.samples_per_s = static_cast<double>(pixels) / measured.seconds_per_unit;
  line.peak_bytes = peak_memory_bytes();
  line.versions = {{"stoker", STOKER_VERSION}};
  return line;
}

BenchLine measure_pass(const Array& placed, Device device, const SpectralBenchOptions& options) {
  const kernels::StatisticsWork work{static_cast<const float*>(placed.data()), nullptr, placed.dimension(0),
                                     cube_channels, true};
  const Measured measured = measure(
      [&](std::int64_t passes) {
        for (std::int64_t i = 0; i < passes; ++i)
          kernels::covariance(work, kernels::BadPixels::refuse, {device, nullptr});
      },
      options.seconds);
  BenchLine line = line_of(measured, placed.dimension(0));
  line.workload = "w6 statistics";
  line.engine = device.is_cuda() ? "stoker"
                                 : fmt::format("stoker {}", kernels::covariance_kernels_here().front()->name);
  line.device = device.is_cuda() ? "cuda" : "cpu";
  line.precision = "fp32, sums in fp64";
  return line;
}

constexpr std::int64_t cubes_of_batch = 16;

// Min-max, PCA to 20, PCA to 10, RX, logit: cross-entropy and how far the axes are from orthogonal.
nodes::NodeGraph stress_graph() {
  constexpr const char* text =
      "nodes:\n"
      "- { name: data, type: CubeDataNode }\n"
      "- { name: scale, type: MinMaxNormalizer }\n"
      "- { name: first, type: TrainablePCA, settings: { n_components: 20 } }\n"
      "- { name: second, type: TrainablePCA, settings: { n_components: 10 } }\n"
      "- { name: rx, type: RXGlobal }\n"
      "- { name: logit, type: ScoreToLogit }\n"
      "- { name: bce, type: AnomalyBCEWithLogits }\n"
      "- { name: straight, type: OrthogonalityLoss }\n"
      "connections:\n"
      "- { source: data.cube, target: scale.data }\n"
      "- { source: scale.normalized, target: first.data }\n"
      "- { source: first.projected, target: second.data }\n"
      "- { source: second.projected, target: rx.data }\n"
      "- { source: rx.scores, target: logit.scores }\n"
      "- { source: logit.logits, target: bce.predictions }\n"
      "- { source: data.mask, target: bce.targets }\n"
      "- { source: first.components, target: straight.components }\n";
  config::Diagnostics diagnostics("the graph of w6");
  nodes::NodeGraph graph = nodes::read_node_graph(config::parse_document(text, "the graph of w6"),
                                                  {128, 128, cube_channels, {}}, "", diagnostics);
  diagnostics.refuse_if_any();
  return graph;
}

nodes::Values stress_batch() {
  const Array flat = spectral_pixels(cubes_of_batch);
  const Array cube = Array::from<float>(flat.as<float>(), {cubes_of_batch, 128, 128, cube_channels});
  Array mask(DType::uint8, {cubes_of_batch, 128, 128, 1});
  std::uint32_t index = 0;
  const RandomKey key = random_key(42, Purpose::sample, 1'000'000);
  for (std::uint8_t& each : mask.as<std::uint8_t>()) each = uniform(key, index++) < 0.02 ? 1 : 0;
  return {{"cube", cube}, {"mask", mask}};
}

// Forward and backward through every pixel of a batch, in one go and node by node.
void bench_training(const SpectralBenchOptions& options, Comparison& comparison) {
  const nodes::NodeGraph graph = stress_graph();
  const nodes::Values batch = stress_batch();
  const nodes::States states = nodes::learn_states(graph, [&](const auto& use) { use(batch); }, {}).states;
  const nodes::IsTrained is_trained = [](std::string_view node) {
    return node == "first" || node == "second" || node == "logit";
  };
  const auto chain = nodes::find_fused_chain(graph, states, is_trained);
  if (!chain) fail("the graph of w6 is no chain");
  const auto show = [&](const std::string& engine, const auto& step) {
    const Measured measured = measure(
        [&](std::int64_t steps) {
          for (std::int64_t i = 0; i < steps; ++i) step();
        },
        options.seconds);
    BenchLine line = line_of(measured, cubes_of_batch * pixels_of_cube);
    line.workload = "w6 forward and backward";
    line.engine = engine;
    line.precision = "fp32";
    comparison.show(line);
  };
  show("stoker, as one chain", [&] { nodes::run_fused_chain(graph, *chain, states, batch, is_trained); });
  show("stoker, node by node", [&] {
    const nodes::GraphValues values = nodes::run_forward(graph, states, batch, nodes::Stage::train);
    nodes::run_backward(graph, states, values, is_trained);
  });
}

// Multiply-adds in a second of all threads, and in one of the processor.
struct ProductRate {
  double by_clock = 0;
  double by_processor = 0;
};

ProductRate rate_of_products(double seconds) {
  std::int64_t in_one = 0;
  const Measured product =
      measure([&](std::int64_t times) { in_one = torch_door::multiply_large_matrices(times, 0); }, seconds);
  const auto work = static_cast<double>(in_one);
  return {work / product.seconds_per_unit, work / product.processor_seconds_per_unit};
}

// Of the products that are needed, one for each two channels.
void tell_share(const BenchLine& line, const ProductRate& before, const ProductRate& after) {
  const double work = static_cast<double>(line.batch) * (cube_channels * (cube_channels + 1) / 2);
  const double by_clock = (before.by_clock + after.by_clock) / 2;
  const double by_processor = (before.by_processor + after.by_processor) / 2;
  tell(fmt::format(
      "  one pass over {} pixels of {} channels: {:.2f} thousand million multiply-adds that are needed. A "
      "large fp32 matrix product on all cores does {:.1f} thousand million a second ({:.1f} a second of the "
      "processor); the pass has {:.0f} % of that rate, {:.0f} % by the processor's time",
      line.batch, cube_channels, work / 1e9, by_clock / 1e9, by_processor / 1e9,
      100 * work / (1e-6 * line.us_per_step) / by_clock,
      100 * work / (1e-6 * line.processor_us_per_step) / by_processor));
}

}  // namespace

void bench_w6(const SpectralBenchOptions& options, Comparison& comparison) {
  const Notes notes = [](Severity, const std::string& message) { tell(message); };
  const Device device = choose_device(options.device, notes);
  const Array pixels = spectral_pixels(options.cubes);
  const Array placed = device.is_cuda() ? pixels.to(Memory::device, device) : pixels;
  if (device.is_cuda()) {
    comparison.show(measure_pass(placed, device, options));
    return;
  }
  const ProductRate before = rate_of_products(options.seconds);
  const BenchLine line = measure_pass(placed, device, options);
  const ProductRate after = rate_of_products(options.seconds);
  comparison.show(line);
  tell_share(line, before, after);
  bench_training(options, comparison);
}

}  // namespace stoker::cli
