#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/field.h"
#include "data/placement/dataset.h"
#include "device/array.h"
#include "kernels/row_order.h"
#include "model/loss_term.h"
#include "model/network.h"

// What runs training steps. An engine takes a placed dataset, runs a chunk of steps per call and returns one
// record per finished epoch; the host waits once per chunk, never per step. Validation, early stopping and
// the best weights are the engine's work, so that a chunk may hold hundreds of small epochs. It gives and
// takes its whole state, so a run can stop after any chunk and go on exactly.
namespace stoker {

enum class Optimizer { adam, adamw, sgd, lion };
enum class EngineChoice { automatic, fused, graph, eager };

// Of the operands of matrix products; sums, weights and moments are fp32 always. automatic: what the engine
// is fastest with and loses no quality by. fp32: no rounding of operands, so that engines agree closely.
// precision.h says which device has which.
enum class Precision { automatic, fp32, tf32, bf16, fp16 };

struct OptimizerSettings {
  Optimizer kind = Optimizer::adam;
  double momentum = 0;  // sgd
  double weight_decay = 0;
  double beta1 = 0.9;  // adam, adamw, lion
  double beta2 = 0.999;
  double epsilon = 1e-8;     // adam, adamw
  double max_grad_norm = 0;  // 0: no clipping

  bool has_first_moment() const { return kind != Optimizer::sgd || momentum > 0; }
  bool has_second_moment() const { return kind == Optimizer::adam || kind == Optimizer::adamw; }
};

// Between processes that train one model: called after every backward pass, with the gradients of this
// process, and before an epoch is judged, with each of its buffers; leaves in their place the mean over all.
class Collective {
 public:
  virtual ~Collective() = default;
  virtual void average(std::span<float> values) = 0;  // in host memory
};

struct EngineRequest {
  Network network;
  std::vector<LossTerm> losses{LossTerm{}};
  std::vector<std::string> unfrozen;  // the parameters that are trained; none named: all
  std::int64_t first_update = 0;      // the step with which its optimiser begins, the moments being 0
  RowOrder order;
  // Of an order with shards: how many lie in the device's memory at a time, and the training rows may be in
  // any memory of the host. 0: the engine reads the training rows where they are.
  std::int64_t window_slots = 0;
  Dataset slots;  // room for them there; without arrays an engine makes its own
  // The rows may be in any memory of the host: an engine of a family that says so brings those of each batch.
  bool brings_batches = false;
  bool is_placed = true;  // false: engines are only asked about it, before its rows lie where they read them
  Collective* collective = nullptr;  // null: one process
  Precision precision = Precision::automatic;
  OptimizerSettings optimizer;
  std::int64_t epochs = 0;  // that are planned, for what changes as the training goes on; 0: nobody knows
  std::int64_t batch_size = 32;
  // A step takes its batch in so many parts, one after the other, and adds up their gradients: the same step
  // in less memory. An engine that keeps little between the layers may take it whole.
  std::int64_t accumulation_steps = 1;
  // Decay of a moving average of the weights, which is then what is validated, kept and given out; 0: none.
  double weight_average = 0;
  bool checkpoint_activations = false;  // computed again on the way back instead of kept
  bool is_short_of_memory = false;      // it has run out: parts are to be taken as they are asked for
  bool is_deterministic = false;        // on a GPU: the same bits every time, even where that is slower
  std::uint64_t seed = 0;
  std::int64_t patience = 0;  // epochs without a better validation loss before stopping; 0: never stop early
  double min_delta = 0;       // what counts as better
  Device device;
  int threads = 0;  // of the CPU, that the engine may use; 0: as many as pay
  // Placed: where the engine reads it. An array of role weights, float [rows], multiplies the loss of each
  // row; a step's loss stays divided by its number of rows, so weights of mean 1 leave its size as it was.
  Dataset training;
  Dataset validation;              // placed; no arrays when there is none
  NamedArrays initial_parameters;  // on the host, as initial_parameters() of model/family.h makes them

  std::int64_t rows_per_epoch() const { return training.rows() / order.ranks; }
  // The last batch of an epoch may be smaller; it is trained on like the others.
  std::int64_t steps_per_epoch() const { return (rows_per_epoch() + batch_size - 1) / batch_size; }

  std::int64_t planned_steps() const { return epochs * steps_per_epoch(); }

  std::int64_t part_rows() const { return (batch_size + accumulation_steps - 1) / accumulation_steps; }

