#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/field.h"

namespace stoker {

enum class ClassWeight { none, balanced };

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 2> stoker::config::names<stoker::ClassWeight>{"none",
                                                                                            "balanced"};

namespace stoker {

// How much the rows of each class count, as settings say it.
struct ClassWeighting {
  ClassWeight class_weight = ClassWeight::none;
  config::Value class_weights{config::Value::Map{}};

  bool is_wanted() const;
};

inline config::Fields fields(ClassWeighting& c) {
  return {
      config::field("class_weight", c.class_weight,
                    "balanced: rows of a rare class count more, so that all classes count the same in total"),
      config::field(
          "class_weights", c.class_weights,
          "Weights of the rows of each class, by its name, for example {yes: 5}; 1 for classes not named"),
  };
}

// What each of the named classes counts; `classes` has the number of each row's. As scikit-learn has it,
// balanced is the number of rows divided by that of a class and by the number of classes. Refuses both at
// once, a class that there is not, and a weight that is no number of at least 0.
std::vector<double> weights_of_classes(const ClassWeighting& weighting, std::span<const std::int64_t> classes,
                                       const std::vector<std::string>& names);

}  // namespace stoker
