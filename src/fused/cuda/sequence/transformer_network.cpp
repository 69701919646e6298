#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "fused/cuda/sequence/kernel_set.h"
#include "fused/cuda/sequence/network_kinds.h"
#include "fused/cuda/sequence/tables.h"
#include "fused/cuda/sequence/transformer_plan.h"
#include "model/network/transformer.h"

namespace stoker::fused::sequence {
namespace {

constexpr std::int64_t longest_window = 32;   // that a warp weighs in its registers
constexpr std::int64_t tokens_of_block = 40;  // that its shared memory has room for
constexpr std::int64_t most_columns = 128;
constexpr std::int64_t most_outputs = 256;

TransformerPlan plan_of_transformer(const Network& network) {
  const auto settings = settings_as<TransformerSettings>(network.settings);
  const WindowShape window = window_shape(network);
  TransformerPlan plan;
  plan.length = static_cast<int>(window.length);
  plan.columns = static_cast<int>(window.columns);
  plan.feed = static_cast<int>(settings.feed_forward);
  plan.layers = static_cast<int>(settings.layers);
  plan.outputs = static_cast<int>(network.outputs);
  plan.windows = 2 * window.length <= tokens_of_block ? 2 : 1;
  return plan;
}

// Weights of the two passes, each in the order of its kernel.
struct TransformerStreams {
  std::int64_t forward = 0;
  std::int64_t backward = 0;
};

TransformerStreams pack_transformer(const TransformerPlan& plan, const TransformerOffsets& at,
                                    Packing& packing) {
  TransformerStreams streams;
  streams.forward = packing.add({at.input, hidden, plan.columns}, false, by_half, 2 * plan.input_steps());
  for (int i = 0; i < plan.layers; ++i) {
    const TransformerLayerOffsets& layer = at.layers[i];
    packing.add({layer.qkv, 3 * hidden, hidden}, false, by_head);
    packing.add({layer.out, hidden, hidden}, false, by_half);
    packing.add({layer.feed1, plan.feed, hidden}, false, by_step);
    packing.add({layer.feed2, hidden, plan.feed}, false, by_half);
  }
  for (int i = plan.layers - 1; i >= 0; --i) {
    const TransformerLayerOffsets& layer = at.layers[i];
    const std::int64_t first = packing.add({layer.feed2, hidden, plan.feed}, true, by_step);
    if (i == plan.layers - 1) streams.backward = first;
    packing.add({layer.feed1, plan.feed, hidden}, true, by_half);
    packing.add({layer.out, hidden, hidden}, true, by_step);
    packing.add({layer.qkv, 3 * hidden, hidden}, true, by_half);
  }
  return streams;
}

TransformerOffsets offsets_of(const TransformerPlan& plan, const Places& places) {
  const auto at = [&](const std::string& name) { return static_cast<int>(places.offset_of(name)); };
  TransformerOffsets offsets{};
  offsets.input = at("input.weight");
  offsets.input_bias = at("input.bias");
  offsets.input_norm = at("input_norm.weight");
  offsets.input_norm_bias = at("input_norm.bias");
  for (int i = 0; i < plan.layers; ++i) {
    const std::string layer = fmt::format("layers.{}.", i);
    TransformerLayerOffsets& to = offsets.layers[i];
    to.qkv = at(layer + "self_attn.in_proj_weight");
    to.qkv_bias = at(layer + "self_attn.in_proj_bias");
    to.out = at(layer + "self_attn.out_proj.weight");
    to.out_bias = at(layer + "self_attn.out_proj.bias");
    to.feed1 = at(layer + "linear1.weight");
    to.feed1_bias = at(layer + "linear1.bias");
    to.feed2 = at(layer + "linear2.weight");
    to.feed2_bias = at(layer + "linear2.bias");
    to.norm1 = at(layer + "norm1.weight");
    to.norm1_bias = at(layer + "norm1.bias");
    to.norm2 = at(layer + "norm2.weight");
    to.norm2_bias = at(layer + "norm2.bias");
  }
  offsets.norm = at("norm.weight");
  offsets.norm_bias = at("norm.bias");
  offsets.head_norm = at("head.norm.weight");
  offsets.head_norm_bias = at("head.norm.bias");
  offsets.head = at("head.hidden.weight");
  offsets.head_bias = at("head.hidden.bias");
  offsets.head_hidden_norm = at("head.hidden_norm.weight");
  offsets.head_hidden_norm_bias = at("head.hidden_norm.bias");
  offsets.output = at("head.last.weight");
  offsets.output_bias = at("head.last.bias");
  return offsets;
}

// Sines and cosines of the place, as torch/modules/transformer.cpp has them.
std::vector<float> waves_of_positions(int length) {
  std::vector<float> waves;
  for (int place = 0; place < length; ++place)
    for (int i = 0; i < hidden; ++i) {
      const double angle = place * std::exp(-std::log(10000.0) * (i - i % 2) / hidden);
      waves.push_back(static_cast<float>(i % 2 == 0 ? std::sin(angle) : std::cos(angle)));
    }
  return waves;
}

using Half = unsigned short;

TransformerRows take_rows_of(const TransformerPlan& plan, std::int64_t blocks, Room& room) {
  const std::int64_t rows = blocks * plan.padded();
  const std::int64_t windows = blocks * plan.windows;
  TransformerRows kept{};
  kept.input = room.take<Half>(rows * plan.padded_columns());
  kept.d_input = room.take<Half>(rows * hidden);
  kept.hat0 = room.take<Half>(rows * hidden);
  kept.hat_last = room.take<Half>(rows * hidden);
  kept.root0 = room.take<float>(rows);
  kept.root_last = room.take<float>(rows);
  kept.head = room.take<float>(windows * head_floats);
  kept.head_input = room.take<Half>(windows * hidden);
  kept.d_head = room.take<Half>(windows * head_width);
  for (int i = 0; i < plan.layers; ++i) {
    TransformerLayerRows& layer = kept.layers[i];
    for (Half** narrow :
         {&layer.norm1, &layer.context, &layer.norm2, &layer.hat1, &layer.hat2, &layer.d_feed2, &layer.d_out})
      *narrow = room.take<Half>(rows * hidden);
    for (Half** wide : {&layer.qkv, &layer.d_qkv}) *wide = room.take<Half>(rows * 3 * hidden);
    for (Half** feed : {&layer.feed, &layer.d_feed1}) *feed = room.take<Half>(rows * plan.feed);
    for (float** root : {&layer.root1, &layer.root2}) *root = room.take<float>(rows);
    layer.slope = room.take<unsigned>(rows * plan.feed / 2);
  }
  return kept;
}

// What a launch is for, of each of the kernels.
struct TransformerLaunches {
  Launch pack, forward, backward, gradients;
};

class TransformerPasses : public Passes {
 public:
  TransformerPasses(const TransformerPlan& plan, const TransformerLaunches& launches, const Packing& packing,
                    const TransformerStreams& streams, const TransformerWork& work, const Places& places)
      : launches_(launches),
        packing_(packing),
        forward_(packing.at(streams.forward)),
        backward_(packing.at(streams.backward)),
        room_(places.device),
        work_(work) {
    blocks_ = (work.rows + plan.windows - 1) / plan.windows;
    work_.kept = take_rows_of(plan, blocks_, room_);
    work_.sums = room_.take<float>(std::int64_t{blocks_} * plan.sums());
    work_.trains = true;
    add_products(plan, places);
    add_sums(plan);
    tables_.finish(places.gradients, room_);
  }

