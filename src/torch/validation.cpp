#include "torch/validation.h"

#include <algorithm>

namespace stoker::torch_door {
namespace {

// Elements of the widest layer's slice: on a CPU what its cache holds, on a GPU what keeps it busy.
constexpr std::int64_t cpu_slice_elements = 1 << 18;
constexpr std::int64_t gpu_slice_elements = 1 << 24;
constexpr std::int64_t most_slice_rows = 65'536;

std::int64_t rows_per_slice(std::int64_t widest, std::int64_t rows, Device device) {
  const std::int64_t elements = device.is_cuda() ? gpu_slice_elements : cpu_slice_elements;
  const std::int64_t fitting = std::max<std::int64_t>(elements / widest, 1);
  return std::min({rows, fitting, most_slice_rows});
}

// What losses compare outputs with: the targets that are read, each once, and the weights.
Arrays compared_arrays(const EngineRequest& request) {
  Arrays arrays;
  const Dataset& data = request.validation;
  for (const DatasetArray& each : data.arrays) {
    const auto reads_it = [&](const LossTerm& term) {
      return term.kind != Loss::output && term.targets == each.name;
    };
    if (std::any_of(request.losses.begin(), request.losses.end(), reads_it)) arrays.push_back(&each);
  }
  for (const DatasetArray& each : data.arrays)
    if (each.role == Role::weights) {
      arrays.push_back(&each);
      break;
    }
  return arrays;
}

std::vector<std::ptrdiff_t> positions_of_targets(const EngineRequest& request) {
  const Arrays arrays = compared_arrays(request);
  std::vector<std::ptrdiff_t> positions;
  for (const LossTerm& term : request.losses) {
    const auto found = std::find_if(arrays.begin(), arrays.end(), [&](const DatasetArray* each) {
      return term.kind != Loss::output && each->name == term.targets;
    });
    positions.push_back(found == arrays.end() ? -1 : found - arrays.begin());
  }
  return positions;
}

}  // namespace

Validation::Validation(const EngineRequest& request, Trainee& trainee, const kernels::Place& place,
                       const float* stopped)
    : trainee_(trainee),
      place_(place),
      rows_(request.validation.rows()),
      slice_rows_(rows_per_slice(trainee.widest(), rows_, place.device)),
      inputs_(inputs_of(request.network, request.validation), slice_rows_, place),
      compared_(compared_arrays(request), slice_rows_, place),
      targets_(positions_of_targets(request)),
      has_weights_(request.validation.find(Role::weights) != nullptr),
      losses_(request, slice_rows_, place.device, stopped) {
  trainee.reserve(slice_rows_);
}

void Validation::run() {
  for (std::int64_t first = 0; first < rows_; first += slice_rows_) {
    run_slice(first, std::min(slice_rows_, rows_ - first));
  }
}

void Validation::run_slice(std::int64_t first, std::int64_t count) {
  const std::vector<at::Tensor> compared = compared_.rows(first, count);
  Rows rows;
  rows.inputs = inputs_.rows(first, count);
  for (const std::ptrdiff_t each : targets_)
    rows.targets.push_back(each < 0 ? nullptr : compared[static_cast<std::size_t>(each)].const_data_ptr());
  if (has_weights_) rows.weights = compared.back().const_data_ptr<float>();
  const at::Tensor outputs = trainee_.predict(rows.inputs);
  for (const kernels::Losses& each : losses_.work_for(rows, count, outputs, {}))
    kernels::losses(each, place_);
}

}  // namespace stoker::torch_door
