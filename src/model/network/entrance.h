#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/field.h"
#include "device/array.h"
#include "model/family.h"

namespace stoker {

enum class NumberEmbedding : std::uint8_t { none, piecewise_linear, periodic };

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 3> stoker::config::names<stoker::NumberEmbedding>{
    "none", "piecewise_linear", "periodic"};

// How a network takes in a row: numbers one by one, categories by what it has learnt for each, everything
// else as it stands. Behind the entrance all of them stand side by side, in this order: embedded numbers,
// features, categories.
namespace stoker {

struct EntranceSettings {
  NumberEmbedding number_embedding = NumberEmbedding::none;
  std::int64_t embedding_width = 12;
  std::int64_t embedding_frequencies = 16;
  double embedding_frequency_scale = 0.3;
  std::int64_t embedding_bins = 32;
};

inline config::Fields fields(EntranceSettings& c) {
  return {
      config::field(
          "number_embedding", c.number_embedding,
          "What a network makes of each number before its first layer. periodic: sines and cosines of "
          "learnt frequencies; piecewise_linear: how far it lies in each of a few bins with equally "
          "many training rows"),
      config::field("embedding_width", c.embedding_width,
                    "Values that a periodic embedding makes of a number")
          .within(1, 64),
      config::field("embedding_frequencies", c.embedding_frequencies, "Frequencies of a periodic embedding")
          .within(1, 256),
      config::field("embedding_frequency_scale", c.embedding_frequency_scale,
                    "Standard deviation of the frequencies as they begin: higher ones follow finer detail")
          .above(0)
          .within(0, 10'000),
      config::field("embedding_bins", c.embedding_bins, "Bins of a piecewise linear embedding")
          .within(2, 256),
  };
}

struct Entrance {
  NumberEmbedding kind = NumberEmbedding::none;  // none where there are no numbers to embed
  std::int64_t numbers = 0;                      // that are embedded
  std::int64_t features = 0;                     // that stand as they are
  std::int64_t frequencies = 0;
  std::int64_t width = 0;  // of a periodic embedding
  std::int64_t bins = 0;
  double frequency_scale = 0;

  struct Category {
    std::int64_t size = 0;   // values, that of unseen ones included
    std::int64_t width = 0;  // numbers that are learnt for each
  };
  std::vector<Category> categories;

  // Nothing but features: the first layer reads them where they lie.
  bool is_plain() const { return kind == NumberEmbedding::none && categories.empty(); }
  std::int64_t values_of_number() const;
  std::int64_t outputs() const;  // values that the first layer reads
};
Entrance entrance_of(const Network& network, const EntranceSettings& settings);

// Periodic: "entrance.frequencies" [numbers, frequencies]; "entrance.weight" [numbers, width, 1 + 2
// frequencies], which takes the number itself, its sines and its cosines; "entrance.bias" [numbers, width].
// Piecewise linear: the buffer "entrance.edges" [numbers, bins + 1]. Categories: "entrance.categories.0"
// [size, width] of each.
void add_entrance_parameters(const Entrance& entrance, std::vector<ParameterSpec>& parameters);

// The edges of bins with equally many training rows, into their buffer.
void learn_edges(const Entrance& entrance, const Dataset& training, NamedArrays& parameters);

// The rows of a dataset as an entrance finds them.
struct EnteringRows {
  EnteringRows(const Entrance& entrance, const Dataset& data);
  const float* numbers_of(std::int64_t row) const { return numbers + row * entrance.numbers; }
  const std::int64_t* codes_of(std::int64_t row) const {
    return codes + row * static_cast<std::int64_t>(entrance.categories.size());
  }

  Entrance entrance;
  const float* numbers = nullptr;
  const float* features = nullptr;
  const std::int64_t* codes = nullptr;
};

// Puts all of a row to its place before the first layer but the periodic embeddings, which have arithmetic of
// their own. `edges` are those of all bins; equal ones make a bin that is empty and stays 0. `categories` has
// the learnt values of each column.
void put_without_waves(const EnteringRows& rows, std::int64_t row, const float* edges,
                       std::span<const float* const> categories, float* values);

// Reads rows and leaves them as the first layer reads them, on a CPU, one row after the other.
class EntranceRows {
 public:
  EntranceRows(const Entrance& entrance, const NamedArrays& parameters, const Dataset& data);
  void put(std::int64_t row, float* values) const;  // outputs() of them

 private:
  void turn_weights(const float* weights);
  void put_periodic(const float* numbers, float* values) const;

  EnteringRows rows_;
  std::vector<Array> kept_;  // what is pointed at below
  const float* frequencies_ = nullptr;
  std::vector<float> turned_;  // the weights of the waves
  const float* bias_ = nullptr;
  const float* edges_ = nullptr;
  std::vector<const float*> categories_;
};

}  // namespace stoker
