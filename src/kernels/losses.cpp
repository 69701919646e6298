#include "kernels/losses.h"

#include "kernels/place.h"
#include "kernels/row_losses.h"

namespace stoker::kernels {

void losses(const Losses& work) {
  const bool counts = *work.stopped == 0;
  for (std::int64_t row = 0; row < work.rows; ++row) {
    const float loss = loss_of_row(work, row);
    if (counts) add_row(work, row, loss);
  }
}

void losses(const Losses& work, const Place& place) {
  if (place.device.is_cuda()) {
    check_launch(losses_cuda(work, place.stream), "losses");
  } else {
    losses(work);
  }
}

}  // namespace stoker::kernels