  const LossTerm& loss() const { return losses.front(); }  // of a request that has one
  LossTerm& loss() { return losses.front(); }
};

// Steps are counted from the start of the run, over all epochs; row_order.h says which rows each has.
struct Chunk {
  std::int64_t first_step = 0;
  std::vector<float> learning_rates;  // one per step
};

struct NamedValue {
  std::string name;
  double value = 0;
};

struct EpochRecord {
  std::int64_t epoch = 0;  // from 0
  double train_loss = 0;   // mean over the rows, as trained on (dropout on)
  std::optional<double> validation_loss;
  bool is_best = false;  // these weights were kept
  std::vector<NamedValue> values =
      {};  // train_NAME and validation_NAME of each of several losses and of metrics
  // Mean over the steps, before clipping; none of engines that do not compute it.
  std::optional<double> gradient_norm = std::nullopt;
};

struct ChunkResult {
  std::vector<EpochRecord> finished_epochs;  // up to and including the one that stopped, if any
  bool stopped_early = false;
  // False: numbers were not finite, which a precision of more range may have been able to hold.
  bool is_sound = true;
  double waiting_seconds = 0;  // of the chunk's time: for training rows that were still on their way
};

// Of a device, in bytes.
struct MemoryUse {
  std::uint64_t allocated = 0;
  std::uint64_t reserved = 0;  // with what the allocator keeps for later
  std::uint64_t peak = 0;      // most that was allocated at a time
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string_view name() const = 0;

  // Chunks follow each other: first_step is where the last chunk ended, or what restore() brought.
  virtual ChunkResult run(const Chunk& chunk) = 0;

  // Everything that run() depends on, as host arrays: parameters, moments, best weights, sums of the
  // unfinished epoch, counters. restore(state()) in a new engine of the same request continues exactly.
  // What others read or edit of it: parameters.NAME, which checkpoints keep apart from the rest;
  // first_moment.NAME, second_moment.NAME; best_validation_loss [1]; counters, whose second is the number of
  // epochs since the best.
  virtual NamedArrays state() const = 0;
  virtual void restore(const NamedArrays& state) = 0;

  virtual NamedArrays parameters() const = 0;  // as they are now, on the host
  // Those of the best validation loss; without validation, as they are now.
  virtual NamedArrays best_parameters() const = 0;

  // What it computes its products with, automatic never.
  virtual Precision precision() const { return Precision::fp32; }
  // Whether the same training could go on in fp32 after numbers that were not finite, and with a batch in
  // smaller parts after a lack of memory, from an earlier state.
  virtual bool can_start_over() const { return false; }
  virtual MemoryUse memory() const { return {}; }  // of its device; 0 where nobody knows
};

// Models that train side by side on one device, each with its own request; all of one shape and loss. What is
// said of Engine holds for each model.
class EngineGroup {
 public:
  virtual ~EngineGroup() = default;
  virtual std::size_t size() const = 0;
  // One chunk per model; a model whose chunk is empty rests.
  virtual std::vector<ChunkResult> run(std::span<const Chunk> chunks) = 0;
  virtual NamedArrays state(std::size_t model) const = 0;
  virtual void restore(std::size_t model, const NamedArrays& state) = 0;
  virtual NamedArrays parameters(std::size_t model) const = 0;
  virtual NamedArrays best_parameters(std::size_t model) const = 0;
  virtual Precision precision() const { return Precision::fp32; }  // of all models
};

// One way to make engines. An explicit table of these is all there is to registration.
struct EngineMaker {
  std::string_view name;
  // Why this engine cannot run the request, or "".
  std::string (*refusal)(const EngineRequest& request);
  std::unique_ptr<Engine> (*make)(const EngineRequest& request);
  // On a GPU. Null where models cannot share it: then they follow each other. On the CPU each takes a thread.
  // Every request is one that refusal() lets pass.
  std::unique_ptr<EngineGroup> (*make_group)(std::span<const EngineRequest> requests) = nullptr;
  // Why another engine that can run it is faster with one model alone, or "". Null: never.
  std::string (*slower_alone)(const EngineRequest& request) = nullptr;
  // Whether models of such a request can form a group. Null: all that it runs.
  bool (*can_group)(const EngineRequest& request) = nullptr;

  bool groups(const EngineRequest& request) const {
    return request.device.is_cuda() && make_group != nullptr && (can_group == nullptr || can_group(request));
  }
};

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 7> stoker::config::names<stoker::Loss>{
    "mse", "binary_cross_entropy", "cross_entropy", "huber", "output", "quantile", "gaussian"};
template <>
inline constexpr std::array<std::string_view, 4> stoker::config::names<stoker::Optimizer>{"adam", "adamw",
                                                                                          "sgd", "lion"};
template <>
inline constexpr std::array<std::string_view, 4> stoker::config::names<stoker::EngineChoice>{
    "auto", "fused", "graph", "eager"};
template <>
inline constexpr std::array<std::string_view, 5> stoker::config::names<stoker::Precision>{
    "auto", "fp32", "tf32", "bf16", "fp16"};
