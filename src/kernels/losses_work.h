#pragma once

#include <cstdint>

#include "kernels/loss.h"

namespace stoker::kernels {

// The loss of each row and its gradient in one pass. Losses are added to one sum per place in the batch, so
// that no step needs a reduction and the order of the additions is always the same; the sums are added up
// once, at the end of an epoch.
struct Losses {
  Loss loss = Loss::mse;
  float shape = 1;                       // huber: its delta; quantile: which one
  float smoothing = 0;                   // of classes: the share of a target that all classes have evenly
  float factor = 1;                      // of the gradients
  const float* outputs = nullptr;        // [rows, width]
  const float* float_targets = nullptr;  // mse, huber, quantile: [rows, width]; gaussian: [rows, width - 1];
                                         // binary_cross_entropy: [rows, 1]
  const std::int64_t* class_targets = nullptr;  // cross_entropy: [rows]
  const float* row_weights = nullptr;           // [rows], factors of the losses; null: 1 each
  std::int64_t rows = 0;
  std::int64_t width = 1;
  std::int64_t stride = 0;     // from a row of outputs or gradients to the next; 0: width
  std::int64_t mean_rows = 0;  // of the batch that these rows are a slice of; 0: rows
  // Of a batch that may be padded: where its number of rows stands, which is then that of the mean. What lies
  // behind them has no loss and a gradient of 0. Null: all rows count.
  const std::int64_t* batch_rows = nullptr;
  std::int64_t first_row = 0;      // the row of the batch that these begin with
  const float* stopped = nullptr;  // 1: nothing is added

  double* row_sums = nullptr;  // [rows], added to
  // [rows], of a loss of classes: 1 is added for each row whose class is predicted right. Null: not wanted.
  double* hit_sums = nullptr;
  float* gradients = nullptr;  // of the mean over mean_rows, as the outputs lie; null when not wanted
};

}  // namespace stoker::kernels
