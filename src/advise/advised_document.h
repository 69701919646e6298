#pragma once

#include <filesystem>

#include "advise/advice.h"

namespace stoker::advise {

// Refuses, before anything is measured, a file that must not be written: the document itself, or one that is
// there already.
void refuse_target(const std::filesystem::path& document, const std::filesystem::path& target);

// A copy of the document with the device, the engine and the placement of the way in every card that trains.
// Everything else stays as it is, but for comments, which are not kept; where the copy lies in another
// folder, paths in it become absolute. Batch size and precision are left alone, since they change the result.
// Written whole or not at all, and never over a file that is there by then.
void write_advised(const Question& question, const Prediction& way, const std::filesystem::path& target);

}  // namespace stoker::advise
