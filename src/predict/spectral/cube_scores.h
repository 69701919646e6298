#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "config/value.h"
#include "data/table/table.h"
#include "device/array.h"
#include "model/model.h"
#include "predict/measure/evaluation.h"
#include "predict/spectral/cube_findings.h"

// What a model says of the pixels of cubes, and how good that is.
namespace stoker {

// Whether models of that type read cubes; of a type that is not known, no.
bool reads_cubes(std::string_view model_type);

// Of the settings of a model of such a type: what is wrong with cubes that come without masks; "" where it
// needs none.
std::string problem_without_masks(const config::Value& settings);
// The same of evaluating it.
std::string problem_without_scores(const config::Value& settings);

struct CubeScores {
  Array scores;  // float32 [height, width], the higher the more a pixel stands out
  Array marks;   // uint8 [height, width]; empty where the graph decides nothing and its scores are no logits
};

// Cube by cube, in the order of the rows. Masks are not looked at. Refuses pixels that are not finite, unless
// the model leaves such out.
void score_cubes(const Model& model, const Table& table,
                 const std::function<void(std::int64_t row, const CubeScores& scores)>& take);

// Over the pixels of all cubes together: what the metric nodes of the graph say; without one, precision,
// recall, F1, IoU and average precision of what stands out. Of cubes without masks, what nodes measure
// without them. Also what is to be shown of them, where somebody asks for it.
Evaluation evaluate_cubes(const Model& model, const Table& table, CubeFindings* findings = nullptr);

}  // namespace stoker
