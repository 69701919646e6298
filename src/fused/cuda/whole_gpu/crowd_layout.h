#pragma once

#include "fused/cuda/plan.h"

// How a network too large for one multiprocessor lies over all of them: see crowd.cuh. Like Plan, constexpr
// functions that the host and the kernel share.
namespace stoker::fused {

struct CrowdLayout {
  Plan plan;

  // ---- shapes
  constexpr int blocks() const { return plan.crowd.blocks; }
  constexpr int tiles() const { return plan.crowd.tiles; }  // of 16 rows, that hold the batch
  constexpr int batch_rows() const { return 16 * tiles(); }
  // Too many rows for a gradient to have all of them in registers; it then takes stretches of tiles.
  constexpr bool is_large() const { return tiles() > 8; }
  constexpr int stretch() const { return divide_up(tiles(), divide_up(tiles(), 8)); }
  constexpr int hidden() const { return plan.hidden(); }
  constexpr bool scalar() const { return plan.scalar(); }
  // A slab is 8 neighbouring units of a hidden layer, with all weights that enter them. Slabs are dealt to
  // the blocks in turn; `deal` is the most that one gets.
  constexpr int slabs(int h) const { return divide_up(plan.width[h], 8); }
  constexpr int deal(int h) const { return divide_up(slabs(h), blocks()); }
  // A chunk is 32 neighbouring inputs of matrix `layer`: what one warp multiplies at a time.
  constexpr int chunks(int layer) const { return divide_up(plan.depth(layer), 32); }
  // Slabs that an exchanged matrix has room for: whole chunks of them. Those behind the last stay zero.
  constexpr int places(int h) const { return 4 * chunks(h); }
  constexpr int class_slabs() const { return scalar() ? 0 : divide_up(plan.width[plan.layers], 8); }
  constexpr int outputs() const { return scalar() ? 1 : 8 * class_slabs(); }
  // The activations of the last layer before a single output never leave their block.
  constexpr bool is_exchanged(int h) const { return h < hidden() || !scalar(); }

  // ---- how the warps share a product over `count` chunks: `across` of them split the chunks, in `ways`
  // groups that split the rows
  constexpr int ways(int count) const {
    const int few_chunks = count < warps ? warps / count : 1, many_rows = divide_up(tiles(), 4);
    const int wanted = few_chunks > many_rows ? few_chunks : many_rows;
    return wanted < tiles() ? wanted : tiles();
  }
  constexpr int across(int count) const { return count < warps / ways(count) ? count : warps / ways(count); }
  constexpr int way_tiles(int count) const { return divide_up(tiles(), ways(count)); }
  // Lanes that add up one pair of the products' parts.
  constexpr int shares() const { return tiles() == 1 ? 8 : tiles() == 2 ? 4 : tiles() <= 4 ? 2 : 1; }

  // Inputs of a layer's gradient are fetched ahead where their words fit a thread's registers.
  static constexpr int most_ahead = 8;  // of 16 bytes
  constexpr int rounds_ahead(int h) const {
    const int rounds = divide_up(chunks(h - 1), warps);
    return deal(h) == 1 && rounds * tiles() * 2 <= most_ahead ? rounds : 0;
  }

  // ---- vectors: biases of layers 2 and up, the weights of the output, its bias; four arrays of them in
  // shared memory: values, both moments, gradients
  constexpr int bias_first(int h) const {
    int at = 0;
    for (int i = 2; i < h; ++i) at += 8 * deal(i);
    return at;
  }
  constexpr int out_first() const { return bias_first(hidden() + 1); }
  constexpr int out_bias_first() const { return out_first() + 8 * deal(hidden()) * outputs(); }
  constexpr int vectors() const { return round_up(out_bias_first() + outputs(), 4); }

