#include "fused/cpu/entrance_rows.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "fused/cpu/zeros.h"

namespace stoker::fused_cpu {
namespace {

// Which number of the flat buffer is which of a named array. Calls use(place, index).
template <class Use>
void for_each_frequency(const EntrancePlan& plan, Use use) {
  std::size_t index = 0;
  for (std::int64_t n = 0; n < plan.numbers; ++n)
    for (std::int64_t f = 0; f < plan.frequencies; ++f)
      use(plan.frequencies_at + n * plan.sines + f, index++);
}

template <class Use>
void for_each_entrance_weight(const EntrancePlan& plan, Use use) {
  std::size_t index = 0;
  for (std::int64_t n = 0; n < plan.numbers; ++n) {
    for (std::int64_t w = 0; w < plan.width; ++w) {
      const std::int64_t place = plan.weights_at + n * plan.weights_of_number() + w;
      use(place + 2 * plan.sines * plan.padded_width, index++);  // the number itself
      for (std::int64_t f = 0; f < plan.frequencies; ++f) use(place + f * plan.padded_width, index++);
      for (std::int64_t f = 0; f < plan.frequencies; ++f)
        use(place + (plan.sines + f) * plan.padded_width, index++);
    }
  }
}

template <class Use>
void for_each_entrance_bias(const EntrancePlan& plan, Use use) {
  std::size_t index = 0;
  for (std::int64_t n = 0; n < plan.numbers; ++n)
    for (std::int64_t w = 0; w < plan.width; ++w) use(plan.biases_at + n * plan.padded_width + w, index++);
}

// Calls use(name, shape, walk) for each array, where walk calls with the places of its numbers.
template <class Use>
void for_each_array(const Entrance& entrance, const Network& network, const EntrancePlaces& places, Use use) {
  const EntrancePlan& plan = network.entrance;
  if (plan.numbers > 0) {
    use("entrance.frequencies", Shape{plan.numbers, plan.frequencies},
        [&](auto each) { for_each_frequency(plan, each); });
    use("entrance.weight", Shape{plan.numbers, plan.width, 1 + 2 * plan.frequencies},
        [&](auto each) { for_each_entrance_weight(plan, each); });
    use("entrance.bias", Shape{plan.numbers, plan.width},
        [&](auto each) { for_each_entrance_bias(plan, each); });
  }
  for (std::size_t i = 0; i < entrance.categories.size(); ++i) {
    const auto& [size, width] = entrance.categories[i];
    use(fmt::format("entrance.categories.{}", i), Shape{size, width},
        [&, count = size * width, at = places.categories[i]](auto each) {
          for (std::int64_t k = 0; k < count; ++k) each(at + k, static_cast<std::size_t>(k));
        });
  }
}

}  // namespace

EntrancePlaces place_entrance(const Entrance& entrance, Network& network) {
  EntrancePlan& plan = network.entrance;
  EntrancePlaces places;
  plan.is_plain = entrance.is_plain();
  plan.begin = network.size;
  if (entrance.kind == NumberEmbedding::periodic) {
    plan.numbers = entrance.numbers;
    plan.frequencies = entrance.frequencies;
    plan.sines = padded(entrance.frequencies, panel);
    plan.waves = 2 * plan.sines + panel;
    plan.width = entrance.width;
    plan.padded_width = padded(entrance.width, panel);
    plan.frequencies_at = network.size;
    plan.weights_at = plan.frequencies_at + plan.numbers * plan.sines;
    plan.biases_at = plan.weights_at + plan.numbers * plan.weights_of_number();
    network.size = plan.biases_at + plan.numbers * plan.padded_width;
  }
  for (const auto& [size, width] : entrance.categories) {
    places.categories.push_back(network.size);
    network.size += padded(size * width, panel);
  }
  return places;
}

void pack_entrance(const Entrance& entrance, const Network& network, const EntrancePlaces& places,
                   const NamedArrays& arrays, const std::string& prefix, Array& flat) {
  const auto values = flat.as<float>();
  for_each_array(entrance, network, places, [&](const std::string& name, const Shape& shape, auto walk) {
    const Array& array = find_array(arrays, prefix + name);
    if (array.type() != DType::float32 || array.shape() != shape)
      refuse("the array '{}' does not fit this network: it belongs to another one", prefix + name);
    const std::span<const float> given = array.as<float>();
    walk([&](std::int64_t place, std::size_t index) {
      values[static_cast<std::size_t>(place)] = given[index];
    });
  });
}

void append_unpacked_entrance(const Entrance& entrance, const Network& network, const EntrancePlaces& places,
                              const Array& flat, const std::string& prefix, NamedArrays& arrays) {
  const auto values = flat.as<float>();
  for_each_array(entrance, network, places, [&](const std::string& name, const Shape& shape, auto walk) {
    Array array(DType::float32, shape);
    const auto taken = array.as<float>();
    walk([&](std::int64_t place, std::size_t index) {
      taken[index] = values[static_cast<std::size_t>(place)];
    });
    arrays.push_back({prefix + name, std::move(array)});
  });
}

EntranceSpace::EntranceSpace(const Entrance& entrance, const Network& network, std::int64_t rows)
    : entrance_(entrance),
      numbers_(zeros(padded(rows * std::max<std::int64_t>(entrance.numbers, 1), panel))),
      waves_(
          zeros(rows * std::max<std::int64_t>(network.entrance.numbers, 1) * network.entrance.waves + panel)),
      input_deltas_(zeros(rows * network.layers[0].inputs)),
      deltas_(zeros(rows * network.entrance.padded_width + panel)),
      turned_(zeros(network.entrance.width * 2 * network.entrance.sines + panel)),
      codes_(static_cast<std::size_t>(rows) * entrance.categories.size()) {}

void EntranceSpace::show(Workspace& space) {
  space.numbers = numbers_.as<float>().data();
  space.waves = waves_.as<float>().data();
  space.input_deltas = input_deltas_.as<float>().data();
  space.entrance_deltas = deltas_.as<float>().data();
  space.entrance_turned = turned_.as<float>().data();
}

void put_row(const EnteringRows& rows, const LearntValues& learnt, std::int64_t source, std::int64_t row,
             std::int64_t stride, EntranceSpace& entered, Workspace& space) {
  const Entrance& entrance = rows.entrance;
  if (entrance.kind == NumberEmbedding::periodic)
    std::copy_n(rows.numbers_of(source), entrance.numbers, entered.numbers_of(row));
  std::copy_n(rows.codes_of(source), entrance.categories.size(), entered.codes_of(row));
  put_without_waves(rows, source, learnt.edges, learnt.categories, space.active[0] + row * stride);
}

void sum_categories(const Entrance& entrance, const Network& network, const EntrancePlaces& places,
                    std::int64_t rows, EntranceSpace& entered, Workspace& space, bool adds) {
  std::int64_t column = entrance.numbers * entrance.values_of_number() + entrance.features;
  for (std::size_t i = 0; i < entrance.categories.size(); ++i) {
    const auto& [size, width] = entrance.categories[i];
    float* sums = space.gradients + places.categories[i];
    if (!adds) std::fill_n(sums, size * width, 0.0F);
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* deltas = space.input_deltas + row * network.layers[0].inputs + column;
      float* of_code = sums + entered.codes_of(row)[i] * width;
      for (std::int64_t k = 0; k < width; ++k) of_code[k] += deltas[k];
    }
    column += width;
  }
}

}  // namespace stoker::fused_cpu
