#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/hash.h"
#include "base/text/text.h"
#include "data/cubes/cubes.h"
#include "data/cubes/found_cubes.h"
#include "data/memory/mapped_file.h"
#include "data/source/source_reader.h"
#include "data/source/watched_files.h"
#include "device/row_memory.h"
#include "device/workers.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

// All cubes as they lie in one file one behind the other, where its bytes are what is wanted.
std::optional<StoredNumbers> floats_of_all(const std::vector<FoundCube>& cubes) {
  const FoundCube& first = cubes.front();
  for (std::size_t i = 0; i < cubes.size(); ++i)
    if (cubes[i].array != first.array || cubes[i].slice.value_or(0) != static_cast<std::int64_t>(i))
      return std::nullopt;
  return first.array->floats;
}

// Lines of a cube that are read at once.
struct LinesToRead {
  std::size_t cube = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

std::vector<LinesToRead> all_lines(const std::vector<FoundCube>& cubes) {
  constexpr std::int64_t numbers_at_once = std::int64_t{1} << 20U;
  std::vector<LinesToRead> all;
  for (std::size_t i = 0; i < cubes.size(); ++i) {
    const std::int64_t height = cubes[i].size(0);
    const std::int64_t lines =
        cubes[i].slice
            ? height
            : std::clamp<std::int64_t>(numbers_at_once / (cubes[i].size(1) * cubes[i].size(2)), 1, height);
    for (std::int64_t first = 0; first < height; first += lines)
      all.push_back({i, first, std::min(lines, height - first)});
  }
  return all;
}

void read_lines(const FoundCube& cube, const LinesToRead& lines, float* to) {
  if (cube.slice) return cube.array->read(*cube.slice, 1, to);
  cube.array->read(lines.first, lines.count, to + lines.first * cube.size(1) * cube.size(2));
}

class CubesReader : public SourceReader {
 public:
  CubesReader(const SourceConfig& config, const fs::path& base)
      : config_(config),
        description_(config.path),
        found_(find_cubes(config, base)),
        files_(found_.files, description_) {}

  const std::string& description() const override { return description_; }
  std::string fingerprint() const override;
  Table read(const std::vector<std::string>& text_columns, const Notes& notes) const override;
  std::vector<std::string> warnings() const override { return found_.warnings; }
  std::uintmax_t bytes() const override { return files_.bytes(); }

 private:
  Array values() const;
  void read_masks(Cubes& cubes) const;
  void tell_of(const Cubes& cubes, const Notes& notes) const;

