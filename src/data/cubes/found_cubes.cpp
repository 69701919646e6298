#include "data/cubes/found_cubes.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text/text.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

void refuse_unlike_cubes(const FoundCubes& found) {
  const FoundCube& first = found.cubes.front();
  for (const FoundCube& each : found.cubes) {
    if (each.size(2) != first.size(2))
      refuse("{} has {}, but {} has {}; all cubes of a source must have the same number of channels",
             each.shown, counted(static_cast<std::uint64_t>(each.size(2)), "channel"), first.shown,
             counted(static_cast<std::uint64_t>(first.size(2)), "channel"));
    if (each.size(0) != first.size(0) || each.size(1) != first.size(1))
      refuse(
          "{} has {}, but {} has {} (height x width); all cubes of a source must have the same size; crop "
          "them",
          each.shown, each.size_text(), first.shown, first.size_text());
  }
}

// Of the channels, of as many; the index of one.
std::size_t farthest_apart(const std::vector<double>& some, const std::vector<double>& others) {
  std::size_t farthest = 0;
  for (std::size_t i = 0; i < std::min(some.size(), others.size()); ++i)
    if (std::abs(some[i] - others[i]) > std::abs(some[farthest] - others[farthest])) farthest = i;
  return farthest;
}

// Refuses wavelengths that cannot be those of the same channels.
std::string words_of_difference(const FoundCube& each, const FoundCube& first) {
  if (each.wavelengths.empty() != first.wavelengths.empty()) {
    const bool are_known = !first.wavelengths.empty();
    return fmt::format("{} tells no wavelengths, but {} does; {} for all", (are_known ? each : first).shown,
                       (are_known ? first : each).shown, are_known ? "those are used" : "none are used");
  }
  const std::size_t channel = farthest_apart(each.wavelengths, first.wavelengths);
  const double here = each.wavelengths.at(channel), there = first.wavelengths.at(channel);
  if (std::abs(here - there) > nearly_the_same_nm)
    refuse(
        "channel {} of {} is at {:.6g} nm, but in {} it is at {:.6g} nm: cubes of one source have the same "
        "channels; give wavelengths where they are those of one camera after all",
        channel + 1, each.shown, here, first.shown, there);
  return fmt::format(
      "the wavelengths of {} are up to {:.2g} nm away from those of {}, which are used for all", each.shown,
      std::abs(here - there), first.shown);
}

void settle_wavelengths(const SourceConfig& config, FoundCubes& found) {
  constexpr double same = 0.05;  // nm: headers round them
  const FoundCube& first = found.cubes.front();
  if (!config.wavelengths.empty()) {
    if (std::ssize(config.wavelengths) != first.size(2))
      refuse("wavelengths has {}, but the cubes have {}", counted(config.wavelengths.size(), "number"),
             counted(static_cast<std::uint64_t>(first.size(2)), "channel"));
    found.wavelengths = config.wavelengths;
    return;
  }
  found.wavelengths = first.wavelengths;
  std::string warning;  // of the first that differs
  for (const FoundCube& each : found.cubes) {
    if (std::ranges::equal(each.wavelengths, found.wavelengths,
                           [](double a, double b) { return std::abs(a - b) <= same; }))
      continue;
    const std::string told = words_of_difference(each, first);
    if (warning.empty()) warning = told;
  }
  if (!warning.empty()) found.warnings.push_back(warning);
}

}  // namespace

std::int64_t FoundCube::size(std::size_t axis) const {
  return array->shape[axis + (slice ? 1 : 0)];
}

std::string FoundCube::size_text() const {
  return fmt::format("{} x {} pixels", size(0), size(1));
}

FoundCubes find_cubes(const SourceConfig& config, const fs::path& base) {
  FoundCubes found;
  const fs::path path = fs::absolute(base / config.path);
  const std::string shown = fmt::format("'{}'", printable(config.path));
  std::error_code error;
  if (fs::is_directory(path, error)) {
    add_cubes_of_folder(path, shown, config, found);
  } else if (is_cube_list(path) && fs::is_regular_file(path, error)) {
    add_cubes_of_list(path, shown, config, found);
  } else {
    add_cubes_of_file(path, shown, path.stem().string(), config, found);
    attach_mask_beside(path, config, 0, found);
  }
  refuse_unlike_cubes(found);
  attach_masks_of_path(config, base, found);
  settle_wavelengths(config, found);
  return found;
}

}  // namespace stoker
