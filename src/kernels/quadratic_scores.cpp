#include "kernels/quadratic_scores.h"

#include <algorithm>
#include <cmath>

#include "device/array.h"
#include "device/workers.h"
#include "kernels/covariance.h"
#include "kernels/quadratic_layout.h"

namespace stoker::kernels {
namespace {

constexpr std::int64_t rows_of_quadratic_block = 256;
constexpr std::int64_t rows_of_quadratic_part = 64 * rows_of_quadratic_block;

// Goes through some of the pixels, block by block.
class QuadraticPart {
 public:
  QuadraticPart(const CovarianceKernels& kernels, const QuadraticScores& work, const float* matrix,
                std::int64_t outputs)
      : kernels_(kernels),
        work_(work),
        matrix_(matrix),
        outputs_(outputs),
        stride_(rows_of_quadratic_block + covariance_lanes),
        packed_(DType::float32, {work.columns + outputs, stride_}),
        seen_(DType::float32, {12 * (work.columns + 3)}),
        room_(static_cast<std::size_t>(3 * work.columns)),
        products_(static_cast<std::size_t>((work.columns + outputs) * (work.columns + outputs))) {
    found_.of_matrix.assign(static_cast<std::size_t>((work.columns + 1) * outputs), 0);
  }

  QuadraticLoss go_through(std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; row += rows_of_quadratic_block)
      add_block(row, std::min(rows_of_quadratic_block, last - row));
    return std::move(found_);
  }

 private:
  void add_block(std::int64_t first, std::int64_t rows) {
    CovarianceBlock block{work_.pixels + first * work_.columns,
                          rows,
                          work_.columns,
                          stride_,
                          work_.shift,
                          packed_.as<float>().data(),
                          room_.data(),
                          room_.data() + work_.columns,
                          room_.data() + 2 * work_.columns,
                          seen_.as<float>().data(),
                          products_.data()};
    kernels_.pack(block);
    kernels_.project(block, matrix_, outputs_);
    score(first, rows, block.filled());
    if (!work_.with_gradients) return;
    block.channels = work_.columns + outputs_;
    kernels_.multiply_between(block, work_.columns);
    add_products();
  }

  float* output(std::int64_t i) { return packed_.as<float>().data() + (work_.columns + i) * stride_; }

  // Adds up the loss, and turns what was projected into its gradient.
  void score(std::int64_t first, std::int64_t rows, std::int64_t filled) {
    float scores[rows_of_quadratic_block] = {};
    for (std::int64_t i = 0; i < outputs_; ++i) {
      const float* from = output(i);
      for (std::int64_t row = 0; row < rows; ++row) scores[row] += from[row] * from[row];
    }
    const auto scale = static_cast<float>(work_.scale);
    const auto bias = static_cast<float>(work_.bias);
    if (work_.marks == nullptr) {
      for (std::int64_t row = 0; row < rows; ++row) work_.logits[first + row] = scale * (scores[row] - bias);
      return;
    }
    float changes[rows_of_quadratic_block] = {};
    const auto positive = static_cast<float>(work_.pos_weight);
    float loss = 0;
    double of_scale = 0, of_logits = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      const float logit = scale * (scores[row] - bias);
      const float raised = std::exp(-std::abs(logit));
      // Of a number up to 1, which the logarithm of the sum has within 1e-7.
      const float softplus = std::max(logit, 0.0F) + std::log(1 + raised);
      const float sigmoid = (logit < 0 ? raised : 1.0F) / (1 + raised);
      const bool marked = work_.marks[first + row] != 0;
      loss += marked ? positive * (softplus - logit) : softplus;
      const float change = marked ? positive * (sigmoid - 1) : sigmoid;
      of_scale += static_cast<double>(change * (scores[row] - bias));
      of_logits += static_cast<double>(change);
      changes[row] = 2 * scale * change;
      if (work_.logits != nullptr) work_.logits[first + row] = logit;
    }
    found_.loss += static_cast<double>(loss);
    if (!work_.with_gradients) return;
    found_.of_scale += of_scale;
    found_.of_bias -= work_.scale * of_logits;
    for (std::int64_t i = 0; i < outputs_; ++i) scale_output(i, changes, filled);
  }

