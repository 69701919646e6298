#include "torch/loss_terms.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>

#include "engine/epoch_hits.h"
#include "engine/request_check.h"
#include "torch/tensors.h"

namespace stoker::torch_door {

LossTerms::LossTerms(const EngineRequest& request, std::int64_t places, Device device, const float* stopped)
    : terms_(request.losses), stopped_(stopped) {
  for (const LossTerm& term : terms_) widths_.push_back(width_of(term, request.network));
  totals_ = at::zeros({places}, doubles_on(device));
  sums_ = totals_;
  if (const LossTerm* term = term_of_classes(request)) {
    of_classes_ = static_cast<std::size_t>(term - request.losses.data());
    hits_ = at::zeros({places}, doubles_on(device));
  }
  if (!are_several()) return;
  const auto count = static_cast<std::int64_t>(terms_.size());
  sums_ = at::zeros({count, places}, doubles_on(device));
  at::Tensor weights = at::empty({1, count}, doubles_on(Device::cpu()));
  for (std::size_t i = 0; i < terms_.size(); ++i) weights.mutable_data_ptr<double>()[i] = terms_[i].weight;
  weights_ = weights.to(torch_device(device));
}

void LossTerms::judge_without_smoothing() {
  for (LossTerm& each : terms_) each.label_smoothing = 0;
}

std::vector<kernels::Losses> LossTerms::work_for(const Rows& rows, const Part& part,
                                                 const at::Tensor& outputs,
                                                 const at::Tensor& gradient) const {
  std::vector<kernels::Losses> all;
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    const LossTerm& term = terms_[i];
    kernels::Losses work;
    work.loss = term.kind;
    work.shape = static_cast<float>(term.shape());
    work.smoothing = static_cast<float>(term.label_smoothing);
    work.factor = static_cast<float>(term.weight);
    work.outputs = outputs.const_data_ptr<float>() + term.first_output;
    work.stride = outputs.size(1);
    work.width = widths_[i];
    if (term.kind == Loss::cross_entropy) {
      work.class_targets = static_cast<const std::int64_t*>(rows.targets[i]);
    } else {
      work.float_targets = static_cast<const float*>(rows.targets[i]);
    }
    work.row_weights = rows.weights;
    work.rows = part.rows;
    work.mean_rows = part.of_rows;
    work.batch_rows = part.counted_rows;
    work.first_row = part.first;
    work.stopped = stopped_;
    work.row_sums =
        sums_.mutable_data_ptr<double>() + static_cast<std::int64_t>(i) * totals_.numel() + part.first;
    if (hits_.defined() && i == of_classes_) work.hit_sums = hits_.mutable_data_ptr<double>() + part.first;
    if (gradient.defined()) work.gradients = gradient.mutable_data_ptr<float>() + term.first_output;
    all.push_back(work);
  }
  return all;
}

void LossTerms::add_up() {
  if (!are_several()) return;
  at::Tensor row = totals_.view({1, -1});
  at::mm_out(row, weights_, sums_);
}

at::Tensor LossTerms::sum_of_each() const {
  return at::sum(sums_, 1);
}

void LossTerms::begin_epoch() {
  if (are_several()) sums_.zero_();
}

}  // namespace stoker::torch_door
