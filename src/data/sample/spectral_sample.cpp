#include "data/sample/spectral_sample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>

#include <fmt/format.h>

#include "base/random.h"
#include "data/cubes/cubes.h"
#include "device/workers.h"

// Compiled without contraction of products and sums, so that all processors make the same numbers.
namespace stoker {
namespace {

constexpr std::int64_t cube_side = 128;
constexpr std::size_t cube_channels = 50;
constexpr std::size_t materials = 4;  // beside that of the spots
constexpr std::size_t nodes = 9;      // of the grid that shares are drawn on, along each side
constexpr std::int64_t pixels_of_node = cube_side / static_cast<std::int64_t>(nodes - 1);
constexpr float noise_deviation = 0.02F;

using Spectrum = std::array<float, cube_channels>;

enum class SpectralDraw : std::uint64_t { material, shares, spots, noise };
RandomKey spectral_key(std::uint64_t seed, SpectralDraw draw, std::uint64_t number) {
  return random_key(seed, Purpose::sample, 9'000 + static_cast<std::uint64_t>(draw) + (number << 16U));
}

double wavelength_of(std::size_t channel) {
  return 430 + 10 * static_cast<double>(channel);
}

// Three hills and a floor; that of the spots has two narrow ones.
Spectrum spectrum_of(std::uint64_t seed, std::size_t material) {
  const RandomKey key = spectral_key(seed, SpectralDraw::material, material);
  const bool is_of_spots = material == materials;
  const std::size_t hills = is_of_spots ? 2 : 3;
  std::array<double, cube_channels> sum{};
  for (std::uint32_t hill = 0; hill < hills; ++hill) {
    const double middle = 450 + 450 * uniform(key, 3 * hill);
    const double width =
        is_of_spots ? 15 + 15 * uniform(key, 3 * hill + 1) : 50 + 70 * uniform(key, 3 * hill + 1);
    const double height = 0.2 + 0.4 * uniform(key, 3 * hill + 2);
    for (std::size_t c = 0; c < cube_channels; ++c) {
      const double away = (wavelength_of(c) - middle) / width;
      sum[c] += height * std::exp(-0.5 * away * away);
    }
  }
  Spectrum spectrum{};
  for (std::size_t c = 0; c < cube_channels; ++c) spectrum[c] = static_cast<float>(0.1 + sum[c]);
  return spectrum;
}

struct SpectralSpot {
  double x = 0;
  double y = 0;
  double radius = 0;
  float share = 0;  // of the fifth material
};

std::vector<SpectralSpot> spots_of(std::uint64_t seed, std::uint64_t cube) {
  const RandomKey key = spectral_key(seed, SpectralDraw::spots, cube);
  std::vector<SpectralSpot> spots(random_bits(key, 0) % 4);
  for (std::uint32_t i = 0; i < spots.size(); ++i) {
    const std::uint32_t at = 1 + 4 * i;
    spots[i] = {cube_side * uniform(key, at), cube_side * uniform(key, at + 1), 2 + 5 * uniform(key, at + 2),
                static_cast<float>(0.15 + 0.45 * uniform(key, at + 3))};
  }
  return spots;
}

// Shares of the materials and a brightness on the nodes of a grid; in between they are straight.
class SpectralScene {
 public:
  SpectralScene(std::uint64_t seed, std::uint64_t cube) {
    const RandomKey key = spectral_key(seed, SpectralDraw::shares, cube);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const auto drawn = static_cast<float>(uniform(key, static_cast<std::uint32_t>(i)));
      const bool is_brightness = i % values_of_node == materials;
      values_[i] = is_brightness ? 0.8F + 0.4F * drawn : drawn * drawn + 0.02F;
    }
  }

  // Of the materials, brightness included.
  std::array<float, materials> at(std::int64_t x, std::int64_t y) const {
    std::array<float, values_of_node> mixed{};
    const auto across = static_cast<float>(x % pixels_of_node) / static_cast<float>(pixels_of_node);
    const auto down = static_cast<float>(y % pixels_of_node) / static_cast<float>(pixels_of_node);
    const std::size_t corner = values_of_node * static_cast<std::size_t>(y / pixels_of_node) * nodes +
                               values_of_node * static_cast<std::size_t>(x / pixels_of_node);
    for (std::size_t i = 0; i < values_of_node; ++i) {
      const float* node = values_.data() + corner + i;
      const float above = node[0] + across * (node[values_of_node] - node[0]);
      const float* next = node + values_of_node * nodes;
      const float below = next[0] + across * (next[values_of_node] - next[0]);
      mixed[i] = above + down * (below - above);
    }
    float sum = 0;
    for (std::size_t i = 0; i < materials; ++i) sum += mixed[i];
    std::array<float, materials> shares{};
    for (std::size_t i = 0; i < materials; ++i) shares[i] = mixed[i] * mixed[materials] / sum;
    return shares;
  }

 private:
  static constexpr std::size_t values_of_node = materials + 1;
  std::array<float, nodes * nodes * values_of_node> values_{};
};

// The sum of four bytes, nearly normal and the same on every machine; their deviation is that of
// 4 (256² - 1) / 12.
inline float spectral_noise(RandomKey key, std::uint32_t index) {
  const std::uint32_t bits = random_bits(key, index);
  const std::uint32_t pairs = (bits & 0x00ff00ffU) + (bits >> 8U & 0x00ff00ffU);
  const auto sum = static_cast<std::int32_t>((pairs & 0xffffU) + (pairs >> 16U)) - 510;
  return static_cast<float>(sum) * (noise_deviation / 147.8005F);
}

class SpectralMaker {
 public:
  explicit SpectralMaker(std::uint64_t seed) : seed_(seed) {
    for (std::size_t i = 0; i < spectra_.size(); ++i) spectra_[i] = spectrum_of(seed, i);
  }

