#include "fused/cpu/fused_cpu_engine.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/random.h"
#include "engine/class_numbers.h"
#include "fused/cpu/experts/expert_engine.h"
#include "fused/cpu/nodes/node_engine.h"
#include "fused/cpu/sets/set_engine.h"

namespace stoker::fused_cpu {
namespace {

// Batches of up to this many rows are one slice, whose gradients go straight into the weights.
constexpr std::int64_t most_rows_at_once = 128;
// What the values of a slice may take of the cache in larger batches.
constexpr std::int64_t slice_bytes = 160 * 1024;

std::int64_t rows_per_slice(const Network& network, std::int64_t batch) {
  if (batch <= most_rows_at_once) return padded(batch, row_block);
  std::int64_t row_bytes = 0;
  for (int i = 0; i < network.layer_count; ++i) row_bytes += 8 * network.layers[i].outputs;
  const std::int64_t fitting = slice_bytes / row_bytes / row_block * row_block;
  return std::clamp<std::int64_t>(fitting, 2 * row_block, most_rows_at_once);
}

Slices slices_of(const EngineRequest& request, const Network& network) {
  const std::int64_t batch = std::min(request.batch_size, request.training.rows());
  return {.rows = rows_per_slice(network, batch),
          .can_update = true,
          .multiply_adds = network.size,
          .most_threads = (batch + most_rows_at_once - 1) / most_rows_at_once};
}

void check_class_numbers(const EngineRequest& request) {
  if (request.loss().kind != Loss::cross_entropy) return;
  for (const Dataset* dataset : {&request.training, &request.validation}) {
    if (dataset->rows() == 0) continue;
    const auto classes = dataset->targets().as<std::int64_t>();
    const auto [low, high] = std::ranges::minmax(classes);
    refuse_unknown_classes(low, high, request.network.outputs);
  }
}

Array edges_of(const MlpShape& shape, const NamedArrays& parameters) {
  if (shape.entrance.kind != NumberEmbedding::piecewise_linear) return {};
  return find_array(parameters, "entrance.edges");
}

}  // namespace

FusedCpuEngine::FusedCpuEngine(const EngineRequest& request, const Kernels& kernels, int threads)
    : FusedCpuEngine(request, mlp_shape(request.network).value(),
                     network_of(mlp_shape(request.network).value()), kernels, threads) {}

FusedCpuEngine::FusedCpuEngine(const EngineRequest& request, const MlpShape& shape, LaidNetwork laid,
                               const Kernels& kernels, int threads)
    : FramedEngine(request, kernels, laid.network, slices_of(request, laid.network), threads),
      shape_(shape),
      laid_(std::move(laid)),
      edges_(edges_of(shape_, request.initial_parameters)),
      training_rows_(shape_.entrance, request_.training),
      validation_rows_(shape_.entrance, request_.validation),
      benches_(static_cast<std::size_t>(bench_count())),
      dropout_(dropout_leaving_out(shape.dropout)),
      losses_(losses_of(network_.layers[network_.layer_count - 1].outputs)) {
  check_class_numbers(request);
  make_buffers();
  if (!edges_.empty()) learnt_.edges = floats(edges_);
  for (const std::int64_t place : laid_.entrance.categories)
    learnt_.categories.push_back(network_.parameters + place);
  for (Bench& bench : benches_) make_bench(bench);
  validation_sums_.resize(static_cast<std::size_t>(slices_.rows));
  count_hits();
}

void FusedCpuEngine::pack_named(const NamedArrays& arrays, const std::string& prefix, Array& flat) const {
  pack(shape_, laid_, arrays, prefix, flat);
}

void FusedCpuEngine::append_named(const Array& flat, const std::string& prefix, NamedArrays& arrays) const {
  append_unpacked(shape_, laid_, flat, prefix, arrays);
}

void FusedCpuEngine::append_fixed(const std::string& prefix, NamedArrays& arrays) const {
  if (!edges_.empty()) arrays.push_back({prefix + "entrance.edges", edges_});
}

// Where the rows are the same, so are the edges.
void FusedCpuEngine::check_fixed(const NamedArrays& state) const {
  if (edges_.empty()) return;
  const std::string name = "parameters.entrance.edges";
  const Array& kept = find_array(state, name);
  if (kept.type() != DType::float32 || kept.shape() != edges_.shape())
    refuse("the array '{}' of the saved state does not fit this training: it belongs to another one", name);
  if (!std::ranges::equal(kept.as<float>(), edges_.as<float>()))
    refuse("the bins of the saved state are not those of the training rows: it belongs to another training");
}

float* FusedCpuEngine::gradients_of(std::int64_t bench) {
  return bench_at(bench).space.gradients;
}

void FusedCpuEngine::make_bench(Bench& bench) {
  const auto buffer = [&](std::int64_t width) {
    bench.buffers.push_back(zeros(padded(slices_.rows * width, panel)));
    return floats(bench.buffers.back());
  };
  bench.space.active[0] = buffer(network_.layers[0].inputs);
  for (int i = 0; i < network_.layer_count; ++i) {
    const std::int64_t width = network_.layers[i].outputs;
    bench.space.active[i + 1] = buffer(width);
    bench.space.deltas[i] = buffer(width);
    bench.space.slopes[i] = shape_.activation == Activation::relu ? nullptr : buffer(width);
  }
  if (!network_.entrance.is_plain) {
    bench.entered.emplace(shape_.entrance, network_, slices_.rows);
    bench.entered->show(bench.space);
  }
  if (keeps_gradients() || bench.entered) {
    bench.gradients = zeros(network_.size);
    bench.space.gradients = floats(bench.gradients);
  }
  const auto rows = static_cast<std::size_t>(slices_.rows);
  if (request_.loss().kind == Loss::cross_entropy) {
    bench.class_targets.resize(rows);
  } else {
    bench.float_targets.resize(rows * static_cast<std::size_t>(shape_.outputs));
  }
  if (request_.training.find(Role::weights) != nullptr) bench.row_weights.resize(rows);
}

void FusedCpuEngine::begin_step(std::int64_t step) {
  if (!dropout_.is_on) return;
  for (int i = 0; i + 1 < network_.layer_count; ++i) {
    const RandomKey key =
        dropout_key(request_.seed, static_cast<std::uint64_t>(step), static_cast<std::uint32_t>(i));
    dropout_.key_first[i] = key.first;
    dropout_.key_second[i] = key.second;
  }
}

void FusedCpuEngine::run_slice(std::int64_t number, std::int64_t first, std::int64_t count, std::int64_t rows,
                               Gradients what, const Update& update) {
  Bench& bench = bench_at(number);
  bench.space.rows = padded(count, row_block);
  bench.dropout = dropout_;
  bench.dropout.first_row = static_cast<std::uint32_t>(first);
  if (network_.entrance.numbers > 0) kernels_.enter(network_, bench.space);
  kernels_.forward(network_, bench.space, bench.dropout, true);

  float* deltas = bench.space.deltas[network_.layer_count - 1];
  kernels::Losses losses = losses_;
  losses.outputs = bench.space.active[network_.layer_count];
  losses.float_targets = bench.float_targets.data();
  losses.class_targets = bench.class_targets.data();
  losses.row_weights = bench.row_weights.empty() ? nullptr : bench.row_weights.data();
  losses.rows = count;
  losses.mean_rows = rows;
  losses.row_sums = row_sums_.data() + first;
  if (double* hits = train_hits()) losses.hit_sums = hits + first;
  losses.gradients = deltas;
  kernels::losses(losses);
  std::fill_n(deltas + count * losses_.stride, (bench.space.rows - count) * losses_.stride, 0.0F);
  kernels_.backward(network_, bench.space, bench.dropout, what, update);
  if (bench.entered) update_entrance(bench, count, what, update);
}

// Its gradients are kept in any case: they are few, and come from all rows at once.
void FusedCpuEngine::update_entrance(Bench& bench, std::int64_t count, Gradients what, const Update& update) {
  const bool adds = what == Gradients::added;
  if (network_.entrance.numbers > 0) kernels_.enter_backward(network_, bench.space, adds);
  sum_categories(shape_.entrance, network_, laid_.entrance, count, *bench.entered, bench.space, adds);
  if (what == Gradients::updated)
    kernels_.update_from(network_, network_.entrance.begin, bench.space.gradients, update);
}

EngineMaker maker() {
  return {"fused", refusal, [](const EngineRequest& request) -> std::unique_ptr<Engine> {
            if (nodes::is_node_network(request.network)) return std::make_unique<NodeEngine>(request);
            if (triangulation_shape(request.network))
              return std::make_unique<SetEngine>(request, best_kernels(), request.threads);
            if (expert_shape(request.network))
              return std::make_unique<ExpertEngine>(request, best_kernels(), request.threads);
            return std::make_unique<FusedCpuEngine>(request, best_kernels(), request.threads);
          }};
}

}  // namespace stoker::fused_cpu
