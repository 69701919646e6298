#include "data/arrays/envi.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/text.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_envi_header = std::size_t{16} << 20U;
// What files of numbers are called; some have no ending at all.
constexpr std::array<std::string_view, 10> envi_endings{"",     ".img", ".dat", ".raw",  ".bin",
                                                        ".bsq", ".bil", ".bip", ".cube", ".sli"};

bool is_header_name(const fs::path& file) {
  return lower_case(file.extension().string()) == ".hdr";
}

bool is_plain_file(const fs::path& file) {
  std::error_code error;
  return fs::is_regular_file(file, error);
}

std::string upper_case(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return result;
}

fs::path numbers_beside(const fs::path& header, const std::string& shown) {
  const fs::path stem = fs::path(header).replace_extension();
  for (const std::string_view ending : envi_endings)
    for (const std::string& each : {std::string(ending), upper_case(ending)})
      if (const fs::path file = stem.string() + each; file != header && is_plain_file(file)) return file;
  refuse(
      "{}: there is no file of numbers beside this header: {} without .hdr, or with .img, .dat, .raw, .bin, "
      ".bsq, .bil, .bip, .cube or .sli",
      shown, printable(stem.filename().string()));
}

std::optional<fs::path> find_header_beside(const fs::path& numbers) {
  for (const char* ending : {".hdr", ".HDR"}) {
    if (const fs::path file = numbers.string() + ending; is_plain_file(file)) return file;
    if (const fs::path file = fs::path(numbers).replace_extension(ending); is_plain_file(file)) return file;
  }
  return std::nullopt;
}

fs::path header_beside(const fs::path& numbers, const std::string& shown) {
  if (const std::optional<fs::path> header = find_header_beside(numbers)) return *header;
  refuse("{}: there is no ENVI header beside it, such as {}", shown,
         printable(fs::path(numbers).replace_extension(".hdr").filename().string()));
}

// Lines of a cube, whatever lies between its bands. In the file an element stands at
// line * line_step + sample * sample_step + band * band_step.
class EnviNumbers {
 public:
  EnviNumbers(StoredNumbers numbers, const EnviHeader& header, double divisor)
      : numbers_(std::move(numbers)), header_(header), divisor_(divisor) {}

  void read(std::int64_t first, std::int64_t count, float* to) const {
    switch (header_.interleave) {
      case Interleave::bip:
        read_numbers(numbers_, first * line_numbers(), count * line_numbers(), to);
        break;
      case Interleave::bil:
        read_by_line(first, count, to);
        break;
      case Interleave::bsq:
        read_bands(first, count, to);
        break;
    }
    finish(to, count * line_numbers());
  }

 private:
  std::int64_t line_numbers() const { return header_.samples * header_.bands; }

  void read_by_line(std::int64_t first, std::int64_t count, float* to) const {
    std::vector<float> line(static_cast<std::size_t>(line_numbers()));
    for (std::int64_t i = 0; i < count; ++i) {
      read_numbers(numbers_, (first + i) * line_numbers(), line_numbers(), line.data());
      turn(line, header_.samples, to + i * line_numbers());
    }
  }

  // As many lines of every band as a buffer holds that is not much larger than the cache.
  void read_bands(std::int64_t first, std::int64_t count, float* to) const {
    constexpr std::int64_t numbers_at_once = std::int64_t{1} << 20U;
    const std::int64_t lines = std::clamp<std::int64_t>(numbers_at_once / line_numbers(), 1, count);
    std::vector<float> part;
    for (std::int64_t i = 0; i < count; i += lines) {
      const std::int64_t now = std::min(lines, count - i);
      const std::int64_t pixels = now * header_.samples;
      part.resize(static_cast<std::size_t>(pixels * header_.bands));
      for (std::int64_t band = 0; band < header_.bands; ++band)
        read_numbers(numbers_, (band * header_.lines + first + i) * header_.samples, pixels,
                     part.data() + band * pixels);
      turn(part, pixels, to + i * line_numbers());
    }
  }