  std::uint64_t bytes() const override { return room_.bytes(); }

  void forward(Stream stream) override {
    packing_.run(launches_.pack, stream);
    work_.stream = forward_;
    launches_.forward.run(dim3(static_cast<unsigned>(blocks_)), stream, work_);
  }
  void backward(Stream stream) override {
    work_.stream = backward_;
    launches_.backward.run(dim3(static_cast<unsigned>(blocks_)), stream, work_);
    tables_.run(launches_.gradients, stream);
  }

 private:
  void add_products(const TransformerPlan& plan, const Places& places) {
    const std::int64_t rows = std::int64_t{blocks_} * plan.padded();
    const auto to = [&](int offset) { return places.gradients + offset; };
    for (int i = 0; i < plan.layers; ++i) {
      const TransformerLayerOffsets& at = work_.offsets.layers[i];
      const TransformerLayerRows& kept = work_.kept.layers[i];
      tables_.add_product({kept.d_qkv, 3 * hidden}, {kept.norm1, hidden}, rows, to(at.qkv), 3 * hidden,
                          hidden);
      tables_.add_product({kept.d_out, hidden}, {kept.context, hidden}, rows, to(at.out), hidden, hidden);
      tables_.add_product({kept.d_feed1, plan.feed}, {kept.norm2, hidden}, rows, to(at.feed1), plan.feed,
                          hidden);
      tables_.add_product({kept.d_feed2, hidden}, {kept.feed, plan.feed}, rows, to(at.feed2), hidden,
                          plan.feed);
    }
    tables_.add_product({work_.kept.d_input, hidden}, {work_.kept.input, plan.padded_columns()}, rows,
                        to(work_.offsets.input), hidden, plan.columns);
    tables_.add_product({work_.kept.d_head, head_width}, {work_.kept.head_input, hidden},
                        std::int64_t{blocks_} * plan.windows, to(work_.offsets.head), head_width, hidden);
  }

