#pragma once

// How a network is laid over one block. The kernel knows it when it is compiled, the host when it chooses
// one, so everything is a constexpr function of a few numbers.
namespace stoker::fused {

constexpr int warps = 16;
constexpr int threads = 32 * warps;
constexpr int rows = 32;   // of a batch, that a block works on at once
constexpr int stages = 4;  // batches in flight: one trained on, one ready, two on their way

constexpr int round_up(int value, int multiple) {
  return (value + multiple - 1) / multiple * multiple;
}
constexpr int divide_up(int value, int by) {
  return (value + by - 1) / by;
}

// What the numbers of a plan stand for, in the order of Activation, Loss and Optimizer: the run-time compiler
// reads this file and none of theirs. choose_plan.cpp holds them to each other.
namespace number {
constexpr int relu = 0, tanh = 1, sigmoid = 2, gelu = 3, silu = 4;
constexpr int mse = 0, binary_cross_entropy = 1, cross_entropy = 2, huber = 3, quantile = 5;
constexpr int adam = 0, adamw = 1, sgd = 2;
}  // namespace number

// A network spread over all multiprocessors: see CrowdLayout.
struct CrowdShape {
  int blocks = 0;      // 0: it is not
  int tiles = 0;       // of 16 rows, that hold the batch
  bool clips = false;  // gradients wait for their norm
  int memory = 0;      // bytes of shared memory that a block may take
};

struct Plan {
  static constexpr int most_layers = 9;  // weight matrices: up to eight hidden layers
  int layers;
  int width[most_layers + 1];  // inputs, hidden layers, outputs
  int activation;              // see number
  int loss;
  int optimizer;
  bool has_dropout;
  bool has_decay;  // of weights
  int pitch;       // halves from row to row, the same for every matrix; 0: each its own
  int team;        // blocks of a cluster that share a batch and exchange gradients; 0: one block trains alone
  CrowdShape crowd = {};
  int duet = 0;  // bytes of shared memory where warpgroups divide the work: see DuetPlan; 0: they do not

  constexpr int hidden() const { return layers - 1; }
  constexpr bool scalar() const { return width[layers] == 1; }  // one output: a dot product, no matrix
  // The last layer whose deltas are a matrix in shared memory.
  constexpr int top() const { return scalar() ? hidden() : layers; }
  constexpr bool is_relu() const { return activation == number::relu; }
  // A loss of classes: rows whose class is predicted right are counted.
  constexpr bool counts_hits() const {
    return loss == number::cross_entropy || loss == number::binary_cross_entropy;
  }

  // Weight matrix `layer` is [depth, breadth], padded with zeros so that tensor cores see whole tiles. The
  // bias of the first layer is its row width[0], the input column of ones; the others have one of their own.
  constexpr int depth(int layer) const { return round_up(width[layer] + (layer == 0 ? 1 : 0), 16); }
  constexpr int breadth(int layer) const {
    return layer == hidden() && scalar() ? 1 : round_up(width[layer + 1], 16);
  }
  constexpr int columns(int layer) const { return breadth(layer) / 8; }  // tiles of 8
  // In the flat order: matrix 0, matrix 1, bias 1, matrix 2, bias 2 ... each begun at a multiple of 16.
  constexpr int matrix_at(int layer) const {
    int at = 0;
    for (int i = 0; i < layer; ++i)
      at += round_up(depth(i) * breadth(i), 16) + (i > 0 ? round_up(breadth(i), 16) : 0);
    return at;
  }
  constexpr int bias_at(int layer) const {
    return matrix_at(layer) + round_up(depth(layer) * breadth(layer), 16);
  }
  constexpr int parameters() const { return matrix_at(layers); }

