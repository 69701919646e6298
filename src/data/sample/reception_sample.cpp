#include "data/sample/reception_sample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/random.h"
#include "data/sample/sample_table.h"

namespace stoker {
namespace {

constexpr std::size_t stations = 10;
constexpr std::size_t values_of_station = 6;
constexpr std::size_t fewest_that_hear = 3;
constexpr double reach_of_transmitters = 60;  // km from the middle
constexpr double microseconds_of_km = 1 / 0.299792458;
constexpr double worst_gdop = 50;  // worse is no position at all

struct Place {
  double x = 0;
  double y = 0;
};

enum class ReceptionDraw : std::uint64_t { station, reception };
RandomKey reception_key(std::uint64_t seed, ReceptionDraw draw, std::uint64_t number) {
  return random_key(seed, Purpose::sample, 7'000 + static_cast<std::uint64_t>(draw) + (number << 16));
}

struct Station {
  Place place;
  double noise_dbm = 0;
  double offset_hz = 0;  // of its own clock
};

// The stations are where they are, whatever the seed: a sample with another one is of the same country.
std::array<Station, stations> all_stations() {
  std::array<Station, stations> all;
  for (std::size_t i = 0; i < stations; ++i) {
    const RandomKey key = reception_key(0, ReceptionDraw::station, i);
    const double turn = 6.283185307179586 * (static_cast<double>(i) + 0.8 * uniform(key, 0)) / stations;
    const double distance = 80 * std::sqrt(uniform(key, 1));
    all[i] = {{distance * std::cos(turn), distance * std::sin(turn)},
              -121 + 2 * normal(key, 1),
              20 * normal(key, 2)};
  }
  return all;
}

struct Heard {
  std::array<std::array<double, values_of_station>, stations> values = {};
  std::array<bool, stations> present = {};
  Place transmitter;
  double snr_db = 0;
  double gdop = 0;
};

double distance_between(Place one, Place other) {
  return std::max(0.5, std::hypot(one.x - other.x, one.y - other.y));
}

// By how much the geometry enlarges an error of distance, the moment of sending being unknown: the root of
// the trace, over x and y, of the inverse of H'H, where H has the direction of each station and a 1.
double gdop_of(const Heard& heard, const std::array<Station, stations>& all) {
  double xx = 0, xy = 0, yy = 0, x = 0, y = 0, count = 0;
  for (std::size_t i = 0; i < stations; ++i) {
    if (!heard.present[i]) continue;
    const double distance = distance_between(heard.transmitter, all[i].place);
    const double toward_x = (all[i].place.x - heard.transmitter.x) / distance;
    const double toward_y = (all[i].place.y - heard.transmitter.y) / distance;
    xx += toward_x * toward_x;
    xy += toward_x * toward_y;
    yy += toward_y * toward_y;
    x += toward_x;
    y += toward_y;
    count += 1;
  }
  // With the moment of sending taken out.
  xx -= x * x / count;
  xy -= x * y / count;
  yy -= y * y / count;
  const double determinant = xx * yy - xy * xy;
  return determinant <= 0 ? worst_gdop * 2 : std::sqrt((xx + yy) / determinant);
}

// None where too few stations hear it, or their geometry says nothing.
std::optional<Heard> try_to_hear(RandomKey key, const std::array<Station, stations>& all) {
  std::uint32_t drawn = 0;
  const auto draw_normal = [&] { return normal(key, 100 + drawn++); };
  Heard heard;
  const double turn = 6.283185307179586 * uniform(key, 0);
  const double from_middle = reach_of_transmitters * std::sqrt(uniform(key, 1));
  heard.transmitter = {from_middle * std::cos(turn), from_middle * std::sin(turn)};
  const double strength_db = 12 * uniform(key, 2) - 6;
  const double offset_hz = 150 * normal(key, 2);  // of the transmitter's clock
  std::size_t hearing = 0;
  double mean_arrival = 0;
  for (std::size_t i = 0; i < stations; ++i) {
    const double distance = distance_between(heard.transmitter, all[i].place);
    // Falls with the cube of the distance; hills and houses add or take away 5 dB.
    const double snr = 62 + strength_db - 30 * std::log10(distance) + 5 * draw_normal();
    const double error_us = (0.3 + 6 * std::pow(10.0, -snr / 20)) * draw_normal();
    const double own_offset = 5 * draw_normal();
    if (snr < 3) continue;
    heard.present[i] = true;
    ++hearing;
    const double arrival = distance * microseconds_of_km + error_us;
    mean_arrival += arrival;
    heard.snr_db += snr;
    heard.values[i] = {all[i].place.x,
                       all[i].place.y,
                       snr,
                       all[i].noise_dbm + snr,
                       offset_hz + all[i].offset_hz + own_offset,
                       arrival};
  }
  if (hearing < fewest_that_hear) return std::nullopt;
  for (std::size_t i = 0; i < stations; ++i)
    if (heard.present[i]) heard.values[i].back() -= mean_arrival / static_cast<double>(hearing);
  heard.snr_db /= static_cast<double>(hearing);
  heard.gdop = gdop_of(heard, all);
  if (heard.gdop > worst_gdop) return std::nullopt;
  return heard;
}

}  // namespace

Table make_receptions(std::int64_t rows, std::uint64_t seed) {
  const std::array<Station, stations> all = all_stations();
  const auto count = static_cast<std::size_t>(rows);
  using Numbers = std::vector<double>;
  std::vector<Numbers> values(stations * values_of_station, Numbers(count));
  std::vector<std::vector<std::int64_t>> present(stations, std::vector<std::int64_t>(count));
  Numbers x(count), y(count), snr(count), gdop(count);
  std::uint64_t tried = 0;
  for (std::size_t row = 0; row < count; ++row) {
    std::optional<Heard> heard;
    while (!heard) heard = try_to_hear(reception_key(seed, ReceptionDraw::reception, tried++), all);
    for (std::size_t i = 0; i < stations; ++i) {
      present[i][row] = heard->present[i] ? 1 : 0;
      for (std::size_t j = 0; j < values_of_station; ++j)
        values[i * values_of_station + j][row] = heard->values[i][j];
    }
    x[row] = heard->transmitter.x;
    y[row] = heard->transmitter.y;
    snr[row] = heard->snr_db;
    gdop[row] = heard->gdop;
  }
  SampleTable table;
  for (std::size_t i = 0; i < values.size(); ++i)
    table.add(fmt::format("receivers_{}_{}", i / values_of_station, i % values_of_station), values[i]);
  for (std::size_t i = 0; i < stations; ++i) table.add(fmt::format("present_{}", i), present[i]);
  table.add("snr_db", snr);
  table.add("gdop", gdop);
  table.add("position_0", x);
  table.add("position_1", y);
  return table.finish();
}

}  // namespace stoker
