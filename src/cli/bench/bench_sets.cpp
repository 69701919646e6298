#include <cmath>
#include <vector>

#include "base/random.h"
#include "cli/bench/bench.h"
#include "cli/view/terminal.h"
#include "data/placement/dataset.h"
#include "device/device.h"
#include "model/family.h"

namespace stoker::cli {
namespace {

constexpr std::int64_t receiver_count = 10;
constexpr std::int64_t receiver_columns = 6;
constexpr std::int64_t place_numbers = 2;

// Standard normal receivers, of which 3 to 10 are present and the rest 0; a place is the mean of two columns
// over those that are, and some noise.
Dataset reception_table() {
  Array receivers(DType::float32, {bench_receptions, receiver_count, receiver_columns});
  Array present(DType::float32, {bench_receptions, receiver_count});
  Array places(DType::float32, {bench_receptions, place_numbers});
  const RandomKey key = random_key(42, Purpose::sample, 0);
  std::uint32_t index = 0;
  for (std::int64_t row = 0; row < bench_receptions; ++row) {
    const std::int64_t heard = 3 + static_cast<std::int64_t>(random_bits(key, index++) % 8);
    double sums[place_numbers]{};
    for (std::int64_t i = 0; i < receiver_count; ++i) {
      present.as<float>()[static_cast<std::size_t>(row * receiver_count + i)] = i < heard ? 1.0F : 0.0F;
      for (std::int64_t j = 0; j < receiver_columns; ++j) {
        const double value = i < heard ? normal(key, index++) : 0.0;
        const auto at = static_cast<std::size_t>((row * receiver_count + i) * receiver_columns + j);
        receivers.as<float>()[at] = static_cast<float>(value);
        if (j < place_numbers) sums[j] += value;
      }
    }
    for (std::int64_t j = 0; j < place_numbers; ++j)
      places.as<float>()[static_cast<std::size_t>(row * place_numbers + j)] =
          static_cast<float>(sums[j] / std::sqrt(static_cast<double>(heard)) + 0.1 * normal(key, index++));
  }
  return {{{"receivers", Role::features, receivers},
           {"present", Role::mask, present},
           {"targets", Role::targets, places}}};
}

EngineRequest reception_request(const Dataset& placed, Device device, std::int64_t batch,
                                const BenchOptions& options) {
  EngineRequest request;
  request.network = {"triangulation",
                     config::write_fields(family_named("triangulation").describe().fields),
                     {{"receivers", Role::features, DType::float32, {receiver_count, receiver_columns}},
                      {"present", Role::mask, DType::float32, {receiver_count}}},
                     place_numbers + 1};
  request.loss().kind = Loss::gaussian;
  request.optimizer.kind = Optimizer::adam;
  fill_in(options, placed, device, batch, request);
  return request;
}

}  // namespace

void bench_w4(const BenchOptions& options, Comparison& comparison,
              const std::function<void(std::int64_t batch, Device device)>& after_batch) {
  std::vector<EngineChoice> choices;
  for (const std::string& name : options.engines) choices.push_back(engine_named(name));
  const Notes notes = [](Severity, const std::string& message) { tell(message); };
  const Device device = choose_device(options.device, notes);
  const TrainingBench bench("w4", options, device);
  const Placement placed = place(reception_table(), device, notes);
  for (const std::int64_t batch : options.batches) {
    for (const EngineChoice choice : choices)
      bench.measure_steps(reception_request(placed.dataset, device, batch, options), choice, comparison);
    after_batch(batch, device);
  }
}

}  // namespace stoker::cli
