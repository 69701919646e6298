#pragma once

#include <cstdint>
#include <vector>

#include "device/array.h"
#include "model/experts/expert_routes.h"
#include "model/experts/expert_shape.h"

namespace stoker {

// Of some rows: the outputs, and who answered.
struct ExpertAnswers : ExpertRoutes {
  Array outputs;  // [rows, outputs of an expert]
};
ExpertAnswers expert_answers(const ExpertShape& shape, const NamedArrays& parameters, const Array& features,
                             std::int64_t first, std::int64_t count);
// Who would answer, without the answers.
ExpertRoutes expert_routes(const ExpertShape& shape, const NamedArrays& parameters, const Array& features);

}  // namespace stoker
