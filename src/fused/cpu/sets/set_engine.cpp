#include "fused/cpu/sets/set_engine.h"

#include <algorithm>

#include "base/error.h"
#include "base/random.h"
#include "fused/cpu/sets/set_layout.h"
#include "model/family.h"

namespace stoker::fused_cpu {
namespace {

// Comparing each member with each takes the square of them, which this engine keeps for a whole slice.
constexpr std::int64_t most_members = 128;
constexpr std::int64_t most_set_width = 1024;
// What the values of a slice may take of the caches.
constexpr std::int64_t set_slice_bytes = 512 * 1024;
constexpr std::int64_t most_sets_at_once = 64;
// Of a batch that is large enough, so that threads end at about the same time.
constexpr std::int64_t fewest_slices = 8;

// Of one set: values and gradients of all layers.
std::int64_t floats_of_set(const Network& network, const SetNetwork& sets) {
  std::int64_t of_member = 5 * sets.padded_width();
  for (int i = 0; i < head_inner; ++i) of_member += 2 * network.layers[i].outputs;
  const std::int64_t of_head = 2 * (network.layers[head_inner].inputs + network.layers[head_inner].outputs);
  return sets.members * of_member + of_head + 2 * sets.shares_of_set();
}

Slices slices_of_sets(const EngineRequest& request, const TriangulationShape& shape, const Network& laid) {
  const std::int64_t bytes = 4 * floats_of_set(laid, set_network(shape, laid));
  const std::int64_t batch = std::min(request.batch_size, request.training.rows());
  const std::int64_t fitting =
      std::min(set_slice_bytes / bytes / row_block * row_block, padded(batch / fewest_slices, row_block));
  const std::int64_t rows = std::clamp<std::int64_t>(fitting, row_block, most_sets_at_once);
  return {.rows = rows,
          .can_update = false,
          .most_benches = fewest_slices,
          .multiply_adds = multiply_adds(request.network),
          .most_threads = (batch + rows - 1) / rows};
}

void check_mask(const Dataset& dataset, const std::string& name) {
  if (dataset.rows() == 0) return;
  for (const float each : dataset.find(name)->array.as<float>())
    if (each != 0 && each != 1)
      refuse("the {} says of each receiver whether it is present, with 1 or 0, and has a {}", name, each);
}

}  // namespace

std::string set_refusal(const EngineRequest& request, const TriangulationShape& shape) {
  const TriangulationSettings& s = shape.settings;
  if (request.loss().kind != Loss::gaussian)
    return fmt::format("it trains {} with the gaussian loss", request.network.family);
  if (shape.set.members > most_members)
    return fmt::format("it trains sets of up to {} members, not {}", most_members, shape.set.members);
  const std::int64_t widest =
      std::max({shape.set.columns, s.receiver_width, s.width, s.head_width, shape.outputs});
  if (widest > most_set_width)
    return fmt::format("it trains sets with layers of up to {} values, not {}", most_set_width, widest);
  return "";
}

SetEngine::SetEngine(const EngineRequest& request, const Kernels& kernels, int threads)
    : SetEngine(request, triangulation_shape(request.network).value(),
                network_of_sets(triangulation_shape(request.network).value()), kernels, threads) {}

SetEngine::SetEngine(const EngineRequest& request, const TriangulationShape& shape, const Network& laid,
                     const Kernels& kernels, int threads)
    : FramedEngine(request, kernels, laid, slices_of_sets(request, shape, laid), threads),
      shape_(shape),
      sets_(set_network(shape, network_)),
      training_rows_(rows_of(request_.training)),
      validation_rows_(has_validation_ ? rows_of(request_.validation) : Rows{}),
      benches_(static_cast<std::size_t>(bench_count())),
      dropout_(dropout_leaving_out(shape.settings.dropout)),
      losses_(losses_of(network_.layers[head_outer].outputs)) {
  check_mask(request_.training, request_.network.inputs[1].name);
  check_mask(request_.validation, request_.network.inputs[1].name);
  make_buffers();
  for (Bench& bench : benches_) make_bench(bench);
  validation_sums_.resize(static_cast<std::size_t>(request_.validation.rows()));
}

SetEngine::Rows SetEngine::rows_of(const Dataset& dataset) const {
  const auto floats_in = [&](const std::string& name) {
    return dataset.find(name)->array.as<float>().data();
  };
  const Array* weights = dataset.find(Role::weights);
  return {floats_in(request_.network.inputs[0].name), floats_in(request_.network.inputs[1].name),
          floats_in(request_.loss().targets), weights == nullptr ? nullptr : weights->as<float>().data()};
}

void SetEngine::make_bench(Bench& bench) {
  const std::int64_t rows = slices_.rows;
  const std::int64_t members = padded(rows * sets_.members, row_block);
  const auto buffer = [&](std::int64_t count) {
    // Vectors are read from anywhere, up to one beyond the last value.
    bench.buffers.push_back(zeros(padded(count, panel) + panel));
    return floats(bench.buffers.back());
  };
  SetSlice& slice = bench.slice;
  const auto lay = [&](Workspace& space, int number, std::int64_t space_rows) {
    const Layer& layer = network_.layers[number];
    space.active[number + 1] = buffer(space_rows * layer.outputs);
    space.deltas[number] = buffer(space_rows * layer.outputs);
    space.slopes[number] = nullptr;
  };
  slice.receivers.active[0] = buffer(members * network_.layers[receiver_inner].inputs);
  for (const int number : {receiver_inner, receiver_outer, projections})
    lay(slice.receivers, number, members);
  const std::int64_t values = members * sets_.padded_width();
  slice.attention.active[attended] = buffer(values);
  slice.attention.deltas[attended] = buffer(values);
  slice.head.active[head_inner] = buffer(rows * network_.layers[head_inner].inputs);
  for (const int number : {head_inner, head_outer}) lay(slice.head, number, rows);
  for (float** each : {&slice.sum, &slice.normed, &slice.normed_gradient, &slice.context_gradient})
    *each = buffer(values);
  slice.means = buffer(members);
  slice.scales = buffer(members);
  slice.shares = buffer(rows * sets_.shares_of_set());
  slice.taken = dropout_.is_on ? buffer(rows * sets_.shares_of_set()) : nullptr;
  slice.scratch = buffer(sets_.scratch());
  slice.pooled_gradient = buffer(rows * network_.layers[head_inner].inputs);
  float* gradients = buffer(network_.size);
  for (Workspace* space : {&slice.receivers, &slice.attention, &slice.head}) space->gradients = gradients;

  bench.firsts.resize(static_cast<std::size_t>(rows) + 1);
  bench.present.resize(static_cast<std::size_t>(rows));
  bench.places.resize(static_cast<std::size_t>(members));
  bench.numbers.resize(static_cast<std::size_t>(members));
  bench.targets.resize(static_cast<std::size_t>(rows * (shape_.outputs - 1)));
  bench.row_weights.resize(training_rows_.weights == nullptr ? 0 : static_cast<std::size_t>(rows));
  slice.firsts = bench.firsts.data();
  slice.present = bench.present.data();
  slice.places = bench.places.data();
  slice.numbers = bench.numbers.data();
}

void SetEngine::pack_named(const NamedArrays& arrays, const std::string& prefix, Array& flat) const {
  pack_sets(shape_, network_, arrays, prefix, flat);
}

void SetEngine::append_named(const Array& flat, const std::string& prefix, NamedArrays& arrays) const {
  append_unpacked_sets(shape_, network_, flat, prefix, arrays);
}

float* SetEngine::gradients_of(std::int64_t bench) {
  return bench_at(bench).slice.head.gradients;
}

// The layers that drop values are numbered as the module of the family numbers them.
void SetEngine::begin_step(std::int64_t step) {
  if (!dropout_.is_on) return;
  std::uint32_t number = 0;
  for (const int layer : {receiver_inner, projections, head_inner}) {
    const RandomKey key = dropout_key(request_.seed, static_cast<std::uint64_t>(step), number++);
    dropout_.key_first[layer] = key.first;
    dropout_.key_second[layer] = key.second;
  }
}

void SetEngine::put_set(Bench& bench, const Rows& rows, std::int64_t source, std::int64_t set,
                        std::int64_t number) {
  const std::int64_t members = sets_.members;
  const std::int64_t columns = shape_.set.columns;
  const std::int64_t stride = network_.layers[receiver_inner].inputs;
  const float* mask = rows.mask + source * members;
  const float* features = rows.features + source * members * columns;
  const std::int64_t first = bench.firsts[static_cast<std::size_t>(set)];
  const auto count = static_cast<std::int64_t>(std::count(mask, mask + members, 1.0F));
  std::int64_t next = first;
  for (std::int64_t member = 0; member < members; ++member) {
    if (mask[member] == 0 && count > 0) continue;
    copy_row(features + member * columns, columns, bench.slice.receivers.active[0] + next * stride);
    bench.places[static_cast<std::size_t>(next)] = static_cast<std::uint32_t>(member);
    bench.numbers[static_cast<std::size_t>(next)] = static_cast<std::uint32_t>(number * members + member);
    ++next;
  }
  bench.firsts[static_cast<std::size_t>(set) + 1] = static_cast<std::int32_t>(next);
  bench.present[static_cast<std::size_t>(set)] = static_cast<float>(count) / static_cast<float>(members);
}

void SetEngine::end_sets(Bench& bench, std::int64_t sets) {
  SetSlice& slice = bench.slice;
  const std::int64_t stride = network_.layers[receiver_inner].inputs;
  slice.sets = sets;
  slice.members = bench.firsts[static_cast<std::size_t>(sets)];
  slice.receivers.rows = padded(slice.members, row_block);
  slice.attention.rows = slice.receivers.rows;
  slice.head.rows = padded(sets, row_block);
  std::fill_n(slice.receivers.active[0] + slice.members * stride,
              (slice.receivers.rows - slice.members) * stride, 0.0F);
}

void SetEngine::gather(std::int64_t number, std::int64_t first, std::int64_t count) {
  Bench& bench = bench_at(number);
  const std::int64_t width = shape_.outputs - 1;
  for (std::int64_t row = 0; row < count; ++row) {
    const std::int64_t source = chosen_[static_cast<std::size_t>(first + row)];
    put_set(bench, training_rows_, source, row, first + row);
    copy_row(training_rows_.targets + source * width, width, bench.targets.data() + row * width);
    if (training_rows_.weights != nullptr)
      bench.row_weights[static_cast<std::size_t>(row)] = training_rows_.weights[source];
  }
  end_sets(bench, count);
}

kernels::Losses SetEngine::losses_in(const Bench& bench, std::int64_t count) const {
  kernels::Losses losses = losses_;
  losses.outputs = bench.slice.head.active[head_outer + 1];
  losses.rows = count;
  return losses;
}

void SetEngine::run_slice(std::int64_t number, std::int64_t first, std::int64_t count, std::int64_t rows,
                          Gradients what, const Update&) {
  Bench& bench = bench_at(number);
  const SetSlice& slice = bench.slice;
  Dropout dropout = dropout_;
  dropout.first_row = static_cast<std::uint32_t>(first);
  kernels_.sets.forward(sets_, slice, dropout, true);

  float* deltas = slice.head.deltas[head_outer];
  kernels::Losses losses = losses_in(bench, count);
  losses.float_targets = bench.targets.data();
  losses.row_weights = bench.row_weights.empty() ? nullptr : bench.row_weights.data();
  losses.mean_rows = rows;
  losses.row_sums = row_sums_.data() + first;
  losses.gradients = deltas;
  kernels::losses(losses);
  std::fill_n(deltas + count * losses.stride, (slice.head.rows - count) * losses.stride, 0.0F);
  kernels_.sets.backward(sets_, slice, dropout, what == Gradients::added);
}

void SetEngine::validate() {
  const std::int64_t rows = request_.validation.rows();
  const std::int64_t slices = (rows + slices_.rows - 1) / slices_.rows;
  const auto used = std::min(slices, static_cast<std::int64_t>(benches_.size()));
  auto work = [&](std::int64_t number) {
    Bench& bench = bench_at(number);
    for (std::int64_t slice = number; slice < slices; slice += used) {
      const std::int64_t first = slice * slices_.rows;
      const std::int64_t count = std::min(slices_.rows, rows - first);
      for (std::int64_t row = 0; row < count; ++row) put_set(bench, validation_rows_, first + row, row, row);
      end_sets(bench, count);
      kernels_.sets.forward(sets_, bench.slice, dropout_, false);
      kernels::Losses losses = losses_in(bench, count);
      losses.float_targets = validation_rows_.targets + first * (shape_.outputs - 1);
      if (validation_rows_.weights != nullptr) losses.row_weights = validation_rows_.weights + first;
      losses.row_sums = validation_sums_.data() + first;
      kernels::losses(losses);
    }
  };
  pool_.share(used, work);
}

// All of it is there from the beginning to the end.
MemoryUse SetEngine::memory() const {
  std::uint64_t bytes = frame_bytes();
  for (const Bench& bench : benches_) {
    for (const Array& each : bench.buffers) bytes += each.bytes();
    bytes += (bench.present.size() + bench.targets.size() + bench.row_weights.size()) * sizeof(float) +
             (bench.firsts.size() + bench.places.size() + bench.numbers.size()) * sizeof(std::uint32_t);
  }
  return {bytes, bytes, bytes};
}

}  // namespace stoker::fused_cpu
