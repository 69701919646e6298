#include "data/sample/glyphs_sample.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <arrow/type.h>

#include "data/format/image_columns.h"
#include "data/sample/glyph_strokes.h"
#include "device/workers.h"

namespace stoker {
namespace {

constexpr std::uint64_t glyph_stream = std::uint64_t{1} << 32;  // beyond those of other samples
constexpr float grain = 0.08F;                                  // of the paper, one deviation

using Canvas = std::array<float, glyph_pixels>;

struct PixelRange {
  int begin;
  int end;
};
PixelRange pixels_between(float low, float high) {
  constexpr int side = glyph_side;
  return {std::clamp(static_cast<int>(std::floor(low)), 0, side),
          std::clamp(static_cast<int>(std::ceil(high)) + 1, 0, side)};
}

// Where pen and pixel overlap, roughly: full ink up to half a pixel within the edge of the pen.
void draw_segment(Canvas& canvas, GlyphPoint a, GlyphPoint b, float radius, float ink) {
  const float reach = radius + 0.5F;
  const PixelRange rows = pixels_between(std::min(a.y, b.y) - reach, std::max(a.y, b.y) + reach);
  const PixelRange columns = pixels_between(std::min(a.x, b.x) - reach, std::max(a.x, b.x) + reach);
  const float dx = b.x - a.x;
  const float dy = b.y - a.y;
  const float square = dx * dx + dy * dy;
  const float scale = square > 0 ? 1 / square : 0;
  for (int y = rows.begin; y < rows.end; ++y) {
    for (int x = columns.begin; x < columns.end; ++x) {
      const float px = static_cast<float>(x) - a.x;
      const float py = static_cast<float>(y) - a.y;
      const float along = std::clamp((px * dx + py * dy) * scale, 0.0F, 1.0F);
      const float across = std::hypot(px - along * dx, py - along * dy);
      float& pixel = canvas[static_cast<std::size_t>(y * glyph_side + x)];
      pixel = std::max(pixel, ink * std::clamp(reach - across, 0.0F, 1.0F));
    }
  }
}

// The bytes of a random number, added up, are near enough to a bell; one number for each pixel.
float bell(RandomKey key, std::uint32_t pixel) {
  const std::uint32_t bits = random_bits(key, pixel);
  const auto sum =
      static_cast<float>((bits & 0xffU) + (bits >> 8U & 0xffU) + (bits >> 16U & 0xffU) + (bits >> 24U));
  constexpr float mean = 510;
  constexpr float deviation = 147.8F;  // of four uniform bytes
  return (sum - mean) / deviation;
}

void draw_glyph(std::uint64_t seed, std::int64_t row, std::uint8_t* pixels, std::uint8_t& label) {
  const std::uint64_t stream = glyph_stream + 2 * static_cast<std::uint64_t>(row);
  GlyphDraws draws(random_key(seed, Purpose::sample, stream));
  label = static_cast<std::uint8_t>(std::min(draws.between(0, glyph_classes), glyph_classes - 0.5F));
  Canvas canvas{};
  for (const GlyphStroke& stroke : drawn_glyph(label, draws))
    for (std::size_t i = 0; i + 1 < stroke.points.size(); ++i)
      draw_segment(canvas, stroke.points[i], stroke.points[i + 1], stroke.radius, stroke.ink);
  const RandomKey paper = random_key(seed, Purpose::sample, stream + 1);
  for (std::size_t i = 0; i < canvas.size(); ++i) {
    const float value = canvas[i] + grain * bell(paper, static_cast<std::uint32_t>(i));
    pixels[i] = static_cast<std::uint8_t>(std::clamp(value, 0.0F, 1.0F) * 255 + 0.5F);
  }
}

}  // namespace

std::optional<std::int64_t> first_glyph_to_test_with(std::int64_t rows) {
  const std::int64_t testing = rows / 7;
  return testing == 0 ? std::nullopt : std::optional(rows - testing);
}

Table make_glyphs(std::int64_t rows, std::uint64_t seed) {
  constexpr std::int64_t block = 256;
  const ImageColumns columns(rows, {glyph_side, glyph_side}, {arrow::uint8(), 1}, {arrow::uint8(), 1});
  const std::vector<std::uint8_t*> pixels = columns.pixels_from(0);
  std::uint8_t* labels = columns.labels_from(0).front();
  share_among_cores((rows + block - 1) / block, [&](std::int64_t number) {
    const std::int64_t first = number * block;
    const std::int64_t count = std::min(block, rows - first);
    std::vector<std::uint8_t> images(static_cast<std::size_t>(count * glyph_pixels));
    for (std::int64_t i = 0; i < count; ++i)
      draw_glyph(seed, first + i, images.data() + i * glyph_pixels, labels[first + i]);
    lay_in_columns(images.data(), 1, count, first, pixels);
  });
  Table table = columns.table();
  table.first_test_row = first_glyph_to_test_with(rows);
  return table;
}

}  // namespace stoker
