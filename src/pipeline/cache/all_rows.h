#pragma once

#include <string>

#include "pipeline/document/document.h"

// A document whose model, once it is known how good it is, is trained on all rows.
namespace stoker {

// Why there is no such document, or "".
std::string problem_with_all_rows(const Document& document, const std::string& training_card);

// Nothing is held back, and what would test the model is left out: there are no rows for it.
Document trained_on_all_rows(const Document& document, const std::string& training_card);

}  // namespace stoker
