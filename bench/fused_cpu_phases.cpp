// The phases of the fused CPU engine's step, without the engine around them: the least time of each in
// microseconds within 25,000 running steps of w1 at batch 32. For whoever tunes the kernels. Compiled for the
// instruction set that is asked about; for AVX-512:
//   flags="-std=c++20 -O3 -ffp-contract=fast -fno-math-errno -fno-trapping-math -fno-schedule-insns -Isrc"
//   isa="-march=x86-64-v4 -mprefer-vector-width=512"
//   g++ $flags $isa bench/fused_cpu_phases.cpp -o build/fused_cpu_phases && build/fused_cpu_phases 0.2
// with isa="-march=x86-64-v3" for AVX2 and with an empty one for NEON and SSE2. The argument is the dropout.
// The weights' hash at the end is the same for kernels that give the same bits.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"
#include "fused/cpu/step_kernels.h"

namespace {

using namespace stoker;
using namespace stoker::fused_cpu;

constexpr int table_rows = 40'000, columns = 13, batch = 32, steps = 5'000, tries = 5;
constexpr int widths[]{columns, 128, 64, 32, 1};

// Numbers of 64 bytes alignment, all zero.
float* zeros(std::int64_t count) {
  const std::size_t bytes = static_cast<std::size_t>(padded(count, panel)) * sizeof(float);
  void* memory = std::aligned_alloc(64, bytes);
  std::memset(memory, 0, bytes);
  return static_cast<float*>(memory);
}

Network make_network() {
  Network network;
  network.layer_count = 4;
  std::int64_t transposed = 0;
  for (int i = 0; i < 4; ++i) {
    Layer& layer = network.layers[i];
    layer.depth = widths[i];
    layer.width = widths[i + 1];
    layer.inputs = padded(layer.depth, panel);
    layer.outputs = layer.width == 1 ? 1 : padded(layer.width, panel);
    layer.weights = network.size;
    layer.biases = layer.weights + layer.weight_count();
    network.size = layer.biases + layer.bias_count();
    layer.transposed = transposed;
    if (i > 0 && !layer.is_single()) transposed += layer.weight_count();
  }
  network.parameters = zeros(network.size);
  network.first_moment = zeros(network.size);
  network.second_moment = zeros(network.size);
  network.transposed = zeros(transposed);
  return network;
}

void draw_weights(const Network& network) {
  const RandomKey key = random_key(1, Purpose::sample, 0);
  for (int i = 0; i < network.layer_count; ++i) {
    const Layer& layer = network.layers[i];
    const double bound = 1 / std::sqrt(static_cast<double>(layer.depth));
    for (std::int64_t k = 0; k < layer.depth; ++k) {
      for (std::int64_t n = 0; n < layer.width; ++n) {
        const std::int64_t place = layer.is_single() ? k : (n / panel * layer.inputs + k) * panel + n % panel;
        const auto drawn = static_cast<std::uint32_t>(i << 20 | k << 10 | n);
        network.parameters[layer.weights + place] = static_cast<float>((2 * uniform(key, drawn) - 1) * bound);
      }
    }
  }
  transpose_weights(network);
}

Workspace make_space(const Network& network) {
  Workspace space;
  space.rows = batch;
  space.active[0] = zeros(batch * network.layers[0].inputs);
  for (int i = 0; i < network.layer_count; ++i) {
    space.active[i + 1] = zeros(batch * network.layers[i].outputs);
    space.deltas[i] = zeros(batch * network.layers[i].outputs);
    space.slopes[i] = nullptr;
  }
  return space;
}

struct Table {
  std::vector<float> features = std::vector<float>(table_rows * columns);
  std::vector<float> targets = std::vector<float>(table_rows);

  Table() {
    const RandomKey key = random_key(2, Purpose::sample, 0);
    for (std::size_t row = 0; row < targets.size(); ++row) {
      double sum = 0;
      for (std::size_t i = row * columns; i < (row + 1) * columns; ++i) {
        features[i] = static_cast<float>(normal(key, static_cast<std::uint32_t>(i)));
        sum += features[i] * (i % 2 == 0 ? 0.3 : -0.25);
      }
      targets[row] =
          static_cast<float>(sum + 0.1 * normal(key, static_cast<std::uint32_t>(features.size() + row)));
    }
  }
};

// What the processor counts at a steady rate.
std::uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

double ticks_per_microsecond() {
  const auto start = std::chrono::steady_clock::now();
  const std::uint64_t first = ticks();
  while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(50)) {
  }
  const std::uint64_t last = ticks();
  const std::chrono::duration<double, std::micro> passed = std::chrono::steady_clock::now() - start;
  return static_cast<double>(last - first) / passed.count();
}

