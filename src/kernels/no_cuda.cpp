#include "kernels/batch_norm.h"
#include "kernels/begin_step.h"
#include "kernels/covariance.h"
#include "kernels/drawn_experts.h"
#include "kernels/dropout.h"
#include "kernels/end_epoch.h"
#include "kernels/losses.h"
#include "kernels/noise.h"
#include "kernels/quadratic_scores.h"
#include "kernels/statistics.h"
#include "kernels/weights.h"

// A build without CUDA: every launch has the same answer.
namespace stoker::kernels {
namespace {

constexpr LaunchError missing = "this build has no CUDA; build with `cmake --preset cuda`";

}  // namespace

LaunchError begin_step_cuda(const BeginStep&, Stream, bool) {
  return missing;
}
LaunchError gather_rows_cuda(const Gather&, std::int64_t, std::int64_t, Stream) {
  return missing;
}
LaunchError batch_norm_cuda(const BatchNorm&, Stream) {
  return missing;
}
LaunchError batch_norm_back_cuda(const BatchNormBack&, Stream) {
  return missing;
}
LaunchError draw_experts_cuda(const DrawnExperts&, Stream) {
  return missing;
}
LaunchError drop_cuda(const Drop&, Stream) {
  return missing;
}
LaunchError add_noise_cuda(const Noise&, Stream) {
  return missing;
}
LaunchError losses_cuda(const Losses&, Stream) {
  return missing;
}
LaunchError stretch_statistics_cuda(const StatisticsWork&, double*, Stream) {
  return missing;
}
LaunchError covariance_cuda(const StatisticsWork&, bool, double*, double*, Stream) {
  return missing;
}
LaunchError quadratic_loss_cuda(const QuadraticScores&, const QuadraticCubes&, double*, double*, Stream) {
  return missing;
}
LaunchError lion_cuda(const Lion&, Stream) {
  return missing;
}
LaunchError add_squares_cuda(const Squares&, Stream) {
  return missing;
}
LaunchError adam_cuda(const Adam&, Stream) {
  return missing;
}
LaunchError average_weights_cuda(const WeightAverage&, Stream) {
  return missing;
}
LaunchError end_epoch_cuda(const EndEpoch&, Stream) {
  return missing;
}

}  // namespace stoker::kernels
