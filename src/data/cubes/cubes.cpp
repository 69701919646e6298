#include "data/cubes/cubes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/table.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "data/memory/arrow_result.h"
#include "data/table/column_values.h"
#include "device/workers.h"

namespace stoker {
namespace {

struct ValueRange {
  float lowest = std::numeric_limits<float>::infinity();
  float highest = -std::numeric_limits<float>::infinity();
  bool has_nan = false;
};

// In lanes of their own, which a compiler can keep beside each other; a comparison with NaN is never true.
ValueRange range_of(std::span<const float> values) {
  constexpr std::size_t lanes = 16;
  ValueRange range;
  std::array<float, lanes> low{};
  std::array<float, lanes> high{};
  std::array<std::uint32_t, lanes> nans{};
  low.fill(range.lowest);
  high.fill(range.highest);
  const std::size_t whole = values.size() / lanes * lanes;
  for (std::size_t i = 0; i < whole; i += lanes) {
    for (std::size_t k = 0; k < lanes; ++k) {
      const float value = values[i + k];
      low[k] = value < low[k] ? value : low[k];
      high[k] = value > high[k] ? value : high[k];
      nans[k] |= value != value ? 1U : 0U;
    }
  }
  for (std::size_t i = whole; i < values.size(); ++i) {
    const float value = values[i];
    low[0] = value < low[0] ? value : low[0];
    high[0] = value > high[0] ? value : high[0];
    nans[0] |= value != value ? 1U : 0U;
  }
  range.lowest = *std::ranges::min_element(low);
  range.highest = *std::ranges::max_element(high);
  range.has_nan = std::ranges::any_of(nans, [](std::uint32_t each) { return each != 0; });
  return range;
}

// Pixel by pixel, which few cubes need.
void count_odd_pixels(std::span<const float> values, std::size_t channels, CubeFacts& facts) {
  float lowest = std::numeric_limits<float>::infinity();
  float highest = -lowest;
  for (std::size_t begin = 0; begin < values.size(); begin += channels) {
    bool has_nan = false;
    bool has_infinite = false;
    for (const float value : values.subspan(begin, channels)) {
      if (std::isnan(value)) {
        has_nan = true;
      } else if (std::isinf(value)) {
        has_infinite = true;
      } else {
        lowest = std::min(lowest, value);
        highest = std::max(highest, value);
      }
    }
    facts.nan_pixels += has_nan ? 1 : 0;
    facts.infinite_pixels += has_infinite ? 1 : 0;
  }
  facts.has_values = lowest <= highest;
  facts.lowest = facts.has_values ? lowest : 0;
  facts.highest = facts.has_values ? highest : 0;
}

template <class T>
std::span<const T> part_of_cube(const Array& array, std::int64_t cube, std::int64_t size) {
  return array.as<T>().subspan(static_cast<std::size_t>(cube * size), static_cast<std::size_t>(size));
}

template <class Builder, class Value>
std::shared_ptr<arrow::Array> column_of_cubes(std::int64_t count, const Value& value) {
  Builder builder;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto each = value(static_cast<std::size_t>(i));
    or_fail(each ? builder.Append(*each) : builder.AppendNull(), "making a table of cubes");
  }
  return or_fail(builder.Finish(), "making a table of cubes");
}

std::string class_text(const CubesLook& look, int number) {
  const auto name = look.classes.find(number);
  return name == look.classes.end() ? fmt::format("class {}", number)
                                    : fmt::format("{} ({})", printable(shortened(name->second)), number);
}

std::string share_text(std::int64_t part, std::int64_t whole) {
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return percent >= 0.01 || part == 0 ? fmt::format("{:.2f} %", percent) : "under 0.01 %";
}

}  // namespace

Array room_for_cubes(DType type, const Shape& shape, const std::string& shown) {
  std::int64_t bytes = static_cast<std::int64_t>(size_of(type));
  for (const std::int64_t each : shape)
    if (each < 1 || __builtin_mul_overflow(bytes, each, &bytes))
      refuse("{}: {} cubes of {} x {} pixels with {} channels are more than any machine can hold", shown,
             shape.front(), shape[1], shape[2], shape.size() > 3 ? shape[3] : 1);
  try {
    return Array::for_rows(type, shape);
  } catch (const OutOfMemory& error) {
    throw Error(ExitCode::wrong_request,
                fmt::format("{}: its cubes take {}, and neither memory nor the disk has that: {}. Use fewer "
                            "or smaller cubes, or a machine with more",
                            shown, human_bytes(static_cast<std::uint64_t>(bytes)), error.what()),
                Cause::machine);
  }
}

