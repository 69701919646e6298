#pragma once

#include <filesystem>
#include <vector>

#include "predict/skill/caution.h"

namespace stoker::cli {

// The cautions in the evaluations of the run that the model folder is in; none if it is in no run folder.
std::vector<Caution> cautions_about(const std::filesystem::path& model_folder);

}  // namespace stoker::cli
