#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "device/array.h"
#include "model/experts/expert_shape.h"

namespace stoker {

// A layer of an expert: weights [outputs, inputs] and biases [outputs].
struct ExpertLayerView {
  std::span<const float> weight;
  std::span<const float> bias;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
};

constexpr double noise_of_newborn = 0.05;         // of the deviation of a layer's weights
constexpr double noise_of_newborn_router = 0.25;  // of that of its column in the router

// The parts of an engine's state that experts consist of, or parameters alone where they stand without a
// prefix. Arrays are copied before they are changed for the first time.
class ExpertArrays {
 public:
  // Refuses a state of another shape.
  ExpertArrays(const ExpertShape& shape, NamedArrays& state);

  const ExpertShape& shape() const { return *shape_; }
  bool is_alive(std::int64_t place) const;
  std::vector<std::int32_t> living() const;
  std::span<const float> values(const std::string& name) const;  // of a parameter or a buffer
  std::span<float> change(const std::string& name);              // of any array, by its whole name
  ExpertLayerView layer(std::int64_t place, std::size_t number) const;
  // Mean over the last layer of |first moment| / root of the second; 0 where there are none.
  double adaptation_of(std::int64_t place) const;
  NamedArrays parameters() const;  // without prefix, sharing memory

  // Sets a new one into a free place, as those that a network begins with.
  void begin(std::int64_t place, RandomKey key);
  // One that rests is not asked, and training leaves it as it is.
  void rest(std::int64_t place, bool rests);
  // An expert, and what the router likes of it, as they were in other arrays of the same shape.
  void put_back(std::int64_t place, const NamedArrays& before);
  // Copies an expert with a little noise into a free place; moments begin at 0.
  void bear(std::int64_t parent, std::int64_t place, RandomKey noise);
  // One expert becomes the mean of two, with hidden units of the other in the order that `units` gives for
  // each hidden layer; the other is removed. Shares add up to 1.
  void merge(std::int64_t kept, std::int64_t gone, double share_of_kept,
             std::span<const std::vector<std::int32_t>> units);
  // All of it becomes 0. What the router liked of it goes to a neighbour in that share; -1: to none.
  void remove(std::int64_t place, std::int64_t neighbour, double share);
  void clear_usage();  // but the idle steps
  void clear_hesitation();

 private:
  std::string full(const std::string& name) const { return prefix_ + name; }
  NamedArray& find(const std::string& name) const;
  std::vector<std::string> prefixes() const;  // of all arrays that have the shape of parameters
  void mix_router(std::int64_t into, std::int64_t from, double share_of_from);
  void make_zero(std::int64_t place);

  const ExpertShape* shape_;
  NamedArrays* state_;
  std::string prefix_;  // "parameters." or none
  std::vector<std::string> changed_;
};

}  // namespace stoker