void find_facts(Cubes& cubes) {
  cubes.facts.resize(static_cast<std::size_t>(cubes.count()));
  const std::int64_t size = cubes.pixels() * cubes.channels();
  share_among_cores(cubes.count(), [&](std::int64_t i) {
    CubeFacts& facts = cubes.facts[static_cast<std::size_t>(i)];
    const auto values = part_of_cube<float>(cubes.values, i, size);
    const ValueRange range = range_of(values);
    facts.has_values = true;
    facts.lowest = range.lowest;
    facts.highest = range.highest;
    facts.nan_pixels = facts.infinite_pixels = 0;
    if (range.has_nan || !std::isfinite(range.lowest) || !std::isfinite(range.highest))
      count_odd_pixels(values, static_cast<std::size_t>(cubes.channels()), facts);
    if (!cubes.has_masks()) return;
    const auto mask = part_of_cube<std::uint8_t>(cubes.masks, i, cubes.pixels());
    facts.masked_pixels = std::ssize(mask) - std::ranges::count(mask, std::uint8_t{0});
  });
}

Table table_of_cubes(std::shared_ptr<const Cubes> cubes) {
  const std::int64_t count = cubes->count();
  arrow::FieldVector fields{arrow::field("cube", arrow::utf8())};
  arrow::ArrayVector columns{column_of_cubes<arrow::StringBuilder>(
      count, [&](std::size_t i) { return std::optional(cubes->names[i]); })};
  const auto add_numbers = [&](const char* name, const auto& value) {
    fields.push_back(arrow::field(name, arrow::int64()));
    columns.push_back(column_of_cubes<arrow::Int64Builder>(count, value));
  };
  if (cubes->has_masks())
    add_numbers(column_of_marks, [&](std::size_t i) {
      const CubeFacts& facts = cubes->facts[i];
      return facts.has_mask ? std::optional(facts.masked_pixels) : std::nullopt;
    });
  add_numbers(column_of_nan, [&](std::size_t i) { return std::optional(cubes->facts[i].nan_pixels); });
  add_numbers(column_of_infinite,
              [&](std::size_t i) { return std::optional(cubes->facts[i].infinite_pixels); });
  Table table{arrow::Table::Make(arrow::schema(fields), columns, count)};
  table.cubes = std::move(cubes);
  return table;
}

std::int64_t cube_of(const Table& table, std::int64_t row) {
  return table.source_rows ? table.source_rows->at(static_cast<std::size_t>(row)) : row;
}

std::span<const float> values_of_cube(const Table& table, std::int64_t row) {
  const auto size = static_cast<std::size_t>(table.cubes->pixels() * table.cubes->channels());
  return table.cubes->values.as<float>().subspan(static_cast<std::size_t>(cube_of(table, row)) * size, size);
}

void refuse_cubes(const Table& table, const std::string& what) {
  if (table.cubes)
    refuse("{}, but the rows are cubes of {} x {} pixels with {}; this needs a table with columns", what,
           table.cubes->height(), table.cubes->width(),
           counted(static_cast<std::uint64_t>(table.cubes->channels()), "channel"));
}

namespace {

CubeSight sight_in(const Cubes& cubes, std::int64_t cube) {
  SeenCube seen{cubes.names.at(static_cast<std::size_t>(cube)), cubes.height(), cubes.width(),
                cubes.channels(), part_of_cube<float>(cubes.values, cube, cubes.pixels() * cubes.channels())};
  if (cubes.has_masks()) seen.mask = part_of_cube<std::uint8_t>(cubes.masks, cube, cubes.pixels());
  seen.wavelengths = cubes.wavelengths;
  return sight_of(seen);
}

}  // namespace