constexpr const char* phase_names[]{
    "rows gathered",      "forward 13 → 128", "forward 128 → 64", "forward 64 → 32", "output",
    "loss and its delta", "deltas 1 → 32",    "update 32 × 1",    "deltas 32 → 64",  "update 64 × 32",
    "deltas 64 → 128",    "update 128 × 64",  "update 13 × 128"};
constexpr int phase_count = std::size(phase_names);

struct Clock {
  std::uint64_t least[phase_count];
  std::uint64_t last = 0;
  int phase = 0;
  std::uint64_t least_step = ~std::uint64_t{0};
  std::uint64_t sum = 0;

  Clock() { std::fill(least, least + phase_count, ~std::uint64_t{0}); }
  void begin() {
    phase = 0;
    sum = 0;
    last = ticks();
  }
  void end_phase() {
    const std::uint64_t now = ticks();
    least[phase] = std::min(least[phase], now - last);
    sum += now - last;
    ++phase;
    last = ticks();
  }
};

template <bool drops>
void run_step(const Network& network, const Workspace& space, const Table& table, Dropout& dropout, int step,
              Clock& clock) {
  const RandomKey rows = random_key(3, Purpose::shuffle, static_cast<std::uint64_t>(step));
  float targets[batch];
  clock.begin();
  for (std::uint32_t row = 0; row < batch; ++row) {
    const std::size_t source = random_bits(rows, row) % table_rows;
    std::memcpy(space.active[0] + row * panel, table.features.data() + source * columns,
                columns * sizeof(float));
    targets[row] = table.targets[source];
  }
  for (std::uint32_t i = 0; i < 3; ++i) {
    const RandomKey key = dropout_key(4, static_cast<std::uint64_t>(step), i);
    dropout.key_first[i] = key.first;
    dropout.key_second[i] = key.second;
  }
  clock.end_phase();
  for (int i = 0; i < 3; ++i) {
    forward_activated<Activation::relu>(network, space, dropout, true, i);
    clock.end_phase();
  }
  forward_outputs(network, space, 3);
  clock.end_phase();
  for (int row = 0; row < batch; ++row)
    space.deltas[3][row] = 2.0F / batch * (space.active[4][row] - targets[row]);
  clock.end_phase();
  Update update;
  update.first_keep = 0.1F;
  update.second_take = 0.001F;
  const double second_bias = std::sqrt(1 - std::pow(0.999, step + 1));
  update.rate = static_cast<float>(-1e-3 * second_bias / (1 - std::pow(0.9, step + 1)));
  update.epsilon = static_cast<float>(1e-8 * second_bias);
  for (int number = 3; number >= 0; --number) {
    if (number > 0) {
      deltas_below<true, drops>(network, space, drops ? dropout.scale : 1.0F, number);
      clock.end_phase();
    }
    update_layer<Update::Kind::adam, false>(network, space, update, number);
    clock.end_phase();
  }
  clock.least_step = std::min(clock.least_step, clock.sum);
}

std::uint64_t hash_of(const float* values, std::int64_t count) {
  std::uint64_t hash = 1469598103934665603U;
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, values + i, sizeof bits);
    hash = (hash ^ bits) * 1099511628211U;
  }
  return hash;
}

template <bool drops>
void run(double share) {
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040);  // as the engine does: subnormal numbers are zeros
#endif
  const Network network = make_network();
  draw_weights(network);
  const Workspace space = make_space(network);
  const Table table;
  Dropout dropout;
  dropout.is_on = drops;
  dropout.threshold = drops ? dropout_threshold(static_cast<float>(share)) : 1;
  dropout.scale = 1.0F / (1.0F - static_cast<float>(share));
  Clock clock;
  for (int step = 0; step < steps * tries; ++step)
    run_step<drops>(network, space, table, dropout, step, clock);
  const double rate = ticks_per_microsecond();
  double sum = 0;
  for (int i = 0; i < phase_count; ++i) {
    std::printf("%7.2f  %s\n", static_cast<double>(clock.least[i]) / rate, phase_names[i]);
    sum += static_cast<double>(clock.least[i]) / rate;
  }
  std::printf("%7.2f  sum; the least of a whole step is %.2f; weights' hash %016llx\n", sum,
              static_cast<double>(clock.least_step) / rate,
              static_cast<unsigned long long>(hash_of(network.parameters, network.size)));
}

}  // namespace

int main(int argument_count, char** arguments) {
  const double share = argument_count > 1 ? std::atof(arguments[1]) : 0.2;
  if (share > 0) {
    run<true>(share);
  } else {
    run<false>(0);
  }
}
