#include "engine/request_check.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/family.h"

namespace stoker {
namespace {

std::string memory_problem(const Array& array, const std::string& name, Device device) {
  if (device.is_cuda() && array.memory() == Memory::host)
    return fmt::format("the {} are in ordinary memory, which a GPU cannot read; place them first", name);
  if (!device.is_cuda() && array.memory() == Memory::device)
    return fmt::format("the {} are in a GPU's memory, but training is on the CPU", name);
  return "";
}

// Those on the host; whoever places an array elsewhere has it checked before.
std::string category_problem(const Array& array, const ArraySpec& wanted) {
  if (array.memory() == Memory::device) return "";
  const std::span<const std::int64_t> numbers = array.as<std::int64_t>();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::int64_t size = wanted.sizes[i % wanted.sizes.size()];
    if (numbers[i] < 0 || numbers[i] >= size)
      return fmt::format("the {} contain number {} in a column of {}", wanted.name, numbers[i], size);
  }
  return "";
}

std::string array_problem(const Dataset& dataset, const ArraySpec& wanted, Device device) {
  const DatasetArray* found = dataset.find(wanted.name);
  if (found == nullptr) return fmt::format("there are no {}", wanted.name);
  if (found->array.shape().empty()) return fmt::format("the {} are a single number", wanted.name);
  if (found->length < 0 || (found->length == 0 && !found->starts.empty()))
    return fmt::format("the windows of the {} have a length of {}", wanted.name, found->length);
  const bool fits = found->array.type() == wanted.type && found->row_shape() == wanted.shape &&
                    found->rows() == dataset.rows();
  if (!fits)
    return fmt::format("the {} are {} rows of {} [{}], not {} rows of {} [{}] as the network reads them",
                       wanted.name, found->rows(), name_of(found->array.type()),
                       fmt::join(found->row_shape(), ", "), dataset.rows(), name_of(wanted.type),
                       fmt::join(wanted.shape, ", "));
  if (found->has_windows() && (found->starts.type() != DType::int64 || found->starts.shape().size() != 1 ||
                               found->length > found->array.dimension(0)))
    return fmt::format("the windows of the {} do not fit their series", wanted.name);
  std::string problem = memory_problem(found->array, wanted.name, device);
  if (problem.empty() && !wanted.sizes.empty()) problem = category_problem(found->array, wanted);
  if (problem.empty() && found->has_windows()) problem = memory_problem(found->starts, wanted.name, device);
  return problem;
}

ArraySpec targets_of(const LossTerm& term, const Network& network) {
  if (term.kind == Loss::cross_entropy) return {term.targets, Role::targets, DType::int64, {}, {}};
  const std::int64_t width = width_of(term, network) - (term.kind == Loss::gaussian ? 1 : 0);
  return {term.targets, Role::targets, DType::float32, {width}, {}};
}

// Arrays are found by their names.
std::string name_problem(const Dataset& dataset) {
  for (const DatasetArray& each : dataset.arrays)
    if (dataset.find(each.name) != &each) return fmt::format("two arrays are called {}", each.name);
  return "";
}

std::string dataset_problem(const EngineRequest& request, const Dataset& dataset, Device reader) {
  if (std::string problem = name_problem(dataset); !problem.empty()) return problem;
  std::vector<ArraySpec> wanted = request.network.inputs;
  for (const LossTerm& term : request.losses)
    if (term.kind != Loss::output) wanted.push_back(targets_of(term, request.network));
  for (const DatasetArray& each : dataset.arrays)
    if (each.role == Role::weights) wanted.push_back({each.name, Role::weights, DType::float32, {}, {}});
  for (const ArraySpec& each : wanted) {
    std::string problem = array_problem(dataset, each, reader);
    if (!problem.empty()) return problem;
  }
  return "";
}

// Some rows may lie on the device though others are brought.
Device reader_of_validation(const EngineRequest& request) {
  const bool is_brought = (request.brings_batches || !request.is_placed) &&
                          std::ranges::none_of(request.validation.arrays, [](const DatasetArray& each) {
                            return each.array.memory() == Memory::device;
                          });
  return is_brought ? Device::cpu() : request.device;
}

// The shards that a batch reads must be there together, and rows in them lie one behind the other.
std::string window_problem(const EngineRequest& request) {
  if (request.window_slots == 0) return "";
  const std::int64_t size = request.order.rows_per_shard;
  if (!request.order.is_sharded() || request.window_slots < 2)
    return fmt::format("there cannot be a window of {} shards of {} rows", request.window_slots, size);
  if (request.order.ranks != 1) return "a window is for one process";
  if (std::min(request.batch_size, request.rows_per_epoch()) > size)
    return fmt::format("a batch of {} rows is larger than a shard of {}", request.batch_size, size);
  for (const DatasetArray& each : request.training.arrays)
    if (each.has_windows())
      return fmt::format("the {} are windows of a series, which overlap and cannot be cut into shards",
                         each.name);
  return "";
}

std::string loss_problem(const LossTerm& term, const Network& network) {
  const std::int64_t width = width_of(term, network);
  if (term.first_output < 0 || width < 1 || term.first_output > network.outputs - width)
    return fmt::format("the loss {} reads outputs {} to {} of {}", term.name, term.first_output,
                       term.first_output + width - 1, network.outputs);
  if ((term.kind == Loss::binary_cross_entropy || term.kind == Loss::output) && width != 1)
    return fmt::format("{} needs a network with one output", config::name_of(term.kind));
  if (term.kind == Loss::gaussian && width < 2)
    return "gaussian needs a network that tells a variance behind its numbers";
  const bool has_classes = term.kind == Loss::cross_entropy || term.kind == Loss::binary_cross_entropy;
  if (term.label_smoothing != 0 && !has_classes)
    return fmt::format("label_smoothing is for classes, and the loss {} has none",
                       config::name_of(term.kind));
  if (!(term.label_smoothing >= 0 && term.label_smoothing < 1))
    return fmt::format("label_smoothing is {}; it must be at least 0 and below 1", term.label_smoothing);
  return "";
}

// Each output's gradient is that of one loss.
std::string overlap_problem(const EngineRequest& request) {
  std::vector<const LossTerm*> readers(static_cast<std::size_t>(request.network.outputs), nullptr);
  for (const LossTerm& term : request.losses) {
    for (std::int64_t i = 0; i < width_of(term, request.network); ++i) {
      const LossTerm*& reader = readers[static_cast<std::size_t>(term.first_output + i)];
      if (reader != nullptr)
        return fmt::format("the losses {} and {} both read output {}", reader->name, term.name,
                           term.first_output + i);
      reader = &term;
    }
  }
  return "";
}

std::string unfrozen_problem(const EngineRequest& request) {
  const std::vector<ParameterSpec> specs = parameter_specs(request.network);
  for (const std::string& name : request.unfrozen) {
    const auto is_it = [&](const ParameterSpec& spec) { return spec.is_trained && spec.name == name; };
    if (std::none_of(specs.begin(), specs.end(), is_it))
      return fmt::format("{} has no trained parameter '{}'", request.network.family, name);
  }
  return "";
}

}  // namespace

