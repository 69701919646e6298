#include "base/error.h"
#include "config/usual_bounds.h"
#include "model/nodes/nodes.h"
#include "model/nodes/pixels.h"
#include "model/nodes/wavelengths.h"

namespace stoker::nodes {
namespace {

struct BandpassSettings {
  double min_wavelength_nm = 0;
  std::optional<double> max_wavelength_nm;
};

config::Fields fields(BandpassSettings& s) {
  return {config::field("min_wavelength_nm", s.min_wavelength_nm, "Shortest wavelength that is kept")
              .within(0, config::longest_wavelength)
              .required(),
          config::field("max_wavelength_nm", s.max_wavelength_nm,
                        "Longest that is kept; not set: all that are longer")
              .within(0, config::longest_wavelength)
              .optional()};
}

class BandpassByWavelength final : public NodeWith<BandpassSettings> {
 public:
  using NodeWith::NodeWith;

  Ports inputs() const override { return {cube_port("data", "Channels to choose from"), wavelengths_port()}; }
  // How many channels are left is known once the wavelengths are.
  Ports outputs(const Ports& connected) const override {
    if (settings_.max_wavelength_nm && *settings_.max_wavelength_nm < settings_.min_wavelength_nm)
      refuse("max_wavelength_nm, {}, lies below min_wavelength_nm, {}", *settings_.max_wavelength_nm,
             settings_.min_wavelength_nm);
    check_wavelengths(connected);
    const std::vector<double>& wavelengths = connected[1].values;
    const std::int64_t channels = wavelengths.empty() ? -1 : std::ssize(kept(wavelengths));
    return {
        {"filtered", DType::float32, with_last(connected[0].shape, channels), "The channels that are kept"}};
  }

  NamedArrays begin(const Ports& connected, const Known&) const override {
    if (connected[1].values.empty()) return {};
    const std::vector<Eigen::Index> channels = kept(connected[1].values);
    const std::vector<double> as_numbers(channels.begin(), channels.end());
    return {{"kept_channels", numbers({static_cast<std::int64_t>(channels.size())}, as_numbers)},
            {"channels", one_number(static_cast<double>(connected[1].values.size()))}};
  }

  std::optional<Affine> affine(const NamedArrays& state) const override {
    if (state.empty()) return std::nullopt;
    const auto channels = find_array(state, "kept_channels").as<float>();
    Affine affine{static_cast<std::int64_t>(number_in(find_array(state, "channels"))),
                  static_cast<std::int64_t>(channels.size()),
                  {},
                  std::vector<double>(channels.size())};
    affine.matrix.resize(static_cast<std::size_t>(affine.inputs * affine.outputs));
    for (std::size_t i = 0; i < channels.size(); ++i)
      affine.matrix[i * static_cast<std::size_t>(affine.inputs) + static_cast<std::size_t>(channels[i])] = 1;
    return affine;
  }

  Values forward(const Pass& pass) const override {
    const Array& data = value_at(pass.inputs, "data");
    const std::vector<Eigen::Index> channels = kept(wavelengths_for(pass.inputs, data));
    Array result = with_channels(data, static_cast<std::int64_t>(channels.size()));
    each_part(pixels_in(data), [&](std::int64_t first, std::int64_t count) {
      for (std::int64_t pixel = first; pixel < first + count; ++pixel) {
        const auto from = pixels_of(data).row(pixel);
        auto to = pixels_of(result).row(pixel);
        for (std::size_t i = 0; i < channels.size(); ++i)
          to[static_cast<Eigen::Index>(i)] = from[channels[i]];
      }
    });
    return {{"filtered", result}};
  }

  Gradients backward(const PassBack& pass) const override {
    const Array& data = value_at(pass.inputs, "data");
    const std::vector<Eigen::Index> channels = kept(wavelengths_for(pass.inputs, data));
    Array result = with_channels(data, channels_in(data));
    pixels_of(result).setZero();
    const auto gradient = pixels_of(value_at(pass.gradients, "filtered"));
    for (std::size_t i = 0; i < channels.size(); ++i)
      pixels_of(result).col(channels[i]) = gradient.col(static_cast<Eigen::Index>(i));
    return {{{"data", result}}, {}};
  }

 private:
  std::vector<Eigen::Index> kept(const std::vector<double>& wavelengths) const {
    std::vector<Eigen::Index> channels;
    for (std::size_t i = 0; i < wavelengths.size(); ++i)
      if (wavelengths[i] >= settings_.min_wavelength_nm &&
          (!settings_.max_wavelength_nm || wavelengths[i] <= *settings_.max_wavelength_nm))
        channels.push_back(static_cast<Eigen::Index>(i));
    if (channels.empty())
      refuse("no channel lies {}; the cubes cover {} to {} nm",
             settings_.max_wavelength_nm ? fmt::format("between {} and {} nm", settings_.min_wavelength_nm,
                                                       *settings_.max_wavelength_nm)
                                         : fmt::format("at or above {} nm", settings_.min_wavelength_nm),
             wavelengths.empty() ? 0 : wavelengths.front(), wavelengths.empty() ? 0 : wavelengths.back());
    return channels;
  }
};

}  // namespace

NodeType bandpass_by_wavelength() {
  return type_of<BandpassByWavelength>("BandpassByWavelength", NodeKind::stateless,
                                       "Keeps the channels whose wavelengths lie in a range");
}

}  // namespace stoker::nodes
