#pragma once

// Weights from the flat array of parameters to fragments in the order in which a pass takes them.
namespace stoker::fused::sequence {

enum PackOrder : int {
  by_step,       // [k][m]
  by_half,       // [step][half][m]: k = half * steps + step
  by_head,       // [k][head][query, key, value]
  by_gate_tile,  // [tile][warp][k], rows as gate_row() of lstm_layer.cuh
  by_gate_warp,  // [warp][tile][k], the same rows
  by_tile,       // [m][k]
};

struct PackedMatrix {
  int offset;   // in the flat array
  int pitch;    // of its rows there
  int m_tiles;  // of the left factor, 16 x 16 each
  int k_tiles;
  int m, k;         // elements that there are
  bool transposed;  // the left factor is the matrix transposed
  int order;
  long long first;  // fragment in the stream
};

struct PackWork {
  const float* parameters;
  void* stream;
  const PackedMatrix* matrices;
  int count;
};

}  // namespace stoker::fused::sequence