  // Shared memory, in bytes. Rows are 8 halves longer than the matrix is wide, so that the eight rows that
  // ldmatrix reads at once fall into different banks. One pitch for all wastes memory and saves registers:
  // the lanes' parts of the addresses are then the same for every matrix.
  constexpr int widest() const {
    int most = depth(0);
    for (int i = 1; i <= layers; ++i) most = round_up(width[i], 16) > most ? round_up(width[i], 16) : most;
    return most;
  }
  constexpr int stride(int columns_) const { return pitch > 0 ? pitch : columns_ + 8; }
  constexpr int x_stride() const { return stride(depth(0)); }
  constexpr int a_stride(int layer) const { return stride(depth(layer)); }  // activations that enter `layer`
  constexpr int x_at() const { return 0; }
  constexpr int x_bytes() const { return rows * x_stride() * 2; }
  constexpr int target_at() const { return x_at() + stages * x_bytes(); }
  // Activations of hidden layer h enter matrix h; those of the first exist twice, since the next step's are
  // made while this step's are still read.
  constexpr int a_copies(int h) const { return h == 1 && team == 0 ? 2 : 1; }
  constexpr int a_bytes(int h) const { return rows * a_stride(h) * 2; }
  constexpr int factors_at() const { return target_at() + stages * rows * 8; }
  constexpr int a_at(int h) const {
    int at = factors_at() + stages * 16;
    for (int i = 1; i < h; ++i) at += a_copies(i) * a_bytes(i);
    return at;
  }
  // Slopes of the activations; ReLU's are read off the activation itself.
  constexpr int slope_at(int h) const {
    int at = a_at(layers);
    for (int i = 1; i < h && !is_relu(); ++i) at += a_copies(i) * a_bytes(i);
    return at;
  }
  // Deltas of layers 2 .. top; those of the first stay in registers.
  constexpr int d_stride(int h) const { return stride(round_up(width[h], 16)); }
  constexpr int d_at(int h) const {
    int at = slope_at(layers);
    for (int i = 2; i < h; ++i) at += rows * d_stride(i) * 2;
    return at;
  }
  // Matrices that lie in shared memory, from the first to before the last: a block alone keeps matrix 0 in
  // registers, and a single output's weights are no matrix.
  constexpr int first_matrix() const { return team == 0 ? 1 : 0; }
  constexpr int matrices() const { return scalar() ? hidden() : layers; }
  constexpr int w_stride(int layer) const { return stride(breadth(layer)); }
  constexpr int w_bytes(int layer) const { return depth(layer) * w_stride(layer) * 2; }
  // Alone, twice: the update writes one copy while the deltas still read the other.
  constexpr int w_copies() const { return team == 0 ? 2 : 1; }
  constexpr int w_at(int layer) const {
    int at = d_at(top() + 1);
    for (int i = first_matrix(); i < layer; ++i) at += w_copies() * w_bytes(i);
    return at;
  }
  // Biases, and the weights of a single output, with both moments behind them: too few for registers.
  constexpr int bias_bytes(int layer) const { return round_up(breadth(layer), 16) * 4; }
  constexpr int b_at(int layer) const {
    int at = w_at(matrices());
    for (int i = 1; i < layer; ++i) at += 3 * bias_bytes(i);
    return at;
  }
  constexpr int last() const { return round_up(width[hidden()], 16); }  // width of the last hidden layer
  constexpr int out_weights_at() const { return b_at(layers); }         // scalar: float [last]
  constexpr int out_delta_at() const {
    return out_weights_at() + (scalar() ? 3 * last() * 4 : 0);
  }  // scalar: half [rows, 8]
  constexpr int part_stride() const { return round_up(last() / 8, 4); }
  constexpr int part_at() const {
    return round_up(out_delta_at() + (scalar() ? rows * 16 : 0), 16);
  }  // scalar: float [rows, part_stride]
  constexpr int logit_stride() const { return round_up(width[layers], 16) + 4; }
  constexpr int logits_at() const { return part_at() + (scalar() ? rows * part_stride() * 4 : 0); }
  constexpr int sums_at() const {
    return round_up(logits_at() + (scalar() ? 0 : rows * logit_stride() * 4), 8);
  }
  constexpr int masks_at() const { return sums_at() + rows * 8; }

