#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "fused/cuda/sequence/kernel_set.h"
#include "fused/cuda/sequence/lstm_plan.h"
#include "fused/cuda/sequence/network_kinds.h"
#include "fused/cuda/sequence/tables.h"
#include "model/network/recurrent.h"

namespace stoker::fused::sequence {
namespace {

constexpr std::int64_t longest_lstm_window = 32;
constexpr std::int64_t most_lstm_columns = 128;
constexpr std::int64_t most_lstm_outputs = 256;

LstmPlan plan_of_lstm(const Network& network) {
  const auto settings = settings_as<RecurrentSettings>(network.settings);
  const WindowShape window = window_shape(network);
  LstmPlan plan;
  plan.length = static_cast<int>(window.length);
  plan.columns = static_cast<int>(window.columns);
  plan.layers = static_cast<int>(settings.layers);
  plan.outputs = static_cast<int>(network.outputs);
  return plan;
}

LstmOffsets lstm_offsets(const LstmPlan& plan, const Places& places) {
  const auto at = [&](const std::string& name) { return static_cast<int>(places.offset_of(name)); };
  LstmOffsets offsets{};
  offsets.input_norm = at("input_norm.weight");
  offsets.input_norm_bias = at("input_norm.bias");
  for (int layer = 0; layer < plan.layers; ++layer)
    for (int direction = 0; direction < 2; ++direction) {
      const std::vector<std::string> names = recurrent_names(layer, direction == 1);
      offsets.layers[layer][direction] = {at(names[0]), at(names[1]), at(names[2]), at(names[3])};
    }
  offsets.norm = at("norm.weight");
  offsets.norm_bias = at("norm.bias");
  offsets.scores = at("pooling.scores.weight");
  offsets.scores_bias = at("pooling.scores.bias");
  offsets.weights = at("pooling.weights.weight");
  offsets.weights_bias = at("pooling.weights.bias");
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

// First fragments of what is packed.
struct LstmFragments {
  struct Layer {
    std::int64_t input = 0, recurrent = 0, recurrent_back = 0, input_back = 0;
  };
  Layer layers[most_recurrent_layers];
  std::int64_t scores = 0, scores_back = 0;
};

LstmFragments pack_lstm(const LstmPlan& plan, const LstmOffsets& at, Packing& packing) {
  LstmFragments fragments;
  for (int i = 0; i < plan.layers; ++i) {
    const int columns = i == 0 ? plan.columns : both;
    const auto& offsets = at.layers[i];
    // Both directions, one behind the other.
    const auto add = [&](auto add_one) {
      const std::int64_t first = add_one(offsets[0]);
      add_one(offsets[1]);
      return first;
    };
    LstmFragments::Layer& layer = fragments.layers[i];
    layer.input = add([&](const LstmDirectionOffsets& each) {
      return packing.add({each.input, gates, columns}, false, by_gate_tile,
                         i == 0 ? plan.padded_columns() / 16 : 0);
    });
    layer.recurrent = add([&](const LstmDirectionOffsets& each) {
      return packing.add({each.recurrent, gates, units}, false, by_gate_warp);
    });
    layer.recurrent_back = add([&](const LstmDirectionOffsets& each) {
      return packing.add({each.recurrent, gates, units}, true, by_tile);
    });
    if (i == 0) continue;
    layer.input_back = add([&](const LstmDirectionOffsets& each) {
      return packing.add({each.input, gates, both}, true, by_step);
    });
  }
  fragments.scores = packing.add({at.scores, units, both}, false, by_half);
  fragments.scores_back = packing.add({at.scores, units, both}, true, by_step);
  return fragments;
}

using Half = unsigned short;

std::int64_t groups_of(std::int64_t rows) {
  return (rows + group_rows - 1) / group_rows;
}

// What a pass over so many rows needs at least.
void take_forward_rows(const LstmPlan& plan, std::int64_t rows, LstmWork& work, Room& room) {
  const std::int64_t groups = groups_of(rows);
  float4* before = room.take<float4>(groups * 2 * plan.length * worker_warps * 64);
  for (int i = 0; i < plan.layers; ++i) {
    work.layers[i].before = before;
    work.layers[i].out = room.take<Half>(groups * group_rows * plan.length * both);
  }
}

// And what it keeps for the way back.
void take_rows_to_keep(const LstmPlan& plan, std::int64_t rows, LstmWork& work, Room& room) {
  const std::int64_t groups = groups_of(rows);
  const std::int64_t moments = groups * group_rows * plan.length;
  for (int i = 0; i < plan.layers; ++i) {
    LstmLayerRows& layer = work.layers[i];
    for (Half*& previous : layer.previous) previous = room.take<Half>(moments * units);
    layer.gates = room.take<uint4>(groups * 2 * plan.length * workers);
    layer.cells = room.take<float2>(groups * 2 * plan.length * workers);
    layer.d_gates = room.take<Half>(moments * 2 * gates);
    layer.d_out = room.take<float>(moments * both);
    layer.sums = room.take<float>(groups * 2 * gates);
  }
  work.input_hat = room.take<Half>(moments * plan.padded_columns());
  const std::int64_t blocks = (rows + 1) / 2;
  const std::int64_t tokens = blocks * plan.padded();
  work.normed = room.take<Half>(tokens * both);
  work.hat = room.take<Half>(tokens * both);
  work.d_scores = room.take<Half>(tokens * units);
  work.roots = room.take<float>(tokens);
  work.tanhs = room.take<unsigned>(tokens * units / 2);
  work.end = room.take<float>(blocks * 2 * end_floats(plan.length));
  work.head_input = room.take<Half>(blocks * 2 * both);
  work.d_head = room.take<Half>(blocks * 2 * units);
  work.sums = room.take<float>(blocks * plan.sums());
}

struct LstmLaunches {
  Launch pack, project_inputs, project, recur, end, end_back, recur_back, back, gradients, finish;
};

void go_forward(const LstmPlan& plan, const LstmLaunches& launches, const LstmWork& work, Stream stream) {
  const auto groups = static_cast<unsigned>(groups_of(work.rows));
  for (int layer = 0; layer < plan.layers; ++layer) {
    if (layer == 0) {
      launches.project_inputs.run(dim3(groups, 4), stream, work);
    } else {
      launches.project.run(dim3(groups, 4), stream, work, layer);
    }
    launches.recur.run(dim3(groups, 2), stream, work, layer);
  }
  launches.end.run(dim3(static_cast<unsigned>((work.rows + 1) / 2)), stream, work);
}

class LstmPasses : public Passes {
 public:
  LstmPasses(const LstmPlan& plan, const LstmLaunches& launches, const Packing& packing, const LstmWork& work,
             const Places& places)
      : plan_(plan),
        launches_(launches),
        packing_(packing),
        gradients_(places.gradients),
        room_(places.device),
        work_(work) {
    work_.trains = true;
    take_forward_rows(plan, work.rows, work_, room_);
    take_rows_to_keep(plan, work.rows, work_, room_);
    products_ = room_.take<float>(std::int64_t{2} * gates * plan.columns);
    add_products();
    add_sums();
    tables_.finish(gradients_, room_);
  }

  std::uint64_t bytes() const override { return room_.bytes(); }

  void forward(Stream stream) override {
    packing_.run(launches_.pack, stream);
    go_forward(plan_, launches_, work_, stream);
  }

  void backward(Stream stream) override {
    const auto groups = static_cast<unsigned>(groups_of(work_.rows));
    launches_.end_back.run(dim3(static_cast<unsigned>((work_.rows + 1) / 2)), stream, work_);
    for (int layer = plan_.layers - 1; layer >= 0; --layer) {
      launches_.recur_back.run(dim3(groups, 2), stream, work_, layer);
      const unsigned tiles = groups * static_cast<unsigned>(plan_.length);
      if (layer > 0) launches_.back.run(dim3((tiles + back_tiles - 1) / back_tiles), stream, work_, layer);
    }
    tables_.run(launches_.gradients, stream);
    launches_.finish.run(dim3(static_cast<unsigned>(plan_.columns)), stream, work_, products_, plan_.columns,
                         gradients_);
  }

 private:
  void add_products() {
    const std::int64_t moments = groups_of(work_.rows) * group_rows * plan_.length;
    for (int i = 0; i < plan_.layers; ++i)
      for (int direction = 0; direction < 2; ++direction) {
        const LstmDirectionOffsets& at = work_.offsets.layers[i][direction];
        const RowsOf d{work_.layers[i].d_gates + direction * gates, 2 * gates};
        if (i == 0) {
          tables_.add_product(d, {work_.input_hat, plan_.padded_columns()}, moments,
                              products_ + direction * gates * plan_.columns, gates, plan_.columns);
        } else {
          tables_.add_product(d, {work_.layers[i - 1].out, both}, moments, gradients_ + at.input, gates,
                              both);
        }
        tables_.add_product(d, {work_.layers[i].previous[direction], units}, moments,
                            gradients_ + at.recurrent, gates, units);
      }
    const std::int64_t blocks = (work_.rows + 1) / 2;
    tables_.add_product({work_.d_scores, units}, {work_.normed, both}, blocks * plan_.padded(),
                        gradients_ + work_.offsets.scores, units, both);
    tables_.add_product({work_.d_head, units}, {work_.head_input, both}, blocks * 2,
                        gradients_ + work_.offsets.head, units, both);
  }

  void add_sums() {
    const LstmOffsets& at = work_.offsets;
    for (int i = 0; i < plan_.layers; ++i)
      for (int direction = 0; direction < 2; ++direction) {
        // The two biases of a layer are added, so their gradients are the same.
        tables_.begin_sums(work_.layers[i].sums + direction * gates, static_cast<int>(groups_of(work_.rows)),
                           2 * gates);
        tables_.add_sum(0, at.layers[i][direction].input_bias, gates);
        tables_.add_sum(0, at.layers[i][direction].recurrent_bias, gates);
      }
    tables_.begin_sums(work_.sums, (work_.rows + 1) / 2, plan_.sums());
    tables_.add_sum(plan_.norm(), at.norm, both);
    tables_.add_sum(plan_.norm() + both, at.norm_bias, both);
    tables_.add_sum(plan_.scores_bias(), at.scores_bias, units);
    tables_.add_sum(plan_.weights(), at.weights, units);
    tables_.add_sum(plan_.weights_bias(), at.weights_bias, 1);
    tables_.add_sum(plan_.head_norm(), at.head_norm, both);
    tables_.add_sum(plan_.head_norm() + both, at.head_norm_bias, both);
    tables_.add_sum(plan_.head_bias(), at.head_bias, units);
    tables_.add_sum(plan_.head_hidden_norm(), at.head_hidden_norm, units);
    tables_.add_sum(plan_.head_hidden_norm() + units, at.head_hidden_norm_bias, units);
    tables_.add_sum(plan_.output_weight(), at.output, plan_.outputs * units);
    tables_.add_sum(plan_.output_bias(), at.output_bias, plan_.outputs);
  }

  LstmPlan plan_;
  LstmLaunches launches_;
  const Packing& packing_;
  float* gradients_;
  Room room_;
  LstmWork work_;
  float* products_ = nullptr;  // of the first layer's inputs before their norm's weight and bias
  GradientTables tables_;
};

class Lstm : public SequenceKernels {
 public:
  Lstm(const Network& network, const Places& places)
      : plan_(plan_of_lstm(network)), places_(places), room_(places.device) {
    std::string why_not;
    const KernelSet* set = find_kernels(lstm_source(network), places.device, why_not);
    if (set == nullptr) refuse("{}", why_not);
    const auto launch = [&](const char* name, int threads, int bytes) {
      return Launch{set->prepare(name, bytes), threads, bytes};
    };
    const int end_bytes = memory_of(plan_).bytes;
    launches_.pack = launch("pack", 256, 0);
    launches_.project_inputs = launch("project_inputs", workers, projection_bytes(plan_.padded_columns()));
    launches_.project = launch("project", workers, projection_bytes(both));
    launches_.recur = launch("recur_forward", workers, recur_bytes);
    launches_.recur_back = launch("recur_backward", workers, recur_back_bytes);
    launches_.back = launch("back", threads_with_asker, back_bytes);
    launches_.end = launch("end_forward", threads_with_asker, end_bytes);
    launches_.end_back = launch("end_backward", threads_with_asker, end_bytes);
    launches_.gradients = launch("gradients", gradient_threads, gradient_shared_bytes);
    launches_.finish = launch("finish", 256, 0);
    const auto settings = settings_as<RecurrentSettings>(network.settings);
    work_.parameters = places.parameters;
    work_.offsets = lstm_offsets(plan_, places);
    work_.seed = places.seed;
    work_.step = places.step;
    work_.dropout = static_cast<float>(settings.dropout);
    work_.pooling_dropout = static_cast<float>(settings.pooling_dropout);
    const LstmFragments fragments = pack_lstm(plan_, work_.offsets, packing_);
    packing_.finish(places.parameters, room_);
    const auto at = [&](std::int64_t fragment) {
      return reinterpret_cast<const uint4*>(packing_.at(fragment));
    };
    for (int i = 0; i < plan_.layers; ++i) {
      work_.layers[i].input_weights = at(fragments.layers[i].input);
      work_.layers[i].recurrent_weights = at(fragments.layers[i].recurrent);
      work_.layers[i].recurrent_back = at(fragments.layers[i].recurrent_back);
      work_.layers[i].input_back = at(fragments.layers[i].input_back);
    }
    work_.end_stream = at(fragments.scores);
    work_.end_back = at(fragments.scores_back);
  }

  std::unique_ptr<Passes> make_passes(const Batch& batch) override {
    LstmWork work = work_;
    work.windows = batch.windows;
    work.rows = static_cast<int>(batch.rows);
    work.outputs = batch.outputs;
    work.d_outputs = batch.d_outputs;
    return std::make_unique<LstmPasses>(plan_, launches_, packing_, work, places_);
  }

  std::uint64_t bytes() const override { return room_.bytes(); }

  void reserve(std::int64_t rows) override { take_forward_rows(plan_, rows, work_, room_); }

  void predict(const float* windows, std::int64_t rows, float* outputs, Stream stream) override {
    packing_.run(launches_.pack, stream);
    LstmWork work = work_;
    work.windows = windows;
    work.rows = static_cast<int>(rows);
    work.outputs = outputs;
    go_forward(plan_, launches_, work, stream);
  }

 private:
  LstmPlan plan_;
  Places places_;
  Room room_;
  LstmLaunches launches_;
  LstmWork work_{};
  Packing packing_;
};

}  // namespace

std::string lstm_refusal(const Network& network, const Gpu& gpu) {
  const auto settings = settings_as<RecurrentSettings>(network.settings);
  const WindowShape window = window_shape(network);
  if (settings.hidden_size != units)
    return fmt::format("its kernel for LSTMs has hidden_size {}, not {}", units, settings.hidden_size);
  if (!settings.bidirectional || !settings.layer_norm || settings.pooling != Pooling::attention)
    return "its kernel for LSTMs has both directions, layer_norm and pooling attention";
  if (!norms_inputs(settings.layer_norm, window))
    return fmt::format("its kernel for LSTMs norms its inputs, but {} columns are too few for that",
                       window.columns);
  if (settings.layers > most_recurrent_layers)
    return fmt::format("its kernel for LSTMs has at most {} layers, not {}", most_recurrent_layers,
                       settings.layers);
  if (window.length > longest_lstm_window)
    return fmt::format("its kernel for LSTMs reads at most {} moments, not {}", longest_lstm_window,
                       window.length);
  if (window.columns > most_lstm_columns)
    return fmt::format("its kernel for LSTMs reads at most {} columns, not {}", most_lstm_columns,
                       window.columns);
  if (network.outputs > most_lstm_outputs)
    return fmt::format("its kernel for LSTMs has at most {} outputs, not {}", most_lstm_outputs,
                       network.outputs);
  if (const int bytes = memory_of(plan_of_lstm(network)).bytes; bytes > gpu.block_bytes)
    return fmt::format("its kernel for LSTMs needs {} bytes of shared memory, but a block of this GPU has {}",
                       bytes, gpu.block_bytes);
  return "";
}

std::string lstm_source(const Network& network) {
  const LstmPlan plan = plan_of_lstm(network);
  return fmt::format(
      R"(#include "fused/cuda/sequence/lstm_kernels.cuh"
using namespace stoker::fused::sequence;
struct Net {{ static constexpr LstmPlan plan{{{}, {}, {}, {}}}; }};
#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS, 1)
#define MEMORY extern __shared__ __align__(1024) char memory[]
KERNEL(workers) project_inputs(const __grid_constant__ LstmWork work) {{
  MEMORY;
  LstmProjection<Net, Net::plan.padded_columns()>{{work, 0, memory}}.run();
}}
KERNEL(workers) project(const __grid_constant__ LstmWork work, int layer) {{
  MEMORY;
  LstmProjection<Net, both>{{work, layer, memory}}.run();
}}
KERNEL(workers) recur_forward(const __grid_constant__ LstmWork work, int layer) {{
  MEMORY;
  recur<Net>(work, layer, memory);
}}
KERNEL(workers) recur_backward(const __grid_constant__ LstmWork work, int layer) {{
  MEMORY;
  recur_back<Net>(work, layer, memory);
}}
KERNEL(threads_with_asker) back(const __grid_constant__ LstmWork work, int layer) {{
  MEMORY;
  pass_back<Net>(work, layer, memory);
}}
KERNEL(threads_with_asker) end_forward(const __grid_constant__ LstmWork work) {{
  MEMORY;
  pass_end<Net, LstmEndForward>(work, work.end_stream, memory);
}}
KERNEL(threads_with_asker) end_backward(const __grid_constant__ LstmWork work) {{
  MEMORY;
  pass_end<Net, LstmEndBackward>(work, work.end_back, memory);
}}
KERNEL(gradient_threads) __cluster_dims__(gradient_cluster, 1, 1)
gradients(const __grid_constant__ GradientWork work) {{
  MEMORY;
  make_gradients(work, memory);
}}
extern "C" __global__ void pack(const __grid_constant__ PackWork work) {{ pack_matrix(work); }}
extern "C" __global__ void finish(const __grid_constant__ LstmWork work, const float* products, int columns,
                                  float* to) {{
  finish_inputs(work, products, columns, to);
}}
)",
      plan.length, plan.columns, plan.layers, plan.outputs);
}

std::unique_ptr<SequenceKernels> make_lstm(const Network& network, const Places& places) {
  return std::make_unique<Lstm>(network, places);
}

}  // namespace stoker::fused::sequence
