#pragma once

#include <cstdint>
#include <vector>

#include "data/placement/dataset.h"
#include "data/prepare/preparation_config.h"
#include "data/table/table.h"

// Cubes as a model reads them: each row of a table is a cube with its mask, read where it lies.
namespace stoker {

// The cubes that a model was fitted to.
struct CubesRead {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  std::vector<double> wavelengths = {};  // none where they are not known
  bool has_masks = false;
};

// What stands as the target of such a model, and the names of its arrays.
constexpr const char* mask_target = "mask";
constexpr const char* cubes_in_dataset = "cube";
constexpr const char* masks_in_dataset = "mask";
// For who misses them.
constexpr const char* how_to_give_masks =
    "To have masks, set mask_path of data_load, or put NAME_mask.npy beside each cube NAME";

// Refuses settings that are for columns.
CubesRead learn_cubes(const Table& training, const PreparationConfig& config);

// cube [height, width, channels] and, where there are masks, mask [height, width, 1].
std::vector<ArraySpec> cube_inputs(const CubesRead& form);

// The rows of a table, nothing copied; of any height and width. Refuses other channels, and cubes without
// masks where they are wanted.
Dataset lay_cubes(const Table& table, const CubesRead& form, bool with_masks);

// Refuses cubes of other channels or wavelengths than those of the model.
void refuse_other_cubes(const Table& table, const CubesRead& form);

// Where each cube begins among the pixels of all of them.
std::vector<std::int64_t> first_pixels(const DatasetArray& cubes);

// One cube of a dataset as an array [1, height, width, channels], its mask likewise; nothing is copied unless
// it lies in a GPU's memory.
Array cube_at(const DatasetArray& cubes, std::int64_t row);

}  // namespace stoker