  // Tiles of 16 x 8 that a warp owns. First matrix: whole columns of tiles, warp w has columns w, w + 16 ...
  constexpr int first_tiles() const { return depth(0) / 16; }
  constexpr int first_columns() const { return divide_up(columns(0), warps); }
  // Others: `owned` neighbouring tiles in row-major order.
  constexpr int tiles(int layer) const { return depth(layer) / 16 * columns(layer); }
  constexpr int owned(int layer) const { return divide_up(tiles(layer), warps); }
  // Where they begin: among the warp's own, and at which warp. Matrices that need few warps share a place.
  struct Home {
    int tile;
    int warp;
  };
  constexpr Home home(int layer) const {
    Home at{first_tiles() * first_columns(), 0};
    for (int i = 1; i <= layer; ++i) {
      const bool is_small = i < matrices() && tiles(i) < warps;
      const bool fits = is_small && at.warp > 0 && at.warp + tiles(i) <= warps;
      if (at.warp > 0 && !fits) at = {at.tile + 1, 0};
      if (i == layer) break;
      at = is_small ? Home{at.tile, at.warp + tiles(i)} : Home{at.tile + owned(i), 0};
      if (at.warp >= warps) at = {at.tile + 1, 0};
    }
    return at;
  }
  constexpr int owned_at(int layer) const { return home(layer).tile; }
  constexpr int owned_tiles() const { return home(matrices()).tile; }
  // Bias columns (8 wide) of matrices 1 .. layers - 1 go round the warps.
  constexpr int bias_unit_at(int layer) const {
    int at = 0;
    for (int i = 1; i < layer; ++i) at += divide_up(breadth(i), 8);
    return at;
  }
  // Scalar: tiles of the last weights, 16 of them each, from the end of the warps.
  constexpr int out_slots() const { return scalar() ? divide_up(last() / 16, warps) : 0; }

  // Forward: a unit is a tile of 16 rows x 8 columns, or two beside each other where there are enough of
  // them: they share the operand that is read most. The last hidden layer before a single output has no
  // pairs.
  constexpr int pair_of(int h) const {
    const bool before_scalar = scalar() && h == hidden();
    return h >= 2 && !before_scalar && columns(h - 1) % 2 == 0 && 2 * columns(h - 1) >= warps ? 2 : 1;
  }
  constexpr int units(int h) const { return 2 * columns(h - 1) / pair_of(h); }
  // Tiles of a hidden layer that one warp makes.
  constexpr int forward_tiles(int h) const {
    return h == 1 ? 2 * first_columns() : pair_of(h) * divide_up(units(h), warps);
  }
  // Dropout decisions: four bits for each tile, eight tiles in a word, all layers after each other.
  constexpr int mask_tile_at(int h) const {
    int at = 0;
    for (int i = 1; i < h; ++i) at += forward_tiles(i);
    return at;
  }
  constexpr int mask_words() const { return has_dropout ? divide_up(mask_tile_at(layers), 8) : 0; }
  constexpr int solo_bytes() const { return masks_at() + 2 * mask_words() * threads * 4; }
  // A team's gradients lie in fours: a lane's part of a tile, tile after tile, then the vectors.
  constexpr int tile_first(int layer) const {
    int at = 0;
    for (int i = 0; i < layer; ++i) at += tiles(i);
    return at;
  }
  constexpr int vector_first(int layer) const {
    int at = tile_first(matrices()) * 32;
    for (int i = 1; i < layer; ++i) at += round_up(breadth(i), 16) / 4;
    return at;
  }
  constexpr int tile_fours() const { return tile_first(matrices()) * 32; }
  constexpr int vector_fours() const {
    return vector_first(layers) + (scalar() ? last() / 4 : 0) - tile_fours();
  }
  constexpr int share() const { return divide_up(tile_fours(), team == 0 ? 1 : team); }  // of a block
  constexpr int thread_share() const { return divide_up(share() + vector_fours(), threads); }
  // The gradients, the block's new weights (twice), its sum of squares and the sums of its warps.
  constexpr int gradients_at() const { return round_up(solo_bytes(), 16); }
  constexpr int outbox_at() const { return gradients_at() + (tile_fours() + vector_fours()) * 16; }
  constexpr int norms_at() const { return round_up(outbox_at() + 2 * share() * 8, 16); }
  constexpr int shared_bytes() const {
    if (crowd.blocks > 0) return crowd.memory;
    if (duet > 0) return duet;
    return team == 0 ? solo_bytes() : norms_at() + (4 + warps) * 4;
  }
  // The hidden layer whose forward pass leaves half of the warps free to look ahead; 0: there is none.
  constexpr int ahead_layer() const {
    for (int h = 2; h < (scalar() ? hidden() : layers); ++h)
      if (units(h) <= warps / 2) return h;
    return 0;
  }
  // Both leave the same half of the warps free: each then draws half of the dropout.
  constexpr bool draws_twice() const {
    return ahead_layer() != 0 && scalar() && units(ahead_layer()) == warps / 2 && busy_warps() == warps / 2;
  }
  // Warps that the last hidden layer and a single output's loss keep busy; the others look ahead then.
  constexpr int busy_warps() const {
    return hidden() == 1 || !scalar() || units(hidden()) > warps ? warps : units(hidden());
  }
};

}  // namespace stoker::fused
