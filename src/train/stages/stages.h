#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/placement/dataset.h"
#include "train/stages/stage_config.h"

namespace stoker {

// The numbers of the classes of each stage. Refuses stages that miss or repeat a class, or name one that no
// row has.
std::vector<std::vector<std::int64_t>> classes_of_stages(const StageConfig& config,
                                                         std::span<const std::string> classes);

// Rows of a stage, by their numbers.
struct StageRows {
  std::vector<std::int64_t> own;
  std::vector<std::int64_t> replayed;  // each once
  std::int64_t repeats = 0;  // of those, so that a class of theirs comes about as often as a new one
  std::vector<std::int64_t> all() const;
};
StageRows rows_of_stage(std::span<const std::int64_t> class_of_row,
                        std::span<const std::vector<std::int64_t>> stages, std::size_t stage,
                        const StageConfig& config, std::uint64_t seed);

// A copy of some rows, in the host's memory.
Dataset dataset_of_rows(const Dataset& all, std::span<const std::int64_t> rows);

}  // namespace stoker
