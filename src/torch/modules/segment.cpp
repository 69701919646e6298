#include "torch/modules/segment.h"

#include <utility>

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

namespace stoker::torch_door {
namespace {

// Of the calling thread, for one type of device. The copies of weights in another precision that autocast
// keeps are not used: one that was made without a record of how would end the way back.
class AutocastState {
 public:
  explicit AutocastState(at::DeviceType device)
      : device_(device),
        is_on_(at::autocast::is_autocast_enabled(device)),
        type_(at::autocast::get_autocast_dtype(device)),
        keeps_copies_(at::autocast::is_autocast_cache_enabled()) {}

  void set() const {
    at::autocast::set_autocast_enabled(device_, is_on_);
    at::autocast::set_autocast_dtype(device_, type_);
    at::autocast::set_autocast_cache_enabled(keeps_copies_);
  }
  AutocastState without_copies() const {
    AutocastState other = *this;
    other.keeps_copies_ = false;
    return other;
  }

 private:
  at::DeviceType device_;
  bool is_on_;
  at::ScalarType type_;
  bool keeps_copies_;
};

class AutocastAs {
 public:
  explicit AutocastAs(const AutocastState& wanted, at::DeviceType device) : before_(device) { wanted.set(); }
  ~AutocastAs() { before_.set(); }
  AutocastAs(const AutocastAs&) = delete;
  AutocastAs& operator=(const AutocastAs&) = delete;

 private:
  AutocastState before_;
};

// Where the way back comes to a segment.
class RecomputedSegment : public torch::autograd::Node {
 public:
  RecomputedSegment(Segment segment, at::Tensor entering, const AutocastState& autocast)
      : segment_(std::move(segment)), entering_(std::move(entering)), autocast_(autocast) {}

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    const at::AutoGradMode recording(true);
    const AutocastAs same(autocast_, entering_.device().type());
    at::Tensor entering = entering_.detach();
    entering.requires_grad_(entering_.requires_grad());
    segment_(entering).backward(gradients.front());
    return {entering.grad()};
  }

  void release_variables() override {
    segment_ = nullptr;
    entering_.reset();
  }

 private:
  Segment segment_;
  at::Tensor entering_;
  AutocastState autocast_;
};

}  // namespace

at::Tensor run_segment(const Pass& pass, const at::Tensor& entering, Segment segment) {
  if (!pass.recomputes || !at::GradMode::is_enabled()) return segment(entering);
  const at::DeviceType device = entering.device().type();
  const AutocastState autocast = AutocastState(device).without_copies();
  at::Tensor left;
  {
    const at::NoGradGuard not_recording;
    const AutocastAs same(autocast, device);
    left = segment(entering).detach();
  }
  const auto way_back = c10::make_intrusive<RecomputedSegment>(std::move(segment), entering, autocast);
  way_back->set_next_edges(torch::autograd::collect_next_edges(entering));
  torch::autograd::set_history(left, way_back);
  return left;
}

}  // namespace stoker::torch_door
