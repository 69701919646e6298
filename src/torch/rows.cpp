#include "torch/rows.h"

#include <algorithm>

#include <ATen/ops/empty.h>

#include "base/error.h"
#include "torch/tensors.h"

namespace stoker::torch_door {
namespace {

at::Tensor room_for(const DatasetArray& source, std::int64_t rows, Device device) {
  Shape shape = source.row_shape();
  shape.insert(shape.begin(), rows);
  return at::empty(shape, options_of(source.array.type(), device));
}

std::int64_t bytes_of(const Shape& shape, std::size_t first, DType type) {
  std::int64_t bytes = static_cast<std::int64_t>(size_of(type));
  for (std::size_t i = first; i < shape.size(); ++i) bytes *= shape[i];
  return bytes;
}

kernels::Gather gather_of(const DatasetArray& source, const at::Tensor& batch) {
  kernels::Gather gather;
  gather.source = source.array.data();
  if (source.has_windows()) gather.starts = static_cast<const std::int64_t*>(source.starts.data());
  gather.step = bytes_of(source.array.shape(), 1, source.array.type());
  gather.bytes = bytes_of(source.row_shape(), 0, source.array.type());
  gather.batch = batch.mutable_data_ptr();
  return gather;
}

const DatasetArray& array_named(const Dataset& dataset, const std::string& name) {
  const DatasetArray* found = dataset.find(name);
  if (found == nullptr) refuse("the data has no array '{}', which the model reads", name);
  return *found;
}

}  // namespace

Arrays inputs_of(const Network& network, const Dataset& dataset) {
  Arrays arrays;
  for (const ArraySpec& input : network.inputs) arrays.push_back(&array_named(dataset, input.name));
  return arrays;
}

Batch::Batch(const EngineRequest& request, const Dataset& rows)
    : size_(request.part_rows()), device_(request.device) {
  for (const DatasetArray* input : inputs_of(request.network, rows)) inputs_.push_back(add(*input));
  for (const LossTerm& term : request.losses)
    targets_.push_back(term.kind == Loss::output ? at::Tensor() : add(array_named(rows, term.targets)));
  for (const DatasetArray& each : rows.arrays)
    if (each.role == Role::weights && !weights_.defined()) weights_ = add(each);
}

at::Tensor Batch::add(const DatasetArray& source) {
  for (const Part& part : parts_)
    if (part.source->array.data() == source.array.data() && part.source->name == source.name)
      return part.batch;
  parts_.push_back({&source, room_for(source, size_, device_)});
  return parts_.back().batch;
}

void Batch::gather_in(kernels::BeginStep& begin) const {
  for (const Part& part : parts_) begin.gathers[begin.gather_count++] = gather_of(*part.source, part.batch);
}

Rows Batch::first_rows(std::int64_t count) const {
  Rows rows;
  for (const at::Tensor& each : inputs_) rows.inputs.push_back(each.narrow(0, 0, count));
  for (const at::Tensor& each : targets_)
    rows.targets.push_back(each.defined() ? each.const_data_ptr() : nullptr);
  if (weights_.defined()) rows.weights = weights_.const_data_ptr<float>();
  return rows;
}

Slices::Slices(const Arrays& arrays, std::int64_t most_rows, const kernels::Place& place) : place_(place) {
  for (const DatasetArray* each : arrays) {
    Part part{each, {}, {}};
    if (each == nullptr) {
      parts_.push_back(std::move(part));
      continue;
    }
    if (!part.source->has_windows()) part.all = view_of(part.source->array);
    const bool is_there = part.all.defined() && part.all.device().type() == torch_device(place.device).type();
    if (!is_there) part.buffer = room_for(*part.source, most_rows, place.device);
    parts_.push_back(std::move(part));
  }
}

std::vector<at::Tensor> Slices::rows(std::int64_t first, std::int64_t count) {
  std::vector<at::Tensor> rows;
  for (const Part& part : parts_) {
    if (!part.buffer.defined()) {
      rows.push_back(part.all.defined() ? part.all.narrow(0, first, count) : at::Tensor());
      continue;
    }
    at::Tensor copy = part.buffer.narrow(0, 0, count);
    if (part.all.defined()) {
      copy.copy_(part.all.narrow(0, first, count), /*non_blocking=*/true);
    } else {
      kernels::gather_rows(gather_of(*part.source, copy), first, count, place_);
    }
    rows.push_back(std::move(copy));
  }
  return rows;
}

}  // namespace stoker::torch_door
