#pragma once

#include <cstdint>
#include <vector>

#include "device/array.h"
#include "model/expert_shape.h"

namespace stoker {

// Of some rows: the outputs, and who answered.
struct ExpertAnswers {
  Array outputs;                     // [rows, outputs of an expert]
  std::vector<std::int32_t> chosen;  // [rows, top_k], the one liked best first
  std::vector<float> shares;         // [rows, top_k] that each has in the answer
  std::vector<float> hesitation;     // [rows] entropy of the router's shares, 1 where all are equal
};
ExpertAnswers expert_answers(const ExpertShape& shape, const NamedArrays& parameters, const Array& features,
                             std::int64_t first, std::int64_t count);

}  // namespace stoker
