#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"

// The signs of the sample glyphs: what a hand draws, before it becomes pixels.
namespace stoker {

constexpr std::int64_t glyph_side = 28;
constexpr std::int64_t glyph_pixels = glyph_side * glyph_side;
constexpr std::uint32_t glyph_classes = 10;

struct GlyphPoint {
  float x = 0;  // in pixels, to the right
  float y = 0;  // and down
};

struct GlyphStroke {
  std::vector<GlyphPoint> points;  // of a line
  float radius = 1;                // of the pen, in pixels
  float ink = 1;                   // 0 to 1
};

// Draws of one image, each another number of its own.
class GlyphDraws {
 public:
  explicit GlyphDraws(RandomKey key) : key_(key) {}
  float between(float low, float high) {
    return low + (high - low) * static_cast<float>(uniform(key_, next_++));
  }
  float spread(float deviation) { return deviation * static_cast<float>(normal(key_, next_normal_++)); }
  bool happens(float share) { return between(0, 1) < share; }
  RandomKey key() const { return key_; }

 private:
  RandomKey key_;
  std::uint32_t next_ = 0;
  std::uint32_t next_normal_ = 1U << 20;  // beyond the other draws
};

// The strokes of a sign of that class, drawn by a hand that wobbles, leans, turns and presses as it likes,
// and now and then something beside it that belongs to no sign.
std::vector<GlyphStroke> drawn_glyph(std::uint32_t label, GlyphDraws& draws);

}  // namespace stoker
