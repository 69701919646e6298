#include "model/nodes/compose_rgb.h"

#include "model/nodes/pixels.h"

namespace stoker::nodes {

Array compose_rgb(const Array& cube, std::span<const std::int64_t> channels) {
  const std::int64_t images = cube.dimension(0);
  const std::int64_t size = pixels_of_image(cube);
  Array rgb = with_channels(cube, static_cast<std::int64_t>(channels.size()));
  for (std::int64_t image = 0; image < images; ++image)
    for (std::size_t i = 0; i < channels.size(); ++i) {
      const auto from = pixels_of(cube).col(channels[i]).segment(image * size, size).array();
      const float least = from.minCoeff();
      const float range = std::max(from.maxCoeff() - least, 1e-8F);
      pixels_of(rgb).col(static_cast<Eigen::Index>(i)).segment(image * size, size) = (from - least) / range;
    }
  return rgb;
}

Port rgb_port(const Port& cube) {
  return {"rgb_image", DType::float32, with_last(cube.shape, 3),
          "Red, green and blue, from 0 to 1 in each image"};
}

}  // namespace stoker::nodes
