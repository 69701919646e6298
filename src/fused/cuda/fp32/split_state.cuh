#pragma once

#include "fused/cuda/fp32/optimizers.cuh"
#include "fused/cuda/fp32/split_layout.h"

namespace stoker::fused {

// Where a parameter lies: in each copy in shared memory, and among all in device memory.
struct Spot {
  int shared;
  int flat;
};

// Neighbours that are read and written in one go.
template <int Count>
struct alignas(4 * Count) Floats {
  float of[Count];
};
template <int Count>
struct Weights {
  Floats<Count> w;
  Floats<Count> m;
  Floats<Count> v;
};

// What becomes of the gradients of a pass.
struct GradientUse {
  bool adds;     // to those of the passes before
  bool updates;  // weights, at once; else they are kept
  float factor;  // of all of them
};

// The parameters of the block's model, their moments and gradients: in shared memory what there is room for,
// the rest in device memory, which the second cache holds.
template <bool WeightsHere, bool MomentsHere>
struct SplitState {
  const Plan& plan;
  const SplitLayout& layout;
  const PlainWork& work;
  float* shared;

  __device__ bool has_second() const { return plan.optimizer != number::sgd; }

  __device__ Spot matrix_spot(const SplitLayer& layer, int row, int column) const {
    return {layer.matrix_at + row * layer.matrix_stride + (column ^ SplitLayout::turn_of_row(row)),
            layer.flat_at + row * layer.breadth + column};
  }
  __device__ const float* weights_at(int in_shared, int flat) const {
    return WeightsHere ? shared + layout.weights_at + in_shared : work.model.parameters + flat;
  }

  template <int Count>
  __device__ Floats<Count>* weights(Spot spot) const {
    return reinterpret_cast<Floats<Count>*>(WeightsHere ? shared + layout.weights_at + spot.shared
                                                        : work.model.parameters + spot.flat);
  }
  template <int Count>
  __device__ Floats<Count>* first_moments(Spot spot) const {
    return reinterpret_cast<Floats<Count>*>(MomentsHere ? shared + layout.moments_at + spot.shared
                                                        : work.model.first_moment + spot.flat);
  }
  template <int Count>
  __device__ Floats<Count>* second_moments(Spot spot) const {
    return reinterpret_cast<Floats<Count>*>(MomentsHere ? shared + layout.moments_at + layout.copy_floats +
                                                              spot.shared
                                                        : work.model.second_moment + spot.flat);
  }
  template <int Count>
  __device__ Floats<Count>* gradients(Spot spot) const {
    return reinterpret_cast<Floats<Count>*>(layout.has_gradients ? shared + layout.gradients_at + spot.shared
                                                                 : work.gradients + spot.flat);
  }

  template <int Count>
  __device__ Weights<Count> read(Spot spot) const {
    Weights<Count> all{};
    all.w = *weights<Count>(spot);
    all.m = *first_moments<Count>(spot);
    if (has_second()) all.v = *second_moments<Count>(spot);
    return all;
  }

  template <int Count>
  __device__ void improve(Spot spot, Weights<Count>& all, const Floats<Count>& gradient, float factor,
                          const UpdateFactors& factors) const {
#pragma unroll
    for (int i = 0; i < Count; ++i)
      update<true>(plan.optimizer, all.w.of[i], all.m.of[i], all.v.of[i], gradient.of[i] * factor, factors);
    *weights<Count>(spot) = all.w;
    *first_moments<Count>(spot) = all.m;
    if (has_second()) *second_moments<Count>(spot) = all.v;
  }

  // `all`: what was read early, where the gradient leads to an update at once. Gives the sum of squares.
  template <int Count>
  __device__ float take(Spot spot, Floats<Count> gradient, Weights<Count>& all, const GradientUse& use,
                        const UpdateFactors& factors) const {
    if (use.adds) {
      const Floats<Count> before = *gradients<Count>(spot);
#pragma unroll
      for (int i = 0; i < Count; ++i) gradient.of[i] += before.of[i];
    }
    if (use.updates) {
      improve(spot, all, gradient, use.factor, factors);
      return 0;
    }
    *gradients<Count>(spot) = gradient;
    float squares = 0;
#pragma unroll
    for (int i = 0; i < Count; ++i) squares = fmaf(gradient.of[i], gradient.of[i], squares);
    return squares;
  }

  // Copies what lies in shared memory from device memory or back.
  template <bool Back>
  __device__ void copy_all(int thread) const {
    for (int i = 0; i < layout.layers; ++i) {
      const SplitLayer& layer = layout.layer[i];
      if (layer.breadth == 1) {
        copy_vector<Back>(layer.matrix_at, layer.flat_at, layer.depth, thread);
      } else {
#pragma unroll 1
        for (int at = 4 * thread; at < layer.depth * layer.breadth; at += 4 * threads)
          copy_four<Back>(matrix_spot(layer, at / layer.breadth, at % layer.breadth));
      }
      if (i > 0) copy_vector<Back>(layer.bias_at, layer.flat_bias_at, round_up(layer.breadth, 16), thread);
    }
  }

 private:
  template <bool Back>
  __device__ void copy_vector(int in_shared, int flat, int count, int thread) const {
#pragma unroll 1
    for (int at = 4 * thread; at < count; at += 4 * threads) copy_four<Back>(Spot{in_shared + at, flat + at});
  }

  template <bool Back>
  __device__ void copy_four(Spot spot) const {
    if (WeightsHere) copy<Back>(weights<4>(spot), work.model.parameters + spot.flat);
    if (MomentsHere) copy<Back>(first_moments<4>(spot), work.model.first_moment + spot.flat);
    if (MomentsHere && has_second())
      copy<Back>(second_moments<4>(spot), work.model.second_moment + spot.flat);
  }

  template <bool Back>
  __device__ static void copy(Floats<4>* here, float* there) {
    if (Back) {
      *reinterpret_cast<Floats<4>*>(there) = *here;
    } else {
      *here = *reinterpret_cast<const Floats<4>*>(there);
    }
  }
};

}  // namespace stoker::fused
