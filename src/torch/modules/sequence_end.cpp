#include "torch/modules/sequence_end.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/tanh.h>

#include "torch/modules/activate.h"

namespace stoker::torch_door {

SequenceEndLayers::SequenceEndLayers(const Settings& settings, std::int64_t length,
                                     const Parameters& parameters, std::vector<DropoutLayer>& masks)
    : settings_(settings), first_mask_(masks.size()) {
  const SequenceEnd& shape = settings.shape;
  if (shape.pooling == Pooling::attention) {
    scores_ = linear_of(parameters, "pooling.scores");
    weights_ = linear_of(parameters, "pooling.weights");
    masks.push_back({length * shape.half(), settings.pooling_dropout});
  }
  if (shape.layer_norm) {
    norm_ = layer_norm_of(parameters, "head.norm");
    hidden_norm_ = layer_norm_of(parameters, "head.hidden_norm");
  }
  hidden_ = linear_of(parameters, "head.hidden");
  last_ = linear_of(parameters, "head.last");
  masks.push_back({shape.width, settings.dropout});
  masks.push_back({shape.half(), settings.dropout});
}

at::Tensor SequenceEndLayers::pooled(const at::Tensor& moments, const Pass& pass) const {
  switch (settings_.shape.pooling) {
    case Pooling::mean:
      break;
    case Pooling::attention: {
      const at::Tensor scores = weights_(drop(at::tanh(scores_(moments)), pass, first_mask_));
      return at::matmul(shares_of(scores, 1).transpose(1, 2), moments).squeeze(1);
    }
    case Pooling::last: {
      const at::Tensor last = moments.select(1, moments.size(1) - 1);
      const std::int64_t forwards = settings_.backwards_from;
      const std::int64_t backwards = settings_.shape.width - forwards;
      if (backwards == 0) return last;
      return at::cat({last.narrow(1, 0, forwards), moments.select(1, 0).narrow(1, forwards, backwards)}, 1);
    }
  }
  return at::mean(moments, 1);
}

at::Tensor SequenceEndLayers::operator()(const at::Tensor& moments, const Pass& pass) const {
  const std::size_t mask = first_mask_ + (settings_.shape.pooling == Pooling::attention ? 1 : 0);
  const at::Tensor window = drop(norm_(pooled(moments, pass)), pass, mask);
  const at::Tensor hidden = hidden_norm_(activate(settings_.activation, hidden_(window)));
  return last_(drop(hidden, pass, mask + 1));
}

}  // namespace stoker::torch_door
