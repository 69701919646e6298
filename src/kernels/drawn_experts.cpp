#include "kernels/drawn_experts.h"

#include "kernels/place.h"

namespace stoker::kernels {

void draw_experts(const DrawnExperts& work) {
  for (std::int64_t row = 0; row < work.rows; ++row) draw_row(work, row);
}

void draw_experts(const DrawnExperts& work, const Place& place) {
  if (place.device.is_cuda()) {
    check_launch(draw_experts_cuda(work, place.stream), "draw_experts");
  } else {
    draw_experts(work);
  }
}

}  // namespace stoker::kernels
