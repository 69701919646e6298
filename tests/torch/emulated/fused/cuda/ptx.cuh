#pragma once

#include "torch/emulated/gpu.h"

// Instructions of src/fused/cuda/ptx.cuh that these kernels use, as the manual of PTX has them.
namespace stoker::fused {

using Word = std::uint32_t;

inline Word shared_address(const void* pointer) {
  auto& cluster = emulated::Cluster::now();
  return static_cast<Word>(static_cast<const char*>(pointer) - cluster.memory(cluster.block()));
}

struct LoadedMatrices {
  Word address;
  bool is_transposed;
  Word* out;
};
// Lanes 8 i to 8 i + 7 give the rows of matrix i; lane l gets two numbers of row l / 4 of each, or of column
// l / 4.
inline void load_together(LoadedMatrices* const (&all)[32]) {
  auto& cluster = emulated::Cluster::now();
  const int block = cluster.block();
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      std::uint16_t halves[2];
      for (int k = 0; k < 2; ++k) {
        const int row = all[lane]->is_transposed ? lane % 4 * 2 + k : lane / 4;
        const int column = all[lane]->is_transposed ? lane / 4 : lane % 4 * 2 + k;
        const Word address = all[8 * i + row]->address;
        if (address % 16 != 0) throw std::logic_error("a row of a matrix is not aligned to 16 bytes");
        std::memcpy(&halves[k], cluster.at(address, 16, block) + 2 * column, 2);
      }
      all[lane]->out[i] = halves[0] | static_cast<Word>(halves[1]) << 16;
    }
  }
}
inline void load_matrices(Word (&out)[4], Word address) {
  LoadedMatrices mine{address, false, out};
  emulated::with_warp<LoadedMatrices, load_together>(mine);
}
inline void load_transposed(Word (&out)[4], Word address) {
  LoadedMatrices mine{address, true, out};
  emulated::with_warp<LoadedMatrices, load_together>(mine);
}

struct Transposed {
  Word matrix;
  Word out;
};
inline void transpose_together(Transposed* const (&all)[32]) {
  for (int lane = 0; lane < 32; ++lane) {
    all[lane]->out = 0;
    for (int k = 0; k < 2; ++k) {
      const int row = lane % 4 * 2 + k, column = lane / 4;
      all[lane]->out |= (all[row * 4 + column / 2]->matrix >> (16 * (column % 2)) & 0xffffU) << (16 * k);
    }
  }
}
inline Word transpose(Word matrix) {
  Transposed mine{matrix, 0};
  emulated::with_warp<Transposed, transpose_together>(mine);
  return mine.out;
}

template <int Depth>
struct Multiplied {
  float* c;
  const Word* a;
  Word b[2];
};
// Groups and pairs of lanes as the manual's figures of m16n8k16 and m16n8k8 show them.
template <int Depth>
void multiply_together(Multiplied<Depth>* const (&all)[32]) {
  float a[16][Depth], b[Depth][8];
  for (int lane = 0; lane < 32; ++lane) {
    const int group = lane / 4, pair = lane % 4;
    for (int i = 0; i < Depth / 4; ++i)
      for (int k = 0; k < 2; ++k)
        a[group + i % 2 * 8][2 * pair + i / 2 * 8 + k] = emulated::half_of(all[lane]->a[i], k);
    for (int i = 0; i < Depth / 8; ++i)
      for (int k = 0; k < 2; ++k) b[2 * pair + 8 * i + k][group] = emulated::half_of(all[lane]->b[i], k);
  }
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      float sum = 0;
      for (int k = 0; k < Depth; ++k) sum += a[row][k] * b[k][column];
      all[lane]->c[i] += sum;
    }
  }
}
inline void multiply_add(float (&c)[4], const Word (&a)[4], Word b0, Word b1) {
  Multiplied<16> mine{c, a, {b0, b1}};
  emulated::with_warp<Multiplied<16>, multiply_together<16>>(mine);
}

// TF32: the upper 19 bits of a float, to the nearest, to even where two are as near.
inline Word as_tf32(float value) {
  const Word bits = __float_as_uint(value);
  return value == value ? (bits + 0xfffU + (bits >> 13 & 1U)) & 0xffffe000U : bits;
}
inline Word cut_to_tf32(float value) {
  return __float_as_uint(value) & 0xffffe000U;
}
struct MultipliedTf32 {
  float* c;
  const Word* a;
  const Word* b;
};
// As the manual's figure of m16n8k8 with .tf32 shows it. What is no TF32 number is a mistake of the kernel's.
inline float tf32_value(Word bits) {
  if ((bits & 0x1fffU) != 0 && __uint_as_float(bits) == __uint_as_float(bits))
    throw std::logic_error("an operand has more bits than TF32");
  return __uint_as_float(bits);
}
inline void multiply_tf32_together(MultipliedTf32* const (&all)[32]) {
  float a[16][8], b[8][8];
  for (int lane = 0; lane < 32; ++lane) {
    const int group = lane / 4, member = lane % 4;
    for (int i = 0; i < 4; ++i) a[group + i % 2 * 8][member + i / 2 * 4] = tf32_value(all[lane]->a[i]);
    for (int i = 0; i < 2; ++i) b[member + 4 * i][group] = tf32_value(all[lane]->b[i]);
  }
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      float sum = 0;
      for (int k = 0; k < 8; ++k) sum += a[row][k] * b[k][column];
      all[lane]->c[i] += sum;
    }
  }
}
inline void multiply_add(float (&c)[4], const Word (&a)[4], const Word (&b)[2]) {
  MultipliedTf32 mine{c, a, b};
  emulated::with_warp<MultipliedTf32, multiply_tf32_together>(mine);
}
inline float flushed_root(float x) {
  return std::sqrt(x);
}
inline float flushed_inverse(float x) {
  return 1.0F / x;
}
inline float quick_root(float x) {
  return std::sqrt(x);
}

inline Word pack(float low, float high) {
  return emulated::to_half(low) | static_cast<Word>(emulated::to_half(high)) << 16;
}
inline float low_half(Word pair) {
  return emulated::half_of(pair, 0);
}
inline float high_half(Word pair) {
  return emulated::half_of(pair, 1);
}

inline float4 load_from_block(Word address, int rank) {
  float4 out;
  std::memcpy(&out, emulated::Cluster::now().at(address, 16, rank), 16);
  return out;
}
inline uint2 load_pair_from_block(Word address, int rank) {
  uint2 out;
  std::memcpy(&out, emulated::Cluster::now().at(address, 8, rank), 8);
  return out;
}
inline void wait_for_cluster() {
  emulated::Cluster::now().meet(emulated::Meets::cluster);
}

}  // namespace stoker::fused
