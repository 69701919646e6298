#include "data/sample/glyph_strokes.h"

#include <cmath>

namespace stoker {
namespace {

using Line = std::vector<GlyphPoint>;
using Sign = std::vector<Line>;

// Ways to write each sign, in a box from 0 to 1; lines go round through their points.
const std::array<std::vector<Sign>, glyph_classes>& signs() {
  static const std::array<std::vector<Sign>, glyph_classes> all{{
      {{{{0.5F, 0}, {0.15F, 0.2F}, {0.1F, 0.6F}, {0.4F, 1}, {0.8F, 0.85F}, {0.9F, 0.4F}, {0.5F, 0}}}},
      {{{{0.3F, 0.2F}, {0.55F, 0}, {0.55F, 0.5F}, {0.5F, 1}}}, {{{0.55F, 0}, {0.5F, 0.5F}, {0.45F, 1}}}},
      {{{{0.12F, 0.25F}, {0.45F, 0}, {0.85F, 0.2F}, {0.6F, 0.6F}, {0.1F, 1}},
        {{0.1F, 1}, {0.5F, 0.95F}, {0.92F, 1}}}},
      {{{{0.15F, 0.1F}, {0.6F, 0}, {0.8F, 0.25F}, {0.4F, 0.48F}},
        {{0.4F, 0.48F}, {0.88F, 0.65F}, {0.65F, 0.98F}, {0.12F, 0.9F}}}},
      {{{{0.35F, 0}, {0.1F, 0.6F}, {0.9F, 0.6F}}, {{0.7F, 0.25F}, {0.68F, 0.6F}, {0.65F, 1}}},
       {{{0.7F, 0}, {0.1F, 0.65F}, {0.92F, 0.65F}}, {{0.7F, 0}, {0.7F, 0.5F}, {0.68F, 1}}}},
      {{{{0.85F, 0.02F}, {0.5F, 0}, {0.2F, 0.03F}},
        {{0.2F, 0.03F}, {0.18F, 0.42F}, {0.65F, 0.42F}, {0.85F, 0.75F}, {0.5F, 1}, {0.12F, 0.9F}}}},
      {{{{0.7F, 0}, {0.3F, 0.3F}, {0.12F, 0.75F}, {0.45F, 1}, {0.82F, 0.8F}, {0.6F, 0.5F}, {0.2F, 0.65F}}}},
      {{{{0.1F, 0.03F}, {0.5F, 0.03F}, {0.9F, 0}}, {{0.9F, 0}, {0.6F, 0.5F}, {0.4F, 1}}},
       {{{0.1F, 0.03F}, {0.5F, 0.03F}, {0.9F, 0}},
        {{0.9F, 0}, {0.6F, 0.5F}, {0.4F, 1}},
        {{0.35F, 0.5F}, {0.6F, 0.5F}, {0.85F, 0.48F}}}},
      {{{{0.5F, 0.45F},
         {0.2F, 0.2F},
         {0.5F, 0},
         {0.8F, 0.2F},
         {0.5F, 0.45F},
         {0.15F, 0.75F},
         {0.5F, 1},
         {0.85F, 0.75F},
         {0.5F, 0.45F}}}},
      {{{{0.8F, 0.3F}, {0.45F, 0.5F}, {0.18F, 0.25F}, {0.5F, 0}, {0.82F, 0.25F}, {0.75F, 0.65F}, {0.6F, 1}}}},
  }};
  return all;
}

// How much a hand does what.
constexpr float wobble = 0.045F;      // of a point, in boxes
constexpr float turn = 0.17F;         // radians, one deviation
constexpr float lean = 0.2F;          // to the right by each box down
constexpr float stretch = 0.12F;      // of either side
constexpr float shift = 1.3F;         // in pixels
constexpr float distractors = 0.25F;  // share of the images with one

// Takes points of a box to pixels.
class Hand {
 public:
  explicit Hand(GlyphDraws& draws) {
    constexpr float box = 18;
    const float width = box * 0.8F * std::exp(draws.spread(stretch));
    const float height = box * std::exp(draws.spread(stretch));
    const float angle = draws.spread(turn);
    const float slant = draws.spread(lean);
    xx_ = width * std::cos(angle);
    yx_ = width * std::sin(angle);
    xy_ = height * (slant * std::cos(angle) - std::sin(angle));
    yy_ = height * (slant * std::sin(angle) + std::cos(angle));
    middle_ = {static_cast<float>(glyph_side) / 2 - 0.5F + draws.spread(shift),
               static_cast<float>(glyph_side) / 2 - 0.5F + draws.spread(shift)};
  }
  GlyphPoint operator()(GlyphPoint at) const {
    const float x = at.x - 0.5F;
    const float y = at.y - 0.5F;
    return {middle_.x + xx_ * x + xy_ * y, middle_.y + yx_ * x + yy_ * y};
  }

 private:
  float xx_, xy_, yx_, yy_;
  GlyphPoint middle_;
};

// Through the points, as Catmull and Rom draw it.
Line rounded(const Line& points) {
  constexpr int steps = 5;
  Line line{points.front()};
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const GlyphPoint& a = points[i == 0 ? 0 : i - 1];
    const GlyphPoint& b = points[i];
    const GlyphPoint& c = points[i + 1];
    const GlyphPoint& d = points[i + 2 < points.size() ? i + 2 : i + 1];
    for (int step = 1; step <= steps; ++step) {
      const float t = static_cast<float>(step) / steps;
      const auto at = [t](float p, float q, float r, float s) {
        return 0.5F * (2 * q + t * (r - p + t * (2 * p - 5 * q + 4 * r - s + t * (3 * (q - r) + s - p))));
      };
      line.push_back({at(a.x, b.x, c.x, d.x), at(a.y, b.y, c.y, d.y)});
    }
  }
  return line;
}

GlyphStroke distractor(GlyphDraws& draws) {
  constexpr float side = static_cast<float>(glyph_side);
  const GlyphPoint begin{draws.between(0, side), draws.between(0, side)};
  const float angle = draws.between(0, 6.2832F);
  const float length = draws.between(3, 9);
  return {{begin, {begin.x + length * std::cos(angle), begin.y + length * std::sin(angle)}},
          draws.between(0.5F, 1.1F),
          draws.between(0.4F, 1)};
}

}  // namespace

std::vector<GlyphStroke> drawn_glyph(std::uint32_t label, GlyphDraws& draws) {
  const std::vector<Sign>& ways = signs()[label];
  const auto way = static_cast<std::size_t>(draws.between(0, static_cast<float>(ways.size())));
  const Hand hand(draws);
  const float radius = draws.between(0.7F, 1.7F);
  const float ink = draws.between(0.7F, 1);
  std::vector<GlyphStroke> strokes;
  for (const Line& line : ways[std::min(way, ways.size() - 1)]) {
    Line wobbled;
    for (const GlyphPoint& point : line)
      wobbled.push_back(hand({point.x + draws.spread(wobble), point.y + draws.spread(wobble)}));
    strokes.push_back({rounded(wobbled), radius, ink});
  }
  if (draws.happens(distractors)) strokes.push_back(distractor(draws));
  return strokes;
}

}  // namespace stoker