  void add_sums(const TransformerPlan& plan) {
    const TransformerOffsets& at = work_.offsets;
    tables_.begin_sums(work_.sums, blocks_, plan.sums());
    const auto add_norm = [&](int from, int weight, int bias, int width) {
      tables_.add_sum(from, weight, width);
      tables_.add_sum(from + width, bias, width);
    };
    tables_.add_sum(plan.input_bias(), at.input_bias, hidden);
    add_norm(plan.input_norm(), at.input_norm, at.input_norm_bias, hidden);
    for (int i = 0; i < plan.layers; ++i) {
      const TransformerLayerOffsets& layer = at.layers[i];
      const int from = plan.layer(i);
      add_norm(from + plan.norm1(), layer.norm1, layer.norm1_bias, hidden);
      tables_.add_sum(from + plan.qkv_bias(), layer.qkv_bias, 3 * hidden);
      tables_.add_sum(from + plan.out_bias(), layer.out_bias, hidden);
      add_norm(from + plan.norm2(), layer.norm2, layer.norm2_bias, hidden);
      tables_.add_sum(from + plan.feed1_bias(), layer.feed1_bias, plan.feed);
      tables_.add_sum(from + plan.feed2_bias(), layer.feed2_bias, hidden);
    }
    add_norm(plan.last_norm(), at.norm, at.norm_bias, hidden);
    add_norm(plan.head_norm(), at.head_norm, at.head_norm_bias, hidden);
    tables_.add_sum(plan.head_bias(), at.head_bias, head_width);
    add_norm(plan.head_hidden_norm(), at.head_hidden_norm, at.head_hidden_norm_bias, head_width);
    tables_.add_sum(plan.output_weight(), at.output, plan.outputs * head_width);
    tables_.add_sum(plan.output_bias(), at.output_bias, plan.outputs);
  }

  TransformerLaunches launches_;
  const Packing& packing_;
  const void* forward_;
  const void* backward_;
  Room room_;
  TransformerWork work_;
  GradientTables tables_;
  int blocks_ = 0;
};

class Transformer : public SequenceKernels {
 public:
  Transformer(const Network& network, const Places& places)
      : plan_(plan_of_transformer(network)), places_(places), room_(places.device) {
    std::string why_not;
    const KernelSet* set = find_kernels(transformer_source(network), places.device, why_not);
    if (set == nullptr) refuse("{}", why_not);
    const int bytes = memory_of(plan_).bytes;
    launches_.pack = {set->prepare("pack", 0), 256, 0};
    launches_.forward = {set->prepare("forward", bytes), threads_with_asker, bytes};
    launches_.backward = {set->prepare("backward", bytes), threads_with_asker, bytes};
    launches_.gradients = {set->prepare("gradients", gradient_shared_bytes), gradient_threads,
                           gradient_shared_bytes};
    const auto settings = settings_as<TransformerSettings>(network.settings);
    work_.parameters = places.parameters;
    work_.positions = room_.take_copy(waves_of_positions(plan_.length));
    work_.offsets = offsets_of(plan_, places);
    work_.seed = places.seed;
    work_.step = places.step;
    work_.input_dropout = static_cast<float>(settings.input_dropout);
    work_.attention_dropout = static_cast<float>(settings.attention_dropout);
    work_.dropout = static_cast<float>(settings.dropout);
    streams_ = pack_transformer(plan_, work_.offsets, packing_);
    packing_.finish(places.parameters, room_);
  }

