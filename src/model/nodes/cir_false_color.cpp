#include <array>

#include "config/usual_bounds.h"
#include "model/nodes/compose_rgb.h"
#include "model/nodes/nodes.h"
#include "model/nodes/wavelengths.h"

namespace stoker::nodes {
namespace {

struct CirSettings {
  double nir_nm = 860;
  double red_nm = 670;
  double green_nm = 560;
};

config::Fields fields(CirSettings& s) {
  return {
      config::field("nir_nm", s.nir_nm, "Near infrared, shown as red")
          .above(0)
          .within(0, config::longest_wavelength),
      config::field("red_nm", s.red_nm, "Red, shown as green").above(0).within(0, config::longest_wavelength),
      config::field("green_nm", s.green_nm, "Green, shown as blue")
          .above(0)
          .within(0, config::longest_wavelength)};
}

class CirFalseColor final : public NodeWith<CirSettings> {
 public:
  using NodeWith::NodeWith;

  Ports inputs() const override { return {cube_port("cube", "What to show"), wavelengths_port()}; }
  Ports outputs(const Ports& connected) const override {
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
    return {nearest_channel(wavelengths, settings_.nir_nm), nearest_channel(wavelengths, settings_.red_nm),
            nearest_channel(wavelengths, settings_.green_nm)};
  }
};

}  // namespace

NodeType cir_false_color() {
  return type_of<CirFalseColor>("CIRFalseColorSelector", NodeKind::stateless,
                                "A picture with near infrared as red, red as green and green as blue");
}

}  // namespace stoker::nodes