  // [bands, pixels] becomes [pixels, bands], in tiles that stay in the cache.
  void turn(const std::vector<float>& from, std::int64_t pixels, float* to) const {
    constexpr std::int64_t tile = 32;
    for (std::int64_t p = 0; p < pixels; p += tile) {
      const std::int64_t end = std::min(pixels, p + tile);
      for (std::int64_t band = 0; band < header_.bands; ++band)
        for (std::int64_t i = p; i < end; ++i)
          to[i * header_.bands + band] = from[static_cast<std::size_t>(band * pixels + i)];
    }
  }

  // What is to be ignored is so by its stored value.
  void finish(float* numbers, std::int64_t count) const {
    if (header_.ignore_value) {
      const auto ignored = static_cast<float>(*header_.ignore_value);
      for (std::int64_t i = 0; i < count; ++i)
        if (numbers[i] == ignored) numbers[i] = std::numeric_limits<float>::quiet_NaN();
    }
    if (divisor_ == 1) return;
    const auto divisor = static_cast<float>(divisor_);
    for (std::int64_t i = 0; i < count; ++i) numbers[i] /= divisor;
  }

  StoredNumbers numbers_;
  EnviHeader header_;
  double divisor_;
};

}  // namespace

bool is_envi_name(const fs::path& file) {
  const std::string ending = lower_case(file.extension().string());
  return ending == ".hdr" ||
         (!ending.empty() && std::ranges::find(envi_endings, ending) != envi_endings.end());
}

std::optional<fs::path> envi_header_of(const fs::path& numbers) {
  const std::string ending = lower_case(numbers.extension().string());
  if (std::ranges::find(envi_endings, ending) == envi_endings.end()) return std::nullopt;
  const std::optional<fs::path> header = find_header_beside(numbers);
  if (!header) return std::nullopt;
  std::array<char, 4> start{};
  std::ifstream(*header, std::ios::binary).read(start.data(), start.size());
  if (std::string_view(start.data(), start.size()) != "ENVI") return std::nullopt;
  return header;
}

EnviCube envi_cube(const fs::path& file, CubeProcessing processing, const std::string& shown) {
  EnviCube cube;
  cube.header_file = is_header_name(file) ? file : header_beside(file, shown);
  cube.data_file = is_header_name(file) ? numbers_beside(file, shown) : file;
  cube.header = parse_envi_header(read_file(cube.header_file, longest_envi_header), shown);
  EnviHeader& header = cube.header;
  if (header.is_spectral_library) {  // a spectrum in each line, one pixel wide
    std::swap(header.samples, header.bands);
    header.interleave = Interleave::bip;
  }
  std::error_code error;
  const auto bytes = static_cast<std::int64_t>(fs::file_size(cube.data_file, error));
  if (error) refuse("{} cannot be read: {}", printable(cube.data_file.string()), error.message());
  const std::int64_t left = bytes - std::min(bytes, header.header_offset);
  const Shape shape{header.lines, header.samples, header.bands};
  cube.stored_numbers = left / static_cast<std::int64_t>(size_of(header.type));
  size_of_shape(
      shape, cube.stored_numbers,
      fmt::format("{} (its numbers lie in {})", shown, printable(cube.data_file.filename().string())));
  const double divisor = processing == CubeProcessing::reflectance ? header.scale_factor.value_or(1) : 1;
  const StoredNumbers numbers{cube.data_file, header.header_offset, header.type, header.is_big_endian};
  cube.array.shape = shape;
  if (header.type == StoredType::float32 && !header.is_big_endian && divisor == 1 && !header.ignore_value &&
      header.header_offset % 4 == 0 && (header.interleave == Interleave::bip || header.bands == 1))
    cube.array.floats = numbers;
  cube.array.read = [reader = EnviNumbers(numbers, header, divisor)](
                        std::int64_t first, std::int64_t count, float* to) { reader.read(first, count, to); };
  return cube;
}

}  // namespace stoker
