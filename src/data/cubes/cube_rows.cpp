#include "data/cubes/cube_rows.h"

#include <cmath>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/setting_error.h"
#include "base/text/text.h"
#include "data/cubes/cubes.h"
#include "data/cubes/found_cubes.h"

namespace stoker {
namespace {

std::string channels_text(std::int64_t channels) {
  return counted(static_cast<std::uint64_t>(channels), "channel");
}

void refuse_column_setting(const char* setting, bool is_set) {
  if (is_set) refuse_setting(setting, "{} is for columns, and the model reads cubes: leave it out", setting);
}

// Each row is as many lines of the images, one behind the other, as a cube is high.
DatasetArray laid_lines(const char* name, Role role, const Array& all, Shape shape, std::int64_t height,
                        const Table& table) {
  DatasetArray laid{name, role, all.seen_as(0, std::move(shape)), Array(DType::int64, {table.rows()}),
                    height};
  const auto starts = laid.starts.as<std::int64_t>();
  for (std::int64_t row = 0; row < table.rows(); ++row)
    starts[static_cast<std::size_t>(row)] = cube_of(table, row) * height;
  return laid;
}

}  // namespace

CubesRead learn_cubes(const Table& training, const PreparationConfig& config) {
  if (config.target_column != mask_target)
    refuse_setting("target_column",
                   "target_column is '{}', but what a model of cubes learns is their mask: set "
                   "target_column: {}",
                   config.target_column, mask_target);
  refuse_column_setting("feature_columns", !config.feature_columns.empty());
  refuse_column_setting("mask_column", !config.mask_column.empty());
  refuse_column_setting("weight_column", !config.weight_column.empty());
  refuse_column_setting("class_weights", config.class_weights.is_wanted());
  const Cubes& cubes = *training.cubes;
  return {cubes.height(), cubes.width(), cubes.channels(), cubes.wavelengths, cubes.has_masks()};
}

std::vector<ArraySpec> cube_inputs(const CubesRead& form) {
  std::vector<ArraySpec> specs{
      {cubes_in_dataset, Role::features, DType::float32, {form.height, form.width, form.channels}, {}}};
  if (form.has_masks)
    specs.push_back({masks_in_dataset, Role::mask, DType::uint8, {form.height, form.width, 1}, {}});
  return specs;
}

void refuse_other_cubes(const Table& table, const CubesRead& form) {
  if (!table.cubes)
    refuse(
        "the model reads hyperspectral cubes with {}, but these are plain rows; give cubes:PATH, or set "
        "source: cubes in data_load",
        channels_text(form.channels));
  const Cubes& cubes = *table.cubes;
  if (cubes.channels() != form.channels)
    refuse("the model was trained on cubes with {}, but these have {}", channels_text(form.channels),
           channels_text(cubes.channels()));
  if (cubes.wavelengths.empty() || form.wavelengths.empty()) return;
  for (std::size_t i = 0; i < form.wavelengths.size(); ++i)
    if (std::abs(cubes.wavelengths[i] - form.wavelengths[i]) > nearly_the_same_nm)
      refuse("the model was trained on cubes whose channel {} is at {:.5g} nm, but here it is at {:.5g} nm",
             i + 1, form.wavelengths[i], cubes.wavelengths[i]);
}

Dataset lay_cubes(const Table& table, const CubesRead& form, bool with_masks) {
  refuse_other_cubes(table, form);
  const Cubes& cubes = *table.cubes;
  const std::int64_t lines = cubes.count() * cubes.height();
  Dataset laid;
  laid.arrays.push_back(laid_lines(cubes_in_dataset, Role::features, cubes.values,
                                   {lines, cubes.width(), cubes.channels()}, cubes.height(), table));
  if (!with_masks) return laid;
  if (!cubes.has_masks())
    refuse("these cubes come without masks, which are needed here. {}", how_to_give_masks);
  laid.arrays.push_back(laid_lines(masks_in_dataset, Role::mask, cubes.masks, {lines, cubes.width(), 1},
                                   cubes.height(), table));
  return laid;
}

std::vector<std::int64_t> first_pixels(const DatasetArray& cubes) {
  const Array starts = cubes.starts.to_host();
  std::vector<std::int64_t> pixels;
  for (const std::int64_t line : starts.as<std::int64_t>()) pixels.push_back(line * cubes.row_shape()[1]);
  return pixels;
}

Array cube_at(const DatasetArray& cubes, std::int64_t row) {
  Shape shape = cubes.row_shape();
  const std::int64_t of_line = shape[1] * shape[2];
  shape.insert(shape.begin(), 1);
  const Array starts = cubes.starts.to_host();
  const std::int64_t first = starts.as<std::int64_t>()[static_cast<std::size_t>(row)];
  return cubes.array.seen_as(first * of_line, std::move(shape)).to_host();
}

}  // namespace stoker