CubesLook look_at(const Table& table) {
  const Cubes& cubes = *table.cubes;
  CubesLook look{.cubes = table.rows(),
                 .height = cubes.height(),
                 .width = cubes.width(),
                 .channels = cubes.channels(),
                 .wavelengths = cubes.wavelengths,
                 .lowest = std::numeric_limits<float>::max(),
                 .highest = std::numeric_limits<float>::lowest(),
                 .pixels_of_class = {},
                 .classes = cubes.classes,
                 .sight = {}};
  std::array<std::int64_t, 256> counts{};
  std::optional<std::int64_t> seen;
  for (std::int64_t row = 0; row < table.rows(); ++row) {
    const std::int64_t cube = cube_of(table, row);
    const CubeFacts& facts = cubes.facts.at(static_cast<std::size_t>(cube));
    if (facts.has_values) {
      look.lowest = std::min(look.lowest, facts.lowest);
      look.highest = std::max(look.highest, facts.highest);
    }
    look.nan_pixels += facts.nan_pixels;
    look.infinite_pixels += facts.infinite_pixels;
    look.cubes_with_masks += facts.has_mask ? 1 : 0;
    if (facts.masked_pixels > 0 && !seen) seen = cube;
    if (facts.masked_pixels > 0)
      for (const std::uint8_t each : part_of_cube<std::uint8_t>(cubes.masks, cube, cubes.pixels()))
        ++counts[each];
  }
  if (look.lowest > look.highest) look.lowest = look.highest = 0;
  for (int number = 1; number < 256; ++number)
    if (counts[static_cast<std::size_t>(number)] > 0)
      look.pixels_of_class[number] = counts[static_cast<std::size_t>(number)];
  if (table.rows() > 0) look.sight = sight_in(cubes, seen ? *seen : cube_of(table, 0));
  return look;
}

std::vector<std::pair<std::string, std::string>> CubesLook::lines() const {
  std::vector<std::pair<std::string, std::string>> all;
  all.emplace_back("cubes",
                   fmt::format("{} of {} x {} pixels with {}", human_count(static_cast<std::uint64_t>(cubes)),
                               height, width, counted(static_cast<std::uint64_t>(channels), "channel")));
  all.emplace_back("wavelengths", wavelengths.empty()
                                      ? "not known"
                                      : fmt::format("{:.7g} to {:.7g} nm", std::ranges::min(wavelengths),
                                                    std::ranges::max(wavelengths)));
  std::string values = fmt::format("{:.6g} to {:.6g}", lowest, highest);
  if (nan_pixels > 0)
    values += fmt::format(", NaN in {}", counted(static_cast<std::uint64_t>(nan_pixels), "pixel"));
  if (infinite_pixels > 0)
    values += fmt::format(", infinite in {}", counted(static_cast<std::uint64_t>(infinite_pixels), "pixel"));
  all.emplace_back("values", values);
  if (cubes_with_masks == 0) {
    all.emplace_back("masks", "none");
    return all;
  }
  std::string masks = fmt::format("of {}", counted(static_cast<std::uint64_t>(cubes_with_masks), "cube"));
  if (pixels_of_class.empty()) masks += ", nothing marked";
  for (const auto& [number, count] : pixels_of_class)
    masks += fmt::format("{}{} {}", masks.find(':') == std::string::npos ? ": " : ", ",
                         class_text(*this, number), share_text(count, cubes_with_masks * height * width));
  all.emplace_back("masks", masks);
  return all;
}

nlohmann::json to_json(const CubesLook& look) {
  nlohmann::json classes = nlohmann::json::array();
  for (const auto& [number, pixels] : look.pixels_of_class) {
    const auto name = look.classes.find(number);
    classes.push_back(
        {{"class", number}, {"name", name == look.classes.end() ? "" : name->second}, {"pixels", pixels}});
  }
  return {{"count", look.cubes},
          {"height", look.height},
          {"width", look.width},
          {"channels", look.channels},
          {"wavelengths", look.wavelengths},
          {"lowest", look.lowest},
          {"highest", look.highest},
          {"nan_pixels", look.nan_pixels},
          {"infinite_pixels", look.infinite_pixels},
          {"with_masks", look.cubes_with_masks},
          {"classes", std::move(classes)},
          {"sight", look.cubes > 0 ? to_json(look.sight) : nlohmann::json(nullptr)}};
}

}  // namespace stoker
