#include "torch/validation.h"

#include <algorithm>

#include "torch/slice_rows.h"

namespace stoker::torch_door {
namespace {

// Elements of the widest layer's slice: on a CPU what its cache holds, on a GPU what keeps it busy.
constexpr std::int64_t cpu_slice_elements = 1 << 18;
constexpr std::int64_t gpu_slice_elements = 1 << 24;
constexpr std::int64_t most_slice_rows = 65'536;

std::int64_t rows_per_slice(std::int64_t widest, std::int64_t rows, Device device) {
  const std::int64_t elements = device.is_cuda() ? gpu_slice_elements : cpu_slice_elements;
  return std::min({rows, rows_of_slice(elements, widest), most_slice_rows});
}

// The targets of each loss, then the weights; null where there are none.
Arrays compared_arrays(const EngineRequest& request) {
  Arrays arrays;
  for (const LossTerm& term : request.losses)
    arrays.push_back(term.kind == Loss::output ? nullptr : request.validation.find(term.targets));
  const std::vector<DatasetArray>& all = request.validation.arrays;
  const auto weights = std::find_if(all.begin(), all.end(),
                                    [](const DatasetArray& each) { return each.role == Role::weights; });
  arrays.push_back(weights == all.end() ? nullptr : &*weights);
  return arrays;
}

const void* data_of(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr() : nullptr;
}

}  // namespace

Validation::Validation(const EngineRequest& request, Trainee& trainee, const kernels::Place& place,
                       const float* stopped)
    : trainee_(trainee),
      place_(place),
      rows_(request.validation.rows()),
      slice_rows_(trainee.judges_batches() ? std::min(request.batch_size, rows_)
                                           : rows_per_slice(trainee.widest(), rows_, place.device)),
      inputs_(inputs_of(request.network, request.validation), slice_rows_, place),
      compared_(compared_arrays(request), slice_rows_, place),
      losses_(request, slice_rows_, place.device, stopped) {
  losses_.judge_without_smoothing();
  trainee.reserve(slice_rows_);
}

void Validation::run() {
  for (std::int64_t first = 0; first < rows_; first += slice_rows_) {
    run_slice(first, std::min(slice_rows_, rows_ - first));
  }
}

void Validation::run_slice(std::int64_t first, std::int64_t count) {
  std::vector<at::Tensor> compared = compared_.rows(first, count);
  Rows rows;
  rows.inputs = inputs_.rows(first, count);
  rows.weights = static_cast<const float*>(data_of(compared.back()));
  compared.pop_back();
  for (const at::Tensor& each : compared) rows.targets.push_back(data_of(each));
  const at::Tensor outputs = trainee_.predict(rows.inputs);
  for (const kernels::Losses& each : losses_.work_for(rows, {0, count, count}, outputs, {}))
    kernels::losses(each, place_);
}

}  // namespace stoker::torch_door
