#include "model/nodes/quadratic_form.h"

#include "model/nodes/pixels.h"

namespace stoker::nodes {

Port scores_behind(const Port& cube, std::string help) {
  return {"scores", DType::float32, with_last(cube.shape, 1), std::move(help)};
}

Array quadratic_form(const Array& data, const NamedArrays& state, const std::string& centre,
                     const std::string& matrix) {
  const auto mean = matrix_in(state, centre).row(0);
  const auto inverse = matrix_in(state, matrix);
  Array scores = with_channels(data, 1);
  each_part(pixels_in(data), [&](std::int64_t first, std::int64_t count) {
    const PixelMatrix apart = pixels_of(data).middleRows(first, count).rowwise() - mean;
    pixels_of(scores).middleRows(first, count) = (apart * inverse).cwiseProduct(apart).rowwise().sum();
  });
  return scores;
}

Gradients quadratic_form_back(const Array& data, const Array& gradient, const NamedArrays& state,
                              const std::string& centre, const std::string& matrix) {
  const auto inverse = matrix_in(state, matrix);
  const PixelMatrix both = inverse + inverse.transpose();
  const PixelMatrix apart = pixels_of(data).rowwise() - matrix_in(state, centre).row(0);
  const auto of_scores = pixels_of(gradient).col(0).array();
  Array of_data = with_channels(data, channels_in(data));
  pixels_of(of_data) = (apart * both).array().colwise() * of_scores;
  const PixelMatrix weighted = apart.array().colwise() * of_scores;
  const PixelMatrix of_matrix = weighted.transpose() * apart;
  const PixelMatrix of_centre = -pixels_of(of_data).colwise().sum();
  const std::int64_t channels = channels_in(data);
  return {{{"data", of_data}},
          {{centre, from_matrix_of_floats(of_centre, {channels})},
           {matrix, from_matrix_of_floats(of_matrix, {channels, channels})}}};
}

}  // namespace stoker::nodes
