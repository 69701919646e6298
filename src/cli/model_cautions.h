#pragma once

#include <filesystem>
#include <vector>

#include "predict/caution.h"

namespace stoker::cli {

// What the run of a model measured that its predictions should not be relied on for. Nothing is known of a
// model folder that is in no run folder.
std::vector<Caution> cautions_about(const std::filesystem::path& model_folder);

}  // namespace stoker::cli
