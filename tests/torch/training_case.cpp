#include "torch/training_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/random.h"
#include "fused/cpu/fused_cpu_engine.h"
#include "fused/reshaped.h"
#include "torch/door.h"

namespace stoker::test {

Dataset synthetic_rows(std::int64_t rows, std::int64_t columns, bool classes, std::uint64_t seed) {
  Array features(DType::float32, {rows, columns});
  Array targets = classes ? Array(DType::int64, {rows}) : Array(DType::float32, {rows, 1});
  const RandomKey key = random_key(seed, Purpose::sample, 0);
  std::uint32_t drawn = 0;
  for (float& value : features.as<float>()) value = static_cast<float>(2 * uniform(key, drawn++) - 1);
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* x = features.as<float>().data() + row * columns;
    const double y = x[0] * x[1] - x[2] + 0.1 * uniform(key, drawn++);
    const auto place = static_cast<std::size_t>(row);
    if (classes) {
      targets.as<std::int64_t>()[place] = y < -0.3 ? 0 : y < 0.3 ? 1 : 2;
    } else {
      targets.as<float>()[place] = static_cast<float>(y);
    }
  }
  return {{{"features", Role::features, features}, {"targets", Role::targets, targets}}};
}

EngineRequest small_request() {
  EngineRequest request;
  test::reshape(request, [&](MlpShape& shape) {
    shape.inputs = 6;
    shape.hidden_layers = {24, 9};
    shape.outputs = 1;
    shape.dropout = 0.2;
  });
  request.batch_size = 16;
  request.seed = 11;
  request.training = synthetic_rows(203, 6, false, 1);
  request.validation = synthetic_rows(50, 6, false, 2);
  request.initial_parameters = initial_parameters(request.network, 5);
  return request;
}

EngineRequest placed_on(EngineRequest request, Device device, Memory memory) {
  request.device = device;
  for (Dataset* dataset : {&request.training, &request.validation}) {
    for (DatasetArray& entry : dataset->arrays) {
      entry.array = entry.array.to(memory, device);
      if (entry.has_windows()) entry.starts = entry.starts.to(memory, device);
    }
  }
  return request;
}

std::optional<Device> first_gpu() {
  for (const DeviceInfo& info : list_devices().devices) {
    if (info.device.is_cuda()) return info.device;
  }
  return std::nullopt;
}

std::unique_ptr<Engine> make_engine(std::string_view name, const EngineRequest& request) {
  std::vector<EngineMaker> makers{fused_cpu::maker()};
  makers.insert(makers.end(), torch_door::engines().begin(), torch_door::engines().end());
  for (const EngineMaker& maker : makers) {
    if (maker.name != name) continue;
    const std::string refusal = maker.refusal(request);
    if (!refusal.empty()) refuse("{}", refusal);
    return maker.make(request);
  }
  fail("there is no engine called {}", name);
}

ChunkResult run_epochs(Engine& engine, const EngineRequest& request, std::int64_t epochs,
                       std::int64_t chunk_steps, std::int64_t first_step, float rate) {
  ChunkResult all;
  const std::int64_t end = epochs * request.steps_per_epoch();
  for (std::int64_t step = first_step; step < end && !all.stopped_early; step += chunk_steps) {
    const auto count = static_cast<std::size_t>(std::min(chunk_steps, end - step));
    const ChunkResult result = engine.run({step, std::vector<float>(count, rate)});
    all.finished_epochs.insert(all.finished_epochs.end(), result.finished_epochs.begin(),
                               result.finished_epochs.end());
    all.stopped_early = result.stopped_early;
    all.is_sound = all.is_sound && result.is_sound;
  }
  return all;
}

bool same_bits(const NamedArrays& one, const NamedArrays& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](const NamedArray& a, const NamedArray& b) {
                      return a.name == b.name && a.array.shape() == b.array.shape() &&
                             std::memcmp(a.array.data(), b.array.data(), a.array.bytes()) == 0;
                    });
}

double largest_difference(const NamedArrays& one, const NamedArrays& other) {
  double worst = 0;
  for (const NamedArray& entry : one) {
    const auto expected = entry.array.as<float>();
    const auto actual = find_array(other, entry.name).as<float>();
    double scale = 1e-6;
    double difference = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      scale = std::max(scale, static_cast<double>(std::fabs(expected[i])));
      difference = std::max(difference, std::fabs(static_cast<double>(expected[i]) - actual[i]));
    }
    worst = std::max(worst, difference / scale);
  }
  return worst;
}

}  // namespace stoker::test
