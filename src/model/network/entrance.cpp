#include "model/network/entrance.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace stoker {
namespace {

// sin(2 pi v) for v from -1/4 to 1/4, by its series up to the eleventh power: within 6e-8.
float sine_of_quarter(float v) {
  const float square = v * v;
  float sum = -15.0946426F;
  for (const float next : {42.0586940F, -76.7058597F, 81.6052493F, -41.3417022F, 6.28318531F})
    sum = sum * square + next;
  return sum * v;
}

// sin and cos of 2 pi frequency number: all sines, then all cosines. In loops that compilers run on several
// numbers at once.
void make_waves(float number, const float* frequencies, std::int64_t count, float* waves) {
  for (std::int64_t f = 0; f < count; ++f) {
    // Whole turns say nothing, and a small angle is computed more exactly.
    const float turns = number * frequencies[f];
    waves[f] = turns - std::nearbyint(turns);
  }
  for (std::int64_t f = 0; f < count; ++f) {
    const float turn = waves[f];
    const float distance = std::abs(turn);
    waves[count + f] = sine_of_quarter(0.25F - distance);
    waves[f] = sine_of_quarter(std::copysign(std::min(distance, 0.5F - distance), turn));
  }
}

constexpr std::int64_t most_values_of_categories = std::int64_t{1} << 28;
constexpr std::int64_t widest_category = 16;

const ArraySpec* find_input(const Network& network, std::string_view name) {
  const auto found = std::find_if(network.inputs.begin(), network.inputs.end(),
                                  [&](const ArraySpec& input) { return input.name == name; });
  return found == network.inputs.end() ? nullptr : &*found;
}

std::int64_t size_of_row(const ArraySpec* spec) {
  std::int64_t size = spec == nullptr ? 0 : 1;
  if (spec != nullptr)
    for (const std::int64_t each : spec->shape) size *= each;
  return size;
}

// More values deserve more numbers, but far fewer of them than there are values.
std::int64_t width_for(std::int64_t size) {
  const auto width = static_cast<std::int64_t>(std::ceil(1.6 * std::pow(static_cast<double>(size), 0.5)));
  return std::clamp<std::int64_t>(width, 2, widest_category);
}

template <class Number>
const Number* values_of(const Dataset& data, const char* name, std::int64_t width) {
  if (width == 0 || data.arrays.empty()) return nullptr;
  const DatasetArray* found = data.find(name);
  if (found == nullptr || found->array.shape() != Shape{data.rows(), width})
    fail("a network was given rows without its {}", name);
  return found->array.as<Number>().data();
}

// The number itself, then how far it lies in each bin, from 0 to 1.
void put_in_bins(float number, const float* edges, std::int64_t bins, float* values) {
  values[0] = number;
  for (std::int64_t bin = 0; bin < bins; ++bin) {
    const float width = edges[bin + 1] - edges[bin];
    const float share = width > 0 ? (number - edges[bin]) / width : 0;
    values[bin + 1] = std::clamp(share, 0.0F, 1.0F);
  }
}

}  // namespace

std::int64_t Entrance::values_of_number() const {
  switch (kind) {
    case NumberEmbedding::periodic:
      return width;
    case NumberEmbedding::piecewise_linear:
      return bins + 1;
    case NumberEmbedding::none:
      break;
  }
  return 0;
}

std::int64_t Entrance::outputs() const {
  std::int64_t count = numbers * values_of_number() + features;
  for (const Category& each : categories) count += each.width;
  return count;
}

Entrance entrance_of(const Network& network, const EntranceSettings& settings) {
  Entrance entrance;
  entrance.numbers = size_of_row(find_input(network, "numbers"));
  if (entrance.numbers > 0) {
    entrance.kind = settings.number_embedding;
    if (entrance.kind == NumberEmbedding::none)
      fail("a network was given numbers to embed, but has no embedding");
  }
  entrance.frequencies = settings.embedding_frequencies;
  entrance.width = settings.embedding_width;
  entrance.bins = settings.embedding_bins;
  entrance.frequency_scale = settings.embedding_frequency_scale;
  const ArraySpec* categories = find_input(network, "categories");
  if (categories != nullptr)
    for (const std::int64_t size : categories->sizes) entrance.categories.push_back({size, width_for(size)});
  entrance.features = feature_width(network) - entrance.numbers - size_of_row(categories);
  return entrance;
}

void add_entrance_parameters(const Entrance& entrance, std::vector<ParameterSpec>& parameters) {
  const std::int64_t inputs = 1 + 2 * entrance.frequencies;
  if (entrance.kind == NumberEmbedding::periodic) {
    parameters.push_back({.name = "entrance.frequencies",
                          .shape = {entrance.numbers, entrance.frequencies},
                          .deviation = entrance.frequency_scale});
    parameters.push_back({.name = "entrance.weight",
                          .shape = {entrance.numbers, entrance.width, inputs},
                          .bound = 1.0 / std::sqrt(static_cast<double>(inputs))});
    parameters.push_back({.name = "entrance.bias", .shape = {entrance.numbers, entrance.width}});
  }
  if (entrance.kind == NumberEmbedding::piecewise_linear)
    parameters.push_back(
        {.name = "entrance.edges", .shape = {entrance.numbers, entrance.bins + 1}, .is_trained = false});
  for (std::size_t i = 0; i < entrance.categories.size(); ++i) {
    const auto& [size, width] = entrance.categories[i];
    if (size < 1 || size > most_values_of_categories / width)
      refuse("a column of {} categories is too large for a network", size);
    parameters.push_back({.name = fmt::format("entrance.categories.{}", i),
                          .shape = {size, width},
                          .deviation = 1.0 / std::sqrt(static_cast<double>(width)),
                          .rows_begun = size - 1});
  }
}

