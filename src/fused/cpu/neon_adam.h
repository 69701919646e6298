#pragma once

#if defined(__aarch64__)

#include "fused/cpu/step.h"
#include "fused/cpu/tiles.h"

// The loop that a step spends most of its time in, by hand for ARM: the sums of one tile of a weight
// gradient, with Adam's update of the tile before, and the
// transposing of the one before that, in between. Compilers find the instructions but not their
// order, and copy registers; by hand it is a tenth faster.
namespace stoker::fused_cpu {
namespace {

struct NeonAdam {
  const float* finished;  // a tile of weights to transpose
  float* transposed;      // to here, rows of 16
  float* weights;         // of the waiting tile
  float* first;
  float* second;
  const float* factors;  // 1 - beta1, 1 - beta2, rate, what is left of a weight; four times epsilon
};

constexpr std::int64_t neon_adam_rows = 32;  // two for each vector of the waiting tile

// Sums v0 … v15, row r of the tile in v4r … v4r+3; four factors in v20, one row of 16 deltas in v16 … v19.
// The first row is multiplied by fmul, the others by fmla.
// clang-format off
#define STOKER_SUM(op, d, a, b, c, e)             \
  #op " v" #a ".4s, v" #d ".4s, v20.s[0]\n\t"     \
  #op " v" #b ".4s, v" #d ".4s, v20.s[1]\n\t"     \
  #op " v" #c ".4s, v" #d ".4s, v20.s[2]\n\t"     \
  #op " v" #e ".4s, v" #d ".4s, v20.s[3]\n\t"
// clang-format on
#define STOKER_SUM_0(op) STOKER_SUM(op, 16, 0, 4, 8, 12)
#define STOKER_SUM_1(op) STOKER_SUM(op, 17, 1, 5, 9, 13)
#define STOKER_SUM_2(op) STOKER_SUM(op, 18, 2, 6, 10, 14)
#define STOKER_SUM_3(op) STOKER_SUM(op, 19, 3, 7, 11, 15)
#define STOKER_ROW                           \
  "ldr q20, [%[left]]\n\t"                   \
  "ldp q16, q17, [%[right]]\n\t"             \
  "ldp q18, q19, [%[right], #32]\n\t"        \
  "add %[left], %[left], %[left_stride]\n\t" \
  "add %[right], %[right], %[right_stride]\n\t"

// A column of the finished tile to a row of its transpose, past the vector units, which are busy.
#define STOKER_COLUMN                     \
  "ldr w9, [%[finished]]\n\t"             \
  "ldr w10, [%[finished], #64]\n\t"       \
  "ldr w11, [%[finished], #128]\n\t"      \
  "ldr w12, [%[finished], #192]\n\t"      \
  "add %[finished], %[finished], #4\n\t"  \
  "stp w9, w10, [%[transposed]]\n\t"      \
  "stp w11, w12, [%[transposed], #8]\n\t" \
  "add %[transposed], %[transposed], #64\n\t"
// Two rows, and a vector of the waiting tile: its moments to v`m` and memory, its divisor to v23. The vector
// before it, whose first moment is in v`before`, is divided and its weight written.
// clang-format off
#define STOKER_TWO_ROWS(op, m, end_divide, end_write)  \
  STOKER_ROW                                           \
  "ldr q26, [%[held]], #16\n\t"                        \
  "ldr q" #m ", [%[first]]\n\t"                        \
  STOKER_SUM_0(op)                                     \
  "ldr q28, [%[second]]\n\t"                           \
  "ldr q29, [%[second]]\n\t"                           \
  STOKER_COLUMN                                        \
  STOKER_SUM_1(op)                                     \
  end_divide                                           \
  "fsub v30.4s, v26.4s, v" #m ".4s\n\t"                \
  "fmls v29.4s, v26.4s, v26.4s\n\t"                    \
  STOKER_SUM_2(op)                                     \
  STOKER_SUM_3(op)                                     \
  "fmla v" #m ".4s, v30.4s, v22.s[0]\n\t"              \
  "fmls v28.4s, v29.4s, v22.s[1]\n\t"                  \
  STOKER_ROW                                           \
  STOKER_SUM_0(fmla)                                   \
  "str q" #m ", [%[first]], #16\n\t"                   \
  "str q28, [%[second]], #16\n\t"                      \
  "fsqrt v28.4s, v28.4s\n\t"                           \
  STOKER_SUM_1(fmla)                                   \
  end_write                                            \
  STOKER_SUM_2(fmla)                                   \
  STOKER_SUM_3(fmla)                                   \
  "fadd v23.4s, v28.4s, v21.4s\n\t"
// clang-format on
#define STOKER_DIVIDE(before) "fdiv v31.4s, v" #before ".4s, v23.4s\n\t"
#define STOKER_WRITE(decay)           \
  "ldr q25, [%[weights]]\n\t" decay   \
  "fmla v25.4s, v31.4s, v22.s[2]\n\t" \
  "str q25, [%[weights]], #16\n\t"

// clang-format off
#define STOKER_SUM_AND_UPDATE(write) \
  asm volatile( \
      "ldp q22, q21, [%[factors]]\n\t" \
      STOKER_TWO_ROWS(fmul, 24, "", "") \
      "1:\n\t" \
      STOKER_TWO_ROWS(fmla, 27, STOKER_DIVIDE(24), write) \
      STOKER_TWO_ROWS(fmla, 24, STOKER_DIVIDE(27), write) \
      "subs %[count], %[count], #1\n\t" \
      "b.ne 1b\n\t" \
      STOKER_TWO_ROWS(fmla, 27, STOKER_DIVIDE(24), write) \
      STOKER_DIVIDE(27) \
      "cbz %[rest], 3f\n\t" \
      "2:\n\t" \
      STOKER_ROW STOKER_SUM_0(fmla) STOKER_SUM_1(fmla) STOKER_SUM_2(fmla) STOKER_SUM_3(fmla) \
      "subs %[rest], %[rest], #1\n\t" \
      "b.ne 2b\n\t" \
      "3:\n\t" \
      "stp q0, q1, [%[sums]]\n\t stp q2, q3, [%[sums], #32]\n\t" \
      "stp q4, q5, [%[sums], #64]\n\t stp q6, q7, [%[sums], #96]\n\t" \
      "stp q8, q9, [%[sums], #128]\n\t stp q10, q11, [%[sums], #160]\n\t" \
      "stp q12, q13, [%[sums], #192]\n\t stp q14, q15, [%[sums], #224]\n\t" \
      write \
      : [left] "+&r"(left), [right] "+&r"(right), [held] "+&r"(gradients), [weights] "+&r"(adam.weights), \
        [first] "+&r"(adam.first), [second] "+&r"(adam.second), [count] "+&r"(count), [rest] "+&r"(rest), \
        [finished] "+&r"(adam.finished), [transposed] "+&r"(adam.transposed) \
      : [left_stride] "r"(4 * left_stride), [right_stride] "r"(4 * right_stride), [sums] "r"(held), \
        [factors] "r"(adam.factors) \
      : "memory", "cc", "x9", "x10", "x11", "x12", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", \
        "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", \
        "v27", "v28", "v29", "v30", "v31")
// clang-format on

// held: the waiting tile's gradients, replaced by the new tile's. At least 32 rows.
template <bool decays>
STOKER_INLINE void sum_tile_and_update(NeonAdam adam, const float* left, std::int64_t left_stride,
                                       const float* right, std::int64_t right_stride, std::int64_t rows,
                                       float* held) {
  std::int64_t count = 7;
  std::int64_t rest = rows - neon_adam_rows;
  const float* gradients = held;
  if constexpr (decays) {
    STOKER_SUM_AND_UPDATE(STOKER_WRITE("fmul v25.4s, v25.4s, v22.s[3]\n\t"));
  } else {
    STOKER_SUM_AND_UPDATE(STOKER_WRITE(""));
  }
}

// Adam's update of a vector without a root and a division, which have one slow unit: where few rows are
// summed up, nothing else would be done meanwhile. Two steps of Newton's method after an estimate of 8 bits
// leave an error of a few units in the last place.
struct QuickAdam {
  float32x4_t first_keep;
  float32x4_t second_take;
  float32x4_t rate;
  float32x4_t left;  // of a weight, after its decay
  float32x4_t epsilon;
};

STOKER_INLINE void update_quickly(const QuickAdam& adam, float32x4_t gradient, float* weights, float* first,
                                  float* second) {
  float32x4_t m = vld1q_f32(first);
  float32x4_t v = vld1q_f32(second);
  m = vfmaq_f32(m, vsubq_f32(gradient, m), adam.first_keep);
  v = vfmsq_f32(v, vfmsq_f32(v, gradient, gradient), adam.second_take);
  vst1q_f32(first, m);
  vst1q_f32(second, v);
  // The root of 0 would be 0 times infinity.
  const float32x4_t positive = vmaxq_f32(v, vdupq_n_f32(1.17549435e-38F));
  float32x4_t root = vrsqrteq_f32(positive);
  root = vmulq_f32(root, vrsqrtsq_f32(vmulq_f32(positive, root), root));
  root = vmulq_f32(root, vrsqrtsq_f32(vmulq_f32(positive, root), root));
  const float32x4_t divisor = vfmaq_f32(adam.epsilon, positive, root);
  float32x4_t inverse = vrecpeq_f32(divisor);
  inverse = vmulq_f32(inverse, vrecpsq_f32(divisor, inverse));
  inverse = vmulq_f32(inverse, vrecpsq_f32(divisor, inverse));
  const float32x4_t kept_weight = vmulq_f32(vld1q_f32(weights), adam.left);
  vst1q_f32(weights, vfmaq_f32(kept_weight, vmulq_f32(m, inverse), adam.rate));
}

#undef STOKER_SUM_AND_UPDATE
#undef STOKER_WRITE
#undef STOKER_DIVIDE
#undef STOKER_COLUMN
#undef STOKER_TWO_ROWS
#undef STOKER_ROW
#undef STOKER_SUM_3
#undef STOKER_SUM_2
#undef STOKER_SUM_1
#undef STOKER_SUM_0
#undef STOKER_SUM

}  // namespace
}  // namespace stoker::fused_cpu

#endif