  void make(std::uint64_t cube, std::span<float> values, std::span<std::uint8_t> mask) const {
    const SpectralScene scene(seed_, cube);
    const RandomKey noise = spectral_key(seed_, SpectralDraw::noise, cube);
    const std::vector<SpectralSpot> spots = spots_of(seed_, cube);
    for (std::int64_t y = 0; y < cube_side; ++y) {
      for (std::int64_t x = 0; x < cube_side; ++x) {
        const auto pixel = static_cast<std::size_t>(y * cube_side + x);
        const float share = share_of_spots(spots, static_cast<double>(x), static_cast<double>(y));
        mask[pixel] = share > 0 ? 1 : 0;
        make_pixel(scene.at(x, y), share, noise, pixel, values.subspan(pixel * cube_channels, cube_channels));
      }
    }
  }

 private:
  static float share_of_spots(const std::vector<SpectralSpot>& spots, double x, double y) {
    float share = 0;
    for (const SpectralSpot& spot : spots) {
      const double across = x - spot.x;
      const double down = y - spot.y;
      if (across * across + down * down <= spot.radius * spot.radius) share = std::max(share, spot.share);
    }
    return share;
  }

  void make_pixel(const std::array<float, materials>& shares, float share_of_spot, RandomKey noise,
                  std::size_t pixel, std::span<float> values) const {
    const auto first = static_cast<std::uint32_t>(pixel * cube_channels);
    for (std::uint32_t c = 0; c < cube_channels; ++c) {
      float value = shares[0] * spectra_[0][c];
      for (std::size_t i = 1; i < materials; ++i) value += shares[i] * spectra_[i][c];
      values[c] = value + spectral_noise(noise, first + c);
    }
    if (share_of_spot == 0) return;
    for (std::size_t c = 0; c < cube_channels; ++c)
      values[c] += share_of_spot * (spectra_[materials][c] - values[c]);
  }

  std::uint64_t seed_;
  std::array<Spectrum, materials + 1> spectra_{};
};

}  // namespace

Table make_spectral_stress(std::int64_t count, std::uint64_t seed) {
  auto cubes = std::make_shared<Cubes>();
  const auto channels = static_cast<std::int64_t>(cube_channels);
  cubes->values =
      room_for_cubes(DType::float32, {count, cube_side, cube_side, channels}, "sample spectral_stress");
  cubes->masks = room_for_cubes(DType::uint8, {count, cube_side, cube_side}, "sample spectral_stress");
  const SpectralMaker maker(seed);
  const auto values = cubes->values.as<float>();
  const auto masks = cubes->masks.as<std::uint8_t>();
  constexpr auto pixels = static_cast<std::size_t>(cube_side * cube_side);
  share_among_cores(count, [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    maker.make(at, values.subspan(at * pixels * cube_channels, pixels * cube_channels),
               masks.subspan(at * pixels, pixels));
  });
  for (std::size_t c = 0; c < cube_channels; ++c) cubes->wavelengths.push_back(wavelength_of(c));
  for (std::int64_t i = 0; i < count; ++i) cubes->names.push_back(fmt::format("spectral_stress_{}", i));
  cubes->classes = {{1, "anomaly"}};
  cubes->facts.resize(static_cast<std::size_t>(count));
  for (CubeFacts& each : cubes->facts) each.has_mask = true;
  find_facts(*cubes);
  return table_of_cubes(std::move(cubes));
}

}  // namespace stoker
