#include "model/nodes/quadratic_form.h"

#include "base/error.h"
#include "model/nodes/pixels.h"

namespace stoker::nodes {

Port scores_behind(const Port& cube, std::string help) {
  return {"scores", DType::float32, with_last(cube.shape, 1), std::move(help)};
}

void quadratic_form(std::span<const float> pixels, const Array& centre, const Array& matrix,
                    std::span<float> scores) {
  const std::int64_t channels = centre.size();
  if (std::ssize(pixels) != std::ssize(scores) * channels)
    fail("scores of {} channels are asked of {} pixels with {} values", channels, scores.size(),
         pixels.size());
  const Eigen::Map<const PixelMatrix> all(pixels.data(), std::ssize(scores), channels);
  const Eigen::Map<const PixelMatrix> inverse(matrix.as<float>().data(), channels, channels);
  const Eigen::Map<const Eigen::RowVectorXf> mean(centre.as<float>().data(), channels);
  Eigen::Map<Eigen::VectorXf> to(scores.data(), std::ssize(scores));
  each_part(std::ssize(scores), [&](std::int64_t first, std::int64_t count) {
    PixelMatrix apart, turned;
    few_by_few(first, count, [&](std::int64_t at, std::int64_t some) {
      apart = all.middleRows(at, some).rowwise() - mean;
      turned.resize(some, channels);
      set_product(apart, inverse, turned);
      to.segment(at, some) = turned.cwiseProduct(apart).rowwise().sum();
    });
  });
}

Array quadratic_form(const Array& data, const NamedArrays& state, const std::string& centre,
                     const std::string& matrix) {
  Array scores = with_channels(data, 1);
  quadratic_form(data.as<float>(), find_array(state, centre), find_array(state, matrix), scores.as<float>());
  return scores;
}

Gradients quadratic_form_back(const Array& data, const Array& gradient, const NamedArrays& state,
                              const std::string& centre, const std::string& matrix) {
  const auto inverse = matrix_in(state, matrix);
  const auto mean = matrix_in(state, centre).row(0);
  const PixelMatrix both = inverse + inverse.transpose();
  const std::int64_t channels = channels_in(data);
  Array of_data = with_channels(data, channels);
  const MatrixSums sums = sum_over_parts(
      pixels_in(data), MatrixSums{{PixelMatrix::Zero(1, channels), PixelMatrix::Zero(channels, channels)}},
      [&](std::int64_t first, std::int64_t count, MatrixSums& sum) {
        PixelMatrix apart, weighted;
        few_by_few(first, count, [&](std::int64_t at, std::int64_t some) {
          apart = pixels_of(data).middleRows(at, some).rowwise() - mean;
          weighted = apart.array().colwise() * pixels_of(gradient).col(0).segment(at, some).array();
          auto to = pixels_of(of_data).middleRows(at, some);
          set_product(weighted, both, to);
          sum.each[0] -= to.colwise().sum();
          add_crossed(weighted, apart, sum.each[1]);
        });
      });
  return {{{"data", of_data}},
          {{centre, from_matrix_of_floats(sums.each[0], {channels})},
           {matrix, from_matrix_of_floats(sums.each[1], {channels, channels})}}};
}

}  // namespace stoker::nodes