  // ---- shared memory of a block, in bytes
  constexpr int vectors_at() const { return 0; }
  constexpr int part_stride() const {
    return batch_rows() * 8 + 8;
  }  // floats; no two parts on the same banks
  constexpr int parts_at() const { return vectors_at() + 16 * vectors(); }
  constexpr int most_across() const {
    int most = 1;
    for (int i = 0; i <= hidden(); ++i) most = across(chunks(i)) > most ? across(chunks(i)) : most;
    return most;
  }
  constexpr int logit_part_stride() const { return 16 * 8 + 8; }
  constexpr int parts_bytes() const {
    const int products = most_across() * part_stride() * 4;
    const int least = is_large() && !scalar() ? warps * logit_part_stride() * 4 : threads * 4;
    return products > least ? products : least;
  }
  // Logits, then their slopes; one float a row for a single output.
  constexpr int slopes_at() const { return parts_at() + parts_bytes(); }
  constexpr int slope_stride() const { return outputs() + (is_large() && !scalar() ? 4 : 0); }
  constexpr int targets_at() const { return slopes_at() + batch_rows() * slope_stride() * 4; }
  constexpr int losses_at() const { return targets_at() + batch_rows() * 8; }
  constexpr int sums_at() const { return losses_at() + batch_rows() * 4; }
  // The block's own slabs of each hidden layer, fp16 [deal, rows, 8]: activations, slopes, deltas.
  constexpr int own_bytes(int h) const { return deal(h) * batch_rows() * 16; }
  constexpr int own_values_at(int h) const {
    int at = round_up(sums_at() + warps * 4, 16);
    for (int i = 1; i < h; ++i) at += own_bytes(i);
    return at;
  }
  constexpr int own_slopes_at(int h) const {
    int at = own_values_at(hidden() + 1);
    for (int i = 1; i < h && !plan.is_relu(); ++i) at += own_bytes(i);
    return at;
  }
  // Deltas are read no more when those of the next layer are made: large ones share a place.
  constexpr int own_deltas_at(int h) const {
    int at = own_slopes_at(hidden() + 1);
    for (int i = 1; i < h && !is_large(); ++i) at += own_bytes(i);
    return at;
  }
  constexpr int own_end() const {
    if (!is_large()) return own_deltas_at(hidden() + 1);
    int most = 0;
    for (int h = 1; h <= hidden(); ++h) most = own_bytes(h) > most ? own_bytes(h) : most;
    return own_deltas_at(1) + most;
  }
  // The forward product takes the slabs' weights out of their fp32 array where that fits; otherwise from a
  // copy of its own, fp16: 16 bytes of each lane for each chunk.
  constexpr bool has_operands() const {
    int bytes = own_end();
    for (int i = 0; i < hidden(); ++i) bytes += state_bytes(i);
    return bytes > plan.crowd.memory;
  }
  constexpr int operands_at(int layer) const {
    int at = own_end();
    for (int i = 0; i < layer && has_operands(); ++i) at += deal(i + 1) * chunks(i) * 512;
    return at;
  }
  // Weights and moments in fp32, as many as fit: array 0 has the weights, 1 and 2 the moments. The others
  // stay in device memory, where nobody else touches them: -1.
  constexpr int arrays() const { return plan.optimizer == number::sgd ? 2 : 3; }
  constexpr int state_bytes(int layer) const { return deal(layer + 1) * chunks(layer) * 1024; }
  constexpr int needed_bytes() const { return operands_at(hidden()); }
  constexpr int state_at(int layer, int array) const {
    int at = needed_bytes();
    for (int k = 0; k < arrays(); ++k) {
      for (int i = 0; i < hidden(); ++i) {
        const bool fits = at + state_bytes(i) <= plan.crowd.memory;
        if (i == layer && k == array) return fits ? at : -1;
        if (fits) at += state_bytes(i);
      }
    }
    return -1;
  }

  // ---- device memory that the blocks exchange, in bytes. All of it exists twice, for even and odd steps;
  // rows of the table four times, since they are laid out a step ahead.
  constexpr int values_bytes(int h) const { return places(h) * batch_rows() * 16; }
  constexpr int values_at(int h) const {
    int at = 0;
    for (int i = 1; i < h; ++i) at += values_bytes(i);
    return at;
  }
  constexpr int deltas_at(int h) const { return values_at(hidden() + 1) + values_at(h); }
  // Matrix `layer` for the deltas, fp16 [slabs of inputs, slabs of units, 8 inputs, 8 units].
  constexpr int matrix_bytes(int layer) const { return places(layer) * places(layer + 1) * 128; }
  constexpr int matrix_at(int layer) const {
    int at = deltas_at(hidden() + 1);
    for (int i = 1; i < layer; ++i) at += matrix_bytes(i);
    return at;
  }
  // The last matrix for the logits, fp16 [slabs of classes, slabs of units, 8 classes, 8 units].
  constexpr int out_matrix_at() const { return matrix_at(hidden()); }
  // A single output's parts, [blocks, rows], and the blocks' sums of squared gradients.
  constexpr int out_parts_at() const { return out_matrix_at() + class_slabs() * places(hidden()) * 128; }
  constexpr int norms_at() const { return out_parts_at() + (scalar() ? blocks() * batch_rows() * 4 : 0); }
  // A large batch's logits, [rows, outputs].
  constexpr int logits_at() const { return round_up(norms_at() + blocks() * 4, 128); }
  constexpr int one_bytes() const {
    return round_up(logits_at() + (is_large() && !scalar() ? batch_rows() * outputs() * 4 : 0), 128);
  }
  constexpr int rows_at() const { return 2 * one_bytes(); }
  constexpr int rows_bytes() const { return places(0) * batch_rows() * 16; }
  // Gradients that wait for their norm, each block's own.
  constexpr int gradients_at() const { return rows_at() + 4 * rows_bytes(); }
  constexpr int gradients_of(int layer) const {
    int at = 0;
    for (int i = 0; i < layer; ++i) at += state_bytes(i);
    return at;
  }
  constexpr long long exchange_bytes() const {
    return gradients_at() +
           (plan.crowd.clips ? static_cast<long long>(blocks()) * gradients_of(hidden()) : 0LL);
  }
};

}  // namespace stoker::fused
