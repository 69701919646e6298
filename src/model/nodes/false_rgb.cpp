#include <array>

#include "base/error.h"
#include "config/usual_bounds.h"
#include "model/nodes/compose_rgb.h"
#include "model/nodes/nodes.h"
#include "model/nodes/wavelengths.h"

namespace stoker::nodes {
namespace {

struct FalseRgbSettings {
  std::vector<double> target_wavelengths{650, 550, 450};
};

config::Fields fields(FalseRgbSettings& s) {
  return {config::field("target_wavelengths", s.target_wavelengths, "Of red, green and blue, in nanometres")
              .within(0, config::longest_wavelength)};
}

class BaselineFalseRgb final : public NodeWith<FalseRgbSettings> {
 public:
  using NodeWith::NodeWith;

  Ports inputs() const override { return {cube_port("cube", "What to show"), wavelengths_port()}; }
  Ports outputs(const Ports& connected) const override {
    if (settings_.target_wavelengths.size() != 3)
      refuse("target_wavelengths needs three, of red, green and blue; it has {}",
             settings_.target_wavelengths.size());
    check_wavelengths(connected);
    if (!connected[1].values.empty()) channels_for(connected[1].values);  // refuses what is not there
    return {rgb_port(connected[0])};
  }
  Values forward(const Pass& pass) const override {
    const Array& cube = value_at(pass.inputs, "cube");
    return {{"rgb_image", compose_rgb(cube, channels_for(wavelengths_for(pass.inputs, cube)))}};
  }

 private:
  std::array<std::int64_t, 3> channels_for(const std::vector<double>& wavelengths) const {
    std::array<std::int64_t, 3> channels{};
    for (std::size_t i = 0; i < 3; ++i)
      channels[i] = nearest_channel(wavelengths, settings_.target_wavelengths[i]);
    return channels;
  }
};

}  // namespace

NodeType baseline_false_rgb() {
  return type_of<BaselineFalseRgb>("BaselineFalseRGBSelector", NodeKind::stateless,
                                   "A picture of the channels nearest to three wavelengths");
}

}  // namespace stoker::nodes
