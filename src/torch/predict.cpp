#include "torch/predict.h"

#include <algorithm>
#include <bit>

#include <c10/core/InferenceMode.h>
#include <c10/core/StreamGuard.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "model/family.h"
#include "torch/cpu_settings.h"
#include "torch/gpu.h"
#include "torch/modules/module.h"
#include "torch/request_check.h"
#include "torch/rows.h"
#include "torch/slice_rows.h"
#include "torch/tensors.h"

namespace stoker::torch_door {
namespace {

// Of the widest layer: what a processor's cache holds.
constexpr std::int64_t values_of_slice = 1 << 18;
// Enough to keep a GPU busy, in some hundred megabytes of its memory.
constexpr std::int64_t values_of_gpu_slice = 1 << 24;

// A part of rows_of_block, so that parts of a table that begin at a block have the same bits as the whole.
std::int64_t rows_at_once(std::int64_t widest) {
  const std::int64_t fitting = std::min(rows_of_slice(values_of_slice, widest), rows_of_block);
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(fitting)));
}

// Rows of windows lie in arrays of another length, so each array is asked for its shape.
void check_inputs(const Network& network, const Dataset& data, std::int64_t end) {
  const Arrays arrays = inputs_of(network, data);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const ArraySpec& wanted = network.inputs[i];
    if (arrays[i]->array.type() != wanted.type || arrays[i]->row_shape() != wanted.shape)
      fail("a model that reads {} [{}] as {} was given {} [{}]", name_of(wanted.type),
           fmt::join(wanted.shape, ", "), wanted.name, name_of(arrays[i]->array.type()),
           fmt::join(arrays[i]->row_shape(), ", "));
    if (arrays[i]->rows() < end)
      fail("the {} have {} rows, and {} are asked for", wanted.name, arrays[i]->rows(), end);
    if (!arrays[i]->has_windows()) continue;
    if (arrays[i]->starts.type() != DType::int64) fail("the windows of the {} begin at no rows", wanted.name);
    if (const std::string problem = gather_problem(*arrays[i]); !problem.empty()) fail("{}", problem);
    check_windows(*arrays[i]);
  }
}

std::unique_ptr<Module> module_of(const Network& network, const Parameters& parameters) {
  std::unique_ptr<Module> module = make_module(network, parameters);
  if (module == nullptr) fail("LibTorch has no module for {}", network.family);
  return module;
}

struct RowsWanted {
  const Dataset& data;
  std::int64_t first;
  std::int64_t count;
};

Array outputs_by(const Module& module, const Network& network, const RowsWanted& wanted, std::int64_t slice,
                 const kernels::Place& place) {
  Array outputs(DType::float32, {wanted.count, network.outputs});
  const at::Tensor all = view_of(outputs);
  Slices slices(inputs_of(network, wanted.data), slice, place);
  for (std::int64_t begin = 0; begin < wanted.count; begin += slice) {
    const std::int64_t rows = std::min(slice, wanted.count - begin);
    all.narrow(0, begin, rows).copy_(module.outputs(slices.rows(wanted.first + begin, rows), {}));
  }
  return outputs;
}

Array outputs_on_cpu(const Network& network, const NamedArrays& parameters, const RowsWanted& wanted) {
  const std::unique_ptr<Module> module =
      module_of(network, [&](const std::string& name) { return view_of(find_array(parameters, name)); });
  const std::int64_t slice = rows_at_once(module->widest());
  settle_cpu(slice * multiply_adds(network), 0);
  const FlushAllToZero flushed;
  return outputs_by(*module, network, wanted, slice, {Device::cpu(), nullptr});
}

Array outputs_on_gpu(const Network& network, const NamedArrays& parameters, const RowsWanted& wanted,
                     Device device) {
  gpu::BorrowedMemory memory;
  memory.begin(torch_device(device));
  const gpu::LentStream stream(torch_device(device));
  const c10::StreamGuard guard(stream.get());
  gpu::multiply_in_fp32();
  const std::unique_ptr<Module> module = module_of(network, [&](const std::string& name) {
    return view_of(find_array(parameters, name)).to(torch_device(device));
  });
  const Dataset there = place(wanted.data, device, no_notes()).dataset;
  const std::int64_t slice = std::min(rows_of_slice(values_of_gpu_slice, module->widest()), wanted.count);
  return outputs_by(*module, network, {there, wanted.first, wanted.count}, slice,
                    {device, gpu::handle_of(stream.get())});
}

}  // namespace

Array module_outputs(const Network& network, const NamedArrays& parameters, const Dataset& data,
                     std::int64_t first, std::int64_t count, Device device) {
  return translated("predicting", [&] {
    const c10::InferenceMode no_autograd;
    check_inputs(network, data, first + count);
    const RowsWanted wanted{data, first, count};
    if (!device.is_cuda()) return outputs_on_cpu(network, parameters, wanted);
    try {
      return outputs_on_gpu(network, parameters, wanted, device);
    } catch (const c10::OutOfMemoryError&) {
      return outputs_on_cpu(network, parameters, wanted);
    }
  });
}

}  // namespace stoker::torch_door
