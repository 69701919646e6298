#include "model/nodes/wavelengths.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace stoker::nodes {

Port wavelengths_port() {
  return {"wavelengths", DType::float32, {-1}, "Of the channels, in nanometres"};
}

void check_wavelengths(std::int64_t wavelengths, DType type, const Shape& cube) {
  if (wavelengths >= 0 && cube.back() >= 0 && wavelengths != cube.back())
    refuse("there are {} wavelengths for {}: each channel needs one", wavelengths, describe(type, cube));
}

void check_wavelengths(const Ports& connected) {
  check_wavelengths(find_port(connected, "wavelengths")->shape[0], connected[0].type, connected[0].shape);
}

std::vector<double> wavelengths_for(const Values& inputs, const Array& cube) {
  check_wavelengths(value_at(inputs, "wavelengths").size(), cube.type(), cube.shape());
  const auto values = value_at(inputs, "wavelengths").as<float>();
  return {values.begin(), values.end()};
}

std::int64_t nearest_channel(const std::vector<double>& wavelengths, double wanted) {
  if (wavelengths.empty())
    refuse("a channel of {} nm is asked for, but the cubes have no wavelengths", wanted);
  const auto apart = [&](double each) { return std::abs(each - wanted); };
  const auto nearest = std::ranges::min_element(wavelengths, {}, apart);
  const auto [least, most] = std::ranges::minmax(wavelengths);
  const double step =
      wavelengths.size() < 2 ? 0 : (most - least) / static_cast<double>(wavelengths.size() - 1);
  if (wanted < least - step || wanted > most + step)
    refuse("a channel of {} nm is asked for, but the cubes have {} channels from {} to {} nm", wanted,
           wavelengths.size(), least, most);
  return nearest - wavelengths.begin();
}

}  // namespace stoker::nodes