std::string request_problem(const EngineRequest& request) {
  const RowOrder& order = request.order;
  if (request.accumulation_steps < 1)
    return fmt::format("a batch cannot be taken in {} parts", request.accumulation_steps);
  if (!(request.weight_average >= 0 && request.weight_average < 1))
    return fmt::format("a moving average cannot have a decay of {}", request.weight_average);
  if (request.batch_size < 1) return fmt::format("a batch cannot have {} rows", request.batch_size);
  if (order.ranks < 1 || order.rank < 0 || order.rank >= order.ranks || order.rows_per_shard < 0)
    return fmt::format("there cannot be a process {} of {} with shards of {} rows", order.rank, order.ranks,
                       order.rows_per_shard);
  if (request.rows_per_epoch() < 1) return "there are no training rows";
  if (request.losses.empty()) return "there is no loss to train with";
  std::string problem;
  for (const LossTerm& term : request.losses)
    if (problem.empty()) problem = loss_problem(term, request.network);
  if (problem.empty()) problem = overlap_problem(request);
  if (problem.empty()) problem = unfrozen_problem(request);
  if (problem.empty()) problem = window_problem(request);
  // What passes through a window, or is brought, is copied by the host.
  const bool is_copied = request.window_slots > 0 || request.brings_batches || !request.is_placed;
  const Device reader = is_copied ? Device::cpu() : request.device;
  if (problem.empty()) problem = dataset_problem(request, request.training, reader);
  if (problem.empty() && request.validation.rows() > 0)
    problem = dataset_problem(request, request.validation, reader_of_validation(request));
  return problem;
}

}  // namespace stoker