  std::unique_ptr<Passes> make_passes(const Batch& batch) override {
    TransformerWork work = work_;
    work.windows = batch.windows;
    work.rows = static_cast<int>(batch.rows);
    work.outputs = batch.outputs;
    work.d_outputs = batch.d_outputs;
    return std::make_unique<TransformerPasses>(plan_, launches_, packing_, streams_, work, places_);
  }

  std::uint64_t bytes() const override { return room_.bytes(); }

  void reserve(std::int64_t) override {}

  void predict(const float* windows, std::int64_t rows, float* outputs, Stream stream) override {
    packing_.run(launches_.pack, stream);
    TransformerWork work = work_;
    work.windows = windows;
    work.rows = static_cast<int>(rows);
    work.outputs = outputs;
    work.stream = packing_.at(streams_.forward);
    launches_.forward.run(dim3(static_cast<unsigned>((rows + plan_.windows - 1) / plan_.windows)), stream,
                          work);
  }

 private:
  TransformerPlan plan_;
  Places places_;
  Room room_;
  TransformerLaunches launches_;
  TransformerWork work_;
  Packing packing_;
  TransformerStreams streams_;
};

}  // namespace

std::string transformer_refusal(const Network& network, const Gpu& gpu) {
  const auto settings = settings_as<TransformerSettings>(network.settings);
  const WindowShape window = window_shape(network);
  if (settings.hidden_size != hidden || settings.heads != heads)
    return fmt::format("its kernel for transformers has hidden_size {} and {} heads, not {} and {}", hidden,
                       heads, settings.hidden_size, settings.heads);
  if (settings.feed_forward != 256 && settings.feed_forward != 512)
    return fmt::format("its kernel for transformers has feed_forward 256 or 512, not {}",
                       settings.feed_forward);
  if (settings.activation != Activation::gelu || settings.pooling != Pooling::mean)
    return "its kernel for transformers has activation gelu and pooling mean";
  if (settings.layers > most_layers)
    return fmt::format("its kernel for transformers has at most {} layers, not {}", most_layers,
                       settings.layers);
  if (window.length > longest_window)
    return fmt::format("its kernel for transformers reads at most {} moments, not {}", longest_window,
                       window.length);
  if (window.columns > most_columns)
    return fmt::format("its kernel for transformers reads at most {} columns, not {}", most_columns,
                       window.columns);
  if (network.outputs > most_outputs)
    return fmt::format("its kernel for transformers has at most {} outputs, not {}", most_outputs,
                       network.outputs);
  if (const int bytes = memory_of(plan_of_transformer(network)).bytes; bytes > gpu.block_bytes)
    return fmt::format(
        "its kernel for transformers needs {} bytes of shared memory, but a block of this GPU has {}", bytes,
        gpu.block_bytes);
  return "";
}

std::string transformer_source(const Network& network) {
  const TransformerPlan plan = plan_of_transformer(network);
  return fmt::format(
      R"(#include "fused/cuda/sequence/transformer_kernels.cuh"
using namespace stoker::fused::sequence;
struct Net {{ static constexpr TransformerPlan plan{{{}, {}, {}, {}, {}, {}}}; }};
extern "C" __global__ void __launch_bounds__(threads_with_asker, 1)
forward(const __grid_constant__ TransformerWork work) {{
  extern __shared__ __align__(1024) char memory[];
  pass_through<Net, TransformerForward>(work, memory);
}}
extern "C" __global__ void __launch_bounds__(threads_with_asker, 1)
backward(const __grid_constant__ TransformerWork work) {{
  extern __shared__ __align__(1024) char memory[];
  pass_through<Net, TransformerBackward>(work, memory);
}}
extern "C" __global__ void __launch_bounds__(gradient_threads, 1) __cluster_dims__(gradient_cluster, 1, 1)
gradients(const __grid_constant__ GradientWork work) {{
  extern __shared__ __align__(1024) char memory[];
  make_gradients(work, memory);
}}
extern "C" __global__ void pack(const __grid_constant__ PackWork work) {{ pack_matrix(work); }}
)",
      plan.length, plan.columns, plan.feed, plan.layers, plan.outputs, plan.windows);
}

std::unique_ptr<SequenceKernels> make_transformer(const Network& network, const Places& places) {
  return std::make_unique<Transformer>(network, places);
}

}  // namespace stoker::fused::sequence
