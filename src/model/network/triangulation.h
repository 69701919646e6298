#pragma once

#include <cstdint>
#include <optional>

#include "config/field.h"
#include "model/family.h"
#include "model/network/sequence.h"

namespace stoker {

// Where something is, from what several receivers heard of it: a set, any part of which may be absent. Each
// receiver goes through two linear layers, those that are present attend to each other, and what they have in
// common (mean, maximum and deviation of each value, and how many they are) leads to the numbers that are
// asked for and to one more: the logarithm of the variance that each of them has.
struct TriangulationSettings {
  std::int64_t max_receivers = 10;
  std::int64_t receiver_width = 64;
  std::int64_t width = 32;
  std::int64_t attention_heads = 4;
  std::int64_t head_width = 64;
  double dropout = 0.2;
};

inline config::Fields fields(TriangulationSettings& c) {
  return {
      config::field("max_receivers", c.max_receivers,
                    "triangulation: receivers that a row has room for; of more that are present, the first "
                    "ones count")
          .within(1, 1024),
      config::field("receiver_width", c.receiver_width,
                    "triangulation: width of the first layer that a receiver goes through")
          .within(1, 65536),
      config::field("width", c.width, "triangulation: number of values that stand for a receiver")
          .within(1, 65536),
      config::field("attention_heads", c.attention_heads,
                    "triangulation: number of heads of the attention between receivers; must divide width")
          .within(1, 1024),
      config::field("head_width", c.head_width, "triangulation: width of the layer before the outputs")
          .within(1, 65536),
      dropout_field(c.dropout),
  };
}

// What it reads of each row.
struct SetShape {
  std::int64_t members = 0;
  std::int64_t columns = 0;  // of each member
};
// Refuses a network that reads something else.
SetShape set_shape(const Network& network);

// A network of the family; none of another one.
struct TriangulationShape {
  SetShape set;
  TriangulationSettings settings;
  std::int64_t outputs = 1;
};
std::optional<TriangulationShape> triangulation_shape(const Network& network);
// [count, outputs] of the rows from `first` on.
Array triangulation_outputs(const TriangulationShape& shape, const Network& network,
                            const NamedArrays& parameters, const Dataset& data, std::int64_t first,
                            std::int64_t count);

// Added to scores and values of receivers that are absent, in place of minus infinity, with which a row that
// has no receiver would not be a number.
constexpr double far_below = -1e4;
// Added to a variance before its root is taken: a single receiver has none, where the root has no slope.
constexpr double least_set_variance = 1e-6;

// The row of the table of families. Parameters are receiver.inner, receiver.outer, attention as torch.nn
// names those of a MultiheadAttention, norm, head.inner and head.outer. What head.inner reads: the mean,
// maximum and deviation of each value, and for each the share of max_receivers that is present.
Family triangulation();

}  // namespace stoker