void learn_edges(const Entrance& entrance, const Dataset& training, NamedArrays& parameters) {
  if (entrance.kind != NumberEmbedding::piecewise_linear) return;
  const float* values = values_of<float>(training, "numbers", entrance.numbers);
  const std::int64_t rows = training.rows();
  Array edges(DType::float32, {entrance.numbers, entrance.bins + 1});
  std::vector<float> column(static_cast<std::size_t>(rows));
  for (std::int64_t number = 0; number < entrance.numbers; ++number) {
    for (std::int64_t row = 0; row < rows; ++row)
      column[static_cast<std::size_t>(row)] = values[row * entrance.numbers + number];
    std::sort(column.begin(), column.end());
    for (std::int64_t edge = 0; edge <= entrance.bins; ++edge)
      edges.as<float>()[static_cast<std::size_t>(number * (entrance.bins + 1) + edge)] =
          column[static_cast<std::size_t>(edge * (rows - 1) / entrance.bins)];
  }
  for (NamedArray& each : parameters)
    if (each.name == "entrance.edges") each.array = edges;
}

EnteringRows::EnteringRows(const Entrance& wanted, const Dataset& data)
    : entrance(wanted),
      numbers(values_of<float>(data, "numbers", wanted.numbers)),
      features(values_of<float>(data, "features", wanted.features)),
      codes(
          values_of<std::int64_t>(data, "categories", static_cast<std::int64_t>(wanted.categories.size()))) {}

void put_without_waves(const EnteringRows& rows, std::int64_t row, const float* edges,
                       std::span<const float* const> categories, float* values) {
  const Entrance& entrance = rows.entrance;
  if (entrance.kind == NumberEmbedding::piecewise_linear)
    for (std::int64_t n = 0; n < entrance.numbers; ++n)
      put_in_bins(rows.numbers_of(row)[n], edges + n * (entrance.bins + 1), entrance.bins,
                  values + n * entrance.values_of_number());
  values += entrance.numbers * entrance.values_of_number();
  std::copy_n(rows.features + row * entrance.features, entrance.features, values);
  values += entrance.features;
  for (std::size_t i = 0; i < categories.size(); ++i) {
    const auto& [size, width] = entrance.categories[i];
    const std::int64_t code = rows.codes_of(row)[i];
    if (code < 0 || code >= size) fail("a category has number {}, but there are {}", code, size);
    std::copy_n(categories[i] + code * width, width, values);
    values += width;
  }
}

EntranceRows::EntranceRows(const Entrance& entrance, const NamedArrays& parameters, const Dataset& data)
    : rows_(entrance, data) {
  const auto parameter = [&](const std::string& name) -> const float* {
    kept_.push_back(find_array(parameters, name));
    return std::as_const(kept_.back()).as<float>().data();
  };
  if (entrance.kind == NumberEmbedding::periodic) {
    frequencies_ = parameter("entrance.frequencies");
    turn_weights(parameter("entrance.weight"));
    bias_ = parameter("entrance.bias");
  }
  if (entrance.kind == NumberEmbedding::piecewise_linear) edges_ = parameter("entrance.edges");
  for (std::size_t i = 0; i < entrance.categories.size(); ++i)
    categories_.push_back(parameter(fmt::format("entrance.categories.{}", i)));
}

// [numbers, width, waves] as [numbers, waves, width], along which sums do not wait for each other.
void EntranceRows::turn_weights(const float* weights) {
  const Entrance& entrance = rows_.entrance;
  const std::int64_t waves = 1 + 2 * entrance.frequencies;
  turned_.resize(static_cast<std::size_t>(entrance.numbers * entrance.width * waves));
  for (std::int64_t n = 0; n < entrance.numbers; ++n)
    for (std::int64_t w = 0; w < entrance.width; ++w)
      for (std::int64_t k = 0; k < waves; ++k)
        turned_[static_cast<std::size_t>((n * waves + k) * entrance.width + w)] = *weights++;
}

void EntranceRows::put_periodic(const float* numbers, float* values) const {
  const Entrance& entrance = rows_.entrance;
  const std::int64_t count = entrance.frequencies;
  std::vector<float> waves(static_cast<std::size_t>(1 + 2 * count));
  for (std::int64_t n = 0; n < entrance.numbers; ++n) {
    waves[0] = numbers[n];
    make_waves(numbers[n], frequencies_ + n * count, count, waves.data() + 1);
    std::copy_n(bias_ + n * entrance.width, entrance.width, values);
    const float* weights = turned_.data() + n * entrance.width * static_cast<std::int64_t>(waves.size());
    for (const float wave : waves) {
      for (std::int64_t w = 0; w < entrance.width; ++w) values[w] += weights[w] * wave;
      weights += entrance.width;
    }
    for (std::int64_t w = 0; w < entrance.width; ++w) values[w] = std::max(values[w], 0.0F);
    values += entrance.width;
  }
}

void EntranceRows::put(std::int64_t row, float* values) const {
  if (rows_.entrance.kind == NumberEmbedding::periodic) put_periodic(rows_.numbers_of(row), values);
  put_without_waves(rows_, row, edges_, categories_, values);
}

}  // namespace stoker