  SourceConfig config_;
  std::string description_;
  FoundCubes found_;
  WatchedFiles files_;
};

// The names of the cubes are among what is read.
std::string CubesReader::fingerprint() const {
  std::string all =
      fmt::format("cubes {} {} {}", config_.cube_key, config_.mask_key, config::name_of(config_.processing));
  for (const double each : config_.wavelengths) all += fmt::format(" {}", each);
  for (const FoundCube& each : found_.cubes) all += (each.read_mask ? "\nmasked " : "\n") + each.name;
  for (const std::string& each : files_.hashes()) all += "\n" + each;
  return sha256_of_text(all);
}

// What memory does not hold, but a file as it is, is mapped instead of copied to another file.
Array CubesReader::values() const {
  const FoundCube& first = found_.cubes.front();
  const Shape shape{std::ssize(found_.cubes), first.size(0), first.size(1), first.size(2)};
  const std::optional<StoredNumbers> floats = floats_of_all(found_.cubes);
  const std::int64_t size = size_of_slice(shape);
  std::int64_t bytes = 0;
  if (floats && !__builtin_mul_overflow(size * 4, shape[0], &bytes) &&
      static_cast<std::uint64_t>(bytes) > memory_for_all_rows())
    return Array::over(DType::float32, shape, mapped_bytes(floats->file, floats->begin, bytes));
  Array values = room_for_cubes(DType::float32, shape, description_);
  float* const to = values.as<float>().data();
  const std::vector<LinesToRead> lines = all_lines(found_.cubes);
  share_among_cores(std::ssize(lines), [&](std::int64_t i) {
    const LinesToRead& each = lines[static_cast<std::size_t>(i)];
    read_lines(found_.cubes[each.cube], each, to + static_cast<std::int64_t>(each.cube) * size);
  });
  return values;
}

void CubesReader::read_masks(Cubes& cubes) const {
  const auto has_mask = [](const FoundCube& cube) { return cube.read_mask != nullptr; };
  if (std::ranges::none_of(found_.cubes, has_mask)) return;
  cubes.masks =
      room_for_cubes(DType::uint8, {cubes.count(), cubes.height(), cubes.width()}, description_ + " (masks)");
  std::uint8_t* const to = cubes.masks.as<std::uint8_t>().data();
  share_among_cores(cubes.count(), [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    cubes.facts[at].has_mask = has_mask(found_.cubes[at]);
    std::uint8_t* mask = to + i * cubes.pixels();
    if (cubes.facts[at].has_mask) {
      found_.cubes[at].read_mask(mask);
    } else {
      std::fill_n(mask, cubes.pixels(), std::uint8_t{0});
    }
  });
}

void CubesReader::tell_of(const Cubes& cubes, const Notes& notes) const {
  for (const std::string& each : found_.remarks) notes(Severity::info, each);
  std::int64_t nan_pixels = 0;
  std::int64_t infinite_pixels = 0;
  std::uint64_t with_nan = 0;
  std::uint64_t with_infinite = 0;
  std::uint64_t without_mask = 0;
  for (const CubeFacts& each : cubes.facts) {
    nan_pixels += each.nan_pixels;
    infinite_pixels += each.infinite_pixels;
    with_nan += each.nan_pixels > 0 ? 1 : 0;
    with_infinite += each.infinite_pixels > 0 ? 1 : 0;
    without_mask += each.has_mask ? 0 : 1;
  }
  if (nan_pixels > 0)
    notes(Severity::warning,
          fmt::format("{} in {} {} a value that is NaN; {} kept",
                      counted(static_cast<std::uint64_t>(nan_pixels), "pixel"), counted(with_nan, "cube"),
                      nan_pixels == 1 ? "has" : "have", nan_pixels == 1 ? "it is" : "they are"));
  if (infinite_pixels > 0)
    notes(Severity::warning,
          fmt::format("{} in {} {} a value that is infinite, or too large for 32 bits; {} kept",
                      counted(static_cast<std::uint64_t>(infinite_pixels), "pixel"),
                      counted(with_infinite, "cube"), infinite_pixels == 1 ? "has" : "have",
                      infinite_pixels == 1 ? "it is" : "they are"));
  if (cubes.has_masks() && without_mask > 0)
    notes(Severity::warning,
          fmt::format("{} of {} {} no mask: nothing in {} counts as marked", human_count(without_mask),
                      counted(cubes.facts.size(), "cube"), without_mask == 1 ? "has" : "have",
                      without_mask == 1 ? "it" : "them"));
}

Table CubesReader::read(const std::vector<std::string>& /*text_columns*/, const Notes& notes) const {
  auto cubes = std::make_shared<Cubes>();
  cubes->values = values();
  cubes->facts.resize(static_cast<std::size_t>(cubes->count()));
  cubes->wavelengths = found_.wavelengths;
  cubes->classes = found_.classes;
  for (const FoundCube& each : found_.cubes) cubes->names.push_back(each.name);
  read_masks(*cubes);
  find_facts(*cubes);
  files_.refuse_if_written();
  tell_of(*cubes, notes);
  return table_of_cubes(std::move(cubes));
}

OpenedSource open_cubes(const SourceConfig& config, const fs::path& base, const StopSignal*) {
  return std::make_unique<CubesReader>(config, base);
}

void check_cubes(const SourceConfig& config, SourceProblems& problems) {
  if (config.path.empty())
    problems.push_back({"path", "missing; source cubes needs a file, a folder or a list of cubes"});
  for (const double each : config.wavelengths)
    if (!(each > 0 && each < 1e9)) {
      problems.push_back({"wavelengths", fmt::format("{} is not a wavelength in nm", each)});
      break;
    }
}

}  // namespace

SourceOfKind cubes_source() {
  return {SourceKind::cubes,
          open_cubes,
          check_cubes,
          [](const SourceConfig& config) { return config.path; },
          {"cube_key", "mask_path", "mask_key", "wavelengths", "processing", "follow_external"}};
}

bool holds_cubes(const fs::path& file) {
  const std::string ending = lower_case(file.extension().string());
  std::error_code error;
  if (ending == ".cu3s" || ending == ".hdr") return true;
  if ((ending != ".npy" && ending != ".npz") || !fs::is_regular_file(file, error)) return false;
  try {
    const auto is_cube = [](const StoredArray& array) {
      return array.shape.size() == 3 || array.shape.size() == 4;
    };
    return ending == ".npy" ? is_cube(npy_array(file, file.string()))
                            : std::ranges::any_of(npz_arrays(file, file.string()), is_cube);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace stoker
