#pragma once

#include <cstdint>

#include "fused/cpu/gru_moment.h"
#include "fused/cpu/lstm_moment.h"
#include "fused/cpu/panel_product.h"
#include "fused/cpu/token_rows.h"
#include "model/network/activation.h"

// The arithmetic of a training step on a CPU, over raw pointers and sizes. Everything that the kernels touch
// is padded with zeros to whole panels, so that no loop has a remainder.
namespace stoker::fused_cpu {

constexpr std::int64_t panel = 16;     // columns that a tile of a product has; widths are multiples of it
constexpr std::int64_t row_block = 8;  // rows of a slice are a multiple of it
constexpr int most_layers = 9;

constexpr std::int64_t padded(std::int64_t size, std::int64_t unit) {
  return (size + unit - 1) / unit * unit;
}

// One layer of the network. Its weights lie as panels of 16 outputs: [outputs / 16][inputs][16]. A layer with
// one output alone is a plain vector of [inputs].
struct Layer {
  std::int64_t inputs = 0;   // padded
  std::int64_t outputs = 0;  // padded; 1 for a single output
  std::int64_t depth = 0;    // inputs without the padding
  std::int64_t width = 0;    // outputs without the padding
  std::int64_t weights = 0;  // where they begin in the flat buffers
  std::int64_t biases = 0;
  std::int64_t transposed = 0;  // where the panels of the transpose begin; not for a single output, nor for a
                                // layer 0 that reads a row as it stands

  bool is_single() const { return outputs == 1; }
  std::int64_t weight_count() const { return inputs * outputs; }
  std::int64_t bias_count() const { return is_single() ? panel : outputs; }
};

// How rows become the first layer's inputs where they are not read as they stand. Numbers are embedded by a
// small layer each, of 2 sines + 1 inputs (sines, cosines, the number) and padded_width outputs.
struct EntrancePlan {
  bool is_plain = true;
  std::int64_t numbers = 0;  // with periodic embeddings
  std::int64_t frequencies = 0;
  std::int64_t sines = 0;  // frequencies, padded
  std::int64_t waves = 0;  // inputs of a small layer, padded
  std::int64_t width = 0;
  std::int64_t padded_width = 0;
  // Where they begin in the flat buffers; all of the entrance lies behind the layers.
  std::int64_t begin = 0;
  std::int64_t frequencies_at = 0;  // [numbers][sines]
  std::int64_t weights_at = 0;      // [numbers][2 sines + 1][padded_width]
  std::int64_t biases_at = 0;       // [numbers][padded_width]

  std::int64_t weights_of_number() const { return (2 * sines + 1) * padded_width; }
};

// The network's numbers. Moments, gradients and best weights lie as the parameters do.
struct Network {
  int layer_count = 0;
  Layer layers[most_layers];
  Activation activation = Activation::relu;
  EntrancePlan entrance;
  std::int64_t size = 0;  // of a flat buffer
  float* parameters = nullptr;
  float* transposed = nullptr;
  float* first_moment = nullptr;  // null where the optimiser has none
  float* second_moment = nullptr;

  // Which layers have a transpose: those whose inputs have deltas.
  int first_transposed() const { return entrance.is_plain ? 1 : 0; }
};

// What a slice of a batch goes through. Rows beyond those of the batch are zeros whose deltas are zeros.
struct Workspace {
  std::int64_t rows = 0;           // padded
  float* active[most_layers + 1];  // [0]: the inputs; [l + 1]: what layer l puts out, [rows, outputs]
  float* slopes[most_layers];      // of a layer's activation with its dropout; none for relu
  float* deltas[most_layers];      // gradients of what a layer puts out before the activation
  float* gradients = nullptr;      // of the parameters, where they are kept

  // With an entrance that learns.
  const float* numbers = nullptr;    // [rows, numbers]
  float* waves = nullptr;            // [numbers][rows][waves]
  float* input_deltas = nullptr;     // of active[0]
  float* entrance_deltas = nullptr;  // [rows][padded_width]
  float* entrance_turned = nullptr;  // [width][2 sines]
};

struct Dropout {
  bool is_on = false;
  std::uint32_t threshold = 1;  // of 65536; at least 1
  float scale = 1;
  std::uint32_t first_row = 0;             // of the slice in its batch
  const std::uint32_t* numbers = nullptr;  // of its rows in the batch, where they do not follow each other
  std::uint32_t key_first[most_layers];
  std::uint32_t key_second[most_layers];
};

// One update of the weights, the step's numbers worked out.
struct Update {
  enum class Kind { adam, adamw, sgd, momentum } kind = Kind::adam;
  bool decays = false;
  float first_keep = 0;   // adam: 1 - beta1; momentum: the momentum
  float second_take = 0;  // 1 - beta2
  float rate = 0;         // what the direction is multiplied by, negative
  float epsilon = 0;
  float decay = 0;  // adam, sgd: added to the gradient; adamw: 1 - rate * decay, a factor of the weight
  float gradient_scale = 1;  // clipping
};

enum class Gradients { updated, stored, added };

// Networks over sets, see sets/set_step.h.
struct SetNetwork;
struct SetSlice;
struct SetKernels {
  // Inputs to outputs of the head; with dropout where training.
  void (*forward)(const SetNetwork& sets, const SetSlice& slice, const Dropout& dropout, bool is_training);
  // The last layer's deltas to all gradients, stored or added.
  void (*backward)(const SetNetwork& sets, const SetSlice& slice, const Dropout& dropout, bool adds);
};

// The kernels of one instruction set.
struct Kernels {
  const char* name;
  // Inputs to outputs; with slopes and dropout where training.
  void (*forward)(const Network& network, const Workspace& space, const Dropout& dropout, bool is_training);
  // The last layer's deltas to all gradients, which change the weights at once, or are kept.
  void (*backward)(const Network& network, const Workspace& space, const Dropout& dropout, Gradients what,
                   const Update& update);
  // Changes the weights by kept gradients.
  void (*update)(const Network& network, const float* gradients, const Update& update);
  // The same of those from a place on.
  void (*update_from)(const Network& network, std::int64_t first, const float* gradients,
                      const Update& update);
  void (*transpose)(const Network& network);  // makes the transposes anew
  // Numbers to the first layer's inputs, and the deltas of those to gradients of the embeddings.
  void (*enter)(const Network& network, const Workspace& space);
  void (*enter_backward)(const Network& network, const Workspace& space, bool adds);
  double (*squared_norm)(const float* values, std::int64_t count);
  void (*add)(float* sum, const float* values, std::int64_t count);
  void (*lstm_moment)(const LstmMoment& work);
  void (*lstm_moment_back)(const LstmMomentBack& work);
  void (*gru_moment)(const GruMoment& work);
  void (*gru_moment_back)(const GruMomentBack& work);
  void (*pack_panels)(const PackPanels& work);
  void (*multiply_panels)(const PanelProduct& work);
  bool panels_suit_many_rows;  // faster by panels than by LibTorch, whatever the number of rows
  TokenKernels tokens;
  SetKernels sets;
};

const Kernels& kernels_baseline();
const Kernels& kernels_avx2();
const Kernels& kernels_avx512();

// The best that this machine can run, or those that the environment variable STOKER_CPU names: baseline, avx2
// or avx512. Refuses what the machine cannot run.
const Kernels& best_kernels();

}  // namespace stoker::fused_cpu