  void scale_output(std::int64_t i, const float* changes, std::int64_t filled) {
    float* at = output(i);
    float sums[covariance_lanes] = {};
    for (std::int64_t row = 0; row < filled; row += covariance_lanes)
      for (std::int64_t lane = 0; lane < covariance_lanes; ++lane) {
        at[row + lane] *= changes[row + lane];
        sums[lane] += at[row + lane];
      }
    double sum = 0;
    for (const float each : sums) sum += static_cast<double>(each);
    found_.of_matrix[static_cast<std::size_t>(work_.columns * outputs_ + i)] += sum;
  }

  void add_products() {
    const auto columns = static_cast<std::size_t>(work_.columns);
    const auto outputs = static_cast<std::size_t>(outputs_);
    for (std::size_t column = 0; column < columns; ++column)
      for (std::size_t i = 0; i < outputs; ++i)
        found_.of_matrix[column * outputs + i] += products_[column * (columns + outputs) + columns + i];
  }

  const CovarianceKernels& kernels_;
  const QuadraticScores& work_;
  const float* matrix_;
  std::int64_t outputs_;
  std::int64_t stride_;
  Array packed_;
  Array seen_;
  std::vector<float> room_;
  std::vector<double> products_;
  QuadraticLoss found_;
};

}  // namespace

std::int64_t whole_tens(std::int64_t outputs) {
  return (outputs + 9) / 10 * 10;
}

std::vector<float> filled_up(const QuadraticScores& work) {
  const std::int64_t outputs = whole_tens(work.outputs);
  std::vector<float> matrix(static_cast<std::size_t>((work.columns + 1) * outputs));
  for (std::int64_t column = 0; column <= work.columns; ++column)
    std::copy_n(work.matrix + column * work.outputs, work.outputs, matrix.begin() + column * outputs);
  return matrix;
}

QuadraticLoss quadratic_loss_with(const CovarianceKernels& kernels, const QuadraticScores& work) {
  const std::int64_t outputs = whole_tens(work.outputs);
  const std::vector<float> matrix = filled_up(work);
  std::vector<QuadraticLoss> parts(
      static_cast<std::size_t>((work.rows + rows_of_quadratic_part - 1) / rows_of_quadratic_part));
  share_among_cores(static_cast<std::int64_t>(parts.size()), [&](std::int64_t part) {
    const std::int64_t first = part * rows_of_quadratic_part;
    parts[static_cast<std::size_t>(part)] =
        QuadraticPart(kernels, work, matrix.data(), outputs)
            .go_through(first, std::min(first + rows_of_quadratic_part, work.rows));
  });
  QuadraticLoss all;
  all.of_matrix.assign(static_cast<std::size_t>((work.columns + 1) * work.outputs), 0);
  for (const QuadraticLoss& part : parts) {
    all.loss += part.loss;
    all.of_scale += part.of_scale;
    all.of_bias += part.of_bias;
    for (std::int64_t column = 0; column <= work.columns; ++column)
      for (std::int64_t i = 0; i < work.outputs; ++i)
        all.of_matrix[static_cast<std::size_t>(column * work.outputs + i)] +=
            part.of_matrix[static_cast<std::size_t>(column * outputs + i)];
  }
  return all;
}

bool fits_quadratic_cuda(std::int64_t columns, std::int64_t outputs) {
  constexpr std::int64_t most = 1'000;
  if (columns > most || outputs > most) return false;
  const quadratic_on_gpu::QuadraticLayout layout = quadratic_on_gpu::quadratic_layout_for(columns, outputs);
  return layout.slots > 0 && layout.staged > 0;
}

std::int64_t quadratic_parts_cuda(const QuadraticScores& work, const QuadraticCubes& cubes) {
  using namespace quadratic_on_gpu;
  const std::int64_t blocks = (cubes.pixels_of_cube + pixels_of_block - 1) / pixels_of_block;
  return blocks * cubes.count * quadratic_layout_for(work.columns, work.outputs).numbers();
}

QuadraticLoss quadratic_loss(const QuadraticScores& work) {
  return quadratic_loss_with(*covariance_kernels_here().front(), work);
}

}  // namespace stoker::kernels
