#pragma once

#include <span>

#include "model/nodes/node.h"

namespace stoker::nodes {

Port scores_behind(const Port& cube, std::string help);

// (x - centre)ᵀ matrix (x - centre) of each pixel, and how it changes with pixels, centre and matrix; those
// are arrays of the state.
void quadratic_form(std::span<const float> pixels, const Array& centre, const Array& matrix,
                    std::span<float> scores);
Array quadratic_form(const Array& data, const NamedArrays& state, const std::string& centre,
                     const std::string& matrix);
Gradients quadratic_form_back(const Array& data, const Array& gradient, const NamedArrays& state,
                              const std::string& centre, const std::string& matrix);

}  // namespace stoker::nodes
