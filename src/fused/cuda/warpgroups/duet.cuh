#pragma once

#include "base/random.h"
#include "fused/cuda/math.cuh"
#include "fused/cuda/warpgroups/duet_plan.h"
#include "fused/cuda/warpgroups/wgmma.cuh"
#include "fused/cuda/work.h"

// The same training as solo.cuh, in a block whose four warpgroups have different work (sm_90a, three hidden
// layers, one output). Groups 0 and 1 carry the batch through the network, groups 2 and 3 keep the second
// matrix, which has most of the weights, and draw dropout while they wait:
//
//   group 0:  forward 2            | forward 3, loss, deltas 3 and 2 | delta 1, update 1, next forward 1 |
//   group 1:  update 3, the output | rows of steps to come           | the same, for its half of layer 1 |
//   2 and 3:  the next step's dropout                                | update 2                          |
//
// Matrix 3 and what belongs to the output are updated when the next step has begun: nobody needs them before
// forward 3, and there is time then. What is read while its successor is written exists twice.
//
// Everything stands on its side, [units, rows of the batch]: four warps multiply 64 rows at least, and a
// batch has 32. Products by four warps read shared memory once for all of them, which is what bounds the
// kernel in solo.cuh. From forward 3 to delta 2 each warp of group 0 has eight rows of the batch for itself
// and waits for nobody. Whoever stores operands for such a product shows them to it before the barrier.
namespace stoker::fused {

template <class Net>
struct Duet {
  static constexpr Plan P = Net::plan;
  static constexpr DuetPlan D{P};
  static_assert(D.fits() && D.shared_bytes() == P.duet);
  static constexpr bool has_second = P.optimizer != number::sgd;

  const ModelWork& work;
  char* const shared;
  const Word base = shared_address(shared);
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = __shfl_sync(~0U, thread >> 5, 0);
  const int party = warp >> 2;   // warpgroup
  const int quarter = warp & 3;  // warp of the warpgroup
  const int lane = thread & 31;
  const int group = lane >> 2;      // row of a tile
  const int pair = 2 * (lane & 3);  // first of two columns of a tile
  Factors factors;
  const float dropout_scale = work.dropout_scale;

  __device__ __forceinline__ Duet(const ModelWork& of, char* memory) : work(of), shared(memory) {
    factors.beta1 = work.beta1;
    // Not a uniform register, of which an instruction reads one at most: epsilon is one already.
    factors.beta2 = __shfl_sync(~0U, work.beta2, lane);
    factors.epsilon = work.epsilon;
    factors.decay = work.weight_decay;
    factors.unscale = work.unscale;
  }

  // ---- where things lie
  __device__ __forceinline__ float* floats(int at) const { return reinterpret_cast<float*>(shared + at); }
  __device__ __forceinline__ Word x_at(int step) const {
    return base + D.x_at() + (step & (D.places - 1)) * D.x_bytes();
  }
  __device__ __forceinline__ Word a1_at(int step) const {
    return base + D.a1_at() + (step & 1) * D.a1_bytes();
  }
  __device__ __forceinline__ Word w2_at(int step) const {
    return base + D.w2_at() + (step & 1) * D.w2_bytes();
  }
  __device__ __forceinline__ Word a2_at(int step) const {
    return base + D.a2_at() + (step & 1) * D.a2_bytes();
  }
  __device__ __forceinline__ RowTarget* targets(int step) const {
    return reinterpret_cast<RowTarget*>(shared + D.target_at()) + (step & (D.places - 1)) * rows;
  }
  __device__ __forceinline__ StepFactors& step_factors(int step) const {
    return reinterpret_cast<StepFactors*>(shared + D.factors_at())[step & (D.places - 1)];
  }
  template <int H>
  __device__ __forceinline__ Word* masks(int step) const {
    return reinterpret_cast<Word*>(shared + D.masks_at()) + (step & 1) * D.mask_words() + D.mask_at(H);
  }
  // This lane's row of one of four blocks: two below each other and two beside (the first four lanes' eights
  // go down), or four in a column.
  template <int Down>
  __device__ __forceinline__ Word down_first() const {
    return (lane >> 3 & 1) * Down + (lane >> 4) * 128 + (lane & 7) * 16;
  }
  template <int Down>
  __device__ __forceinline__ Word across_first() const {
    return (lane >> 4) * Down + (lane >> 3 & 1) * 128 + (lane & 7) * 16;
  }
  template <int Down>
  __device__ __forceinline__ Word column() const {
    return (lane >> 3) * Down + (lane & 7) * 16;
  }

  __device__ __forceinline__ void take_factors(int step) {
    const StepFactors& of = step_factors(step);
    factors.rate = of.rate;
    factors.keep = of.keep;
  }

  // Before the next barrier, and not where the compiler, which sees a loop here, would rather have it.
  template <class Work>
  __device__ __forceinline__ void at_once(Work&& act) const {
#pragma unroll 1
    for (int i = 0; i < work.passes; ++i) act();
  }

  // ---- weights: pieces of 64 x 16, as a product leaves their gradients
  template <int Count>
  struct Pieces {
    float w[Count][8], m[Count][8], v[has_second ? Count : 1][8];
  };
  template <int Count>
  __device__ __forceinline__ void prepare_piece(Pieces<Count>& of, int number) const;
  template <int Count>
  __device__ __forceinline__ void update_piece(Pieces<Count>& of, int number, const float (&gradient)[8],
                                               float scale = 1.0F) const;
  // As an operand in registers: [64 x 16] halves.
  __device__ __forceinline__ static void as_operand(Word (&to)[4], const float (&from)[8],
                                                    float scale = 1.0F);
  template <int Down>
  __device__ __forceinline__ void store_piece(Word to, const float (&from)[8]) const;
  // place(row, column): where a weight lies in the flat order; -1: it is padding.
  template <int Count, class Place>
  __device__ __forceinline__ void load_piece(Pieces<Count>& of, int number, Place&& place) const;
  template <int Count, class Place>
  __device__ __forceinline__ void save_piece(const Pieces<Count>& of, int number, Place&& place) const;
  // Where weight [from, to] of a matrix lies.
  template <int L>
  __device__ __forceinline__ static int flat(int from, int to) {
    return from < P.depth(L) && to < P.breadth(L) ? P.matrix_at(L) + from * P.breadth(L) + to : -1;
  }

  // ---- vectors: biases and the weights of the output. A warp keeps sixteen of them, two for each group of
  // four lanes, with their moments; shared memory has copies for whoever reads them.
  struct Vector {
    float w[2], m[2], v[2];
  };
  // Sixteen units' activations or deltas, times a column that is the same for all of them: sums over the
  // batch of row `group` and of row `group + 8`.
  __device__ __forceinline__ float2 sums_over_batch(Word units, const Word (&column_of)[4]) const;
  __device__ __forceinline__ void show_vector(const Vector& of, int at) const;
  __device__ __forceinline__ void update_vector(Vector& of, float2 gradients) const;
  // The flat vector from `from` on has `count` elements, of which this warp's begin at `first`.
  __device__ __forceinline__ void load_vector(Vector& of, int from, int first, int count) const;
  __device__ __forceinline__ void save_vector(const Vector& of, int from, int first, int count) const;

  // ---- activations, two rows of the batch at a time
  // ReLU lets a factor through: dropout's goes where it costs least, to weights and to gradients.
  static constexpr bool scales_late = P.is_relu() && P.has_dropout;
  __device__ __forceinline__ float late_scale() const {
    return scales_late ? dropout_scale : 1.0F;
  }
  // Which halves of a pair stay: a unit's word of dropout, its bits moved to where signs() finds them.
  template <int H>
  __device__ __forceinline__ Word mask_of(int unit, int step) const;
  template <int Eight>
  __device__ __forceinline__ static Word kept(Word mask) {
    return P.has_dropout ? signs<0xcc88 + Eight * 0x1111>(mask << 1, mask) : mask;
  }
  // Of 32 rows of the batch and two units, pair by pair.
  __device__ __forceinline__ static void keep_of_rows(Word (&keep)[8], Word one, Word other) {
    keep[0] = kept<0>(one), keep[2] = kept<1>(one), keep[4] = kept<2>(one), keep[6] = kept<3>(one);
    keep[1] = kept<0>(other), keep[3] = kept<1>(other), keep[5] = kept<2>(other), keep[7] = kept<3>(other);
  }
  struct Pair {
    Word values;
    Word slopes;  // ReLU: all bits or none
  };
  __device__ __forceinline__ Pair activated(float one, float other, Word keep) const;
  // Deltas through an activation.
  __device__ __forceinline__ static Word returned(float one, float other, Word slopes);

  // ---- layer 1, by groups 0 and 1: 64 units each
  struct First {
    Pieces<D.input_tiles()> weights;
    Word slopes[8];
  };
  template <int Party>
  __device__ __forceinline__ int first_unit() const {
    return Party * DuetPlan::tall + quarter * 16 + group;
  }
  template <int Party>
  static constexpr bool has_first = Party < D.first_blocks();
  template <int Party>
  __device__ __forceinline__ static int first_flat(int k, int row, int column) {
    return flat<0>(k * 16 + column, Party * DuetPlan::tall + row);
  }
  template <int Party>
  __device__ __forceinline__ void forward_first(First& first, int step) const;
  template <int Party>
  __device__ __forceinline__ void backward_first(First& first, int step) const;
  template <int Party>
  __device__ __forceinline__ void prepare_first(First& first) const;
  template <int Party>
  __device__ __forceinline__ void load_first(First& first) const;
  template <int Party>
  __device__ __forceinline__ void save_first(const First& first) const;

  // ---- who waits for whom
  static constexpr int everyone = threads, four_warps = 128;
  // Activations 1 and matrix 2 are ready: group 0 waits. Activations 2, matrix 3 and what
  // belongs to the output: group 0 waits. Deltas 2, and the next dropout: all wait; group 1, which nobody
  // needs then, has a barrier of its own.
  static constexpr int ready_to_go = 1, second_done = 2, deltas_done = 3, deltas_there = 4;

  // ---- group 0
  __device__ __forceinline__ void update_second_bias(Vector& bias) const;
  __device__ __forceinline__ void forward_second(First& first, Vector& second_bias, int step);
  // From layer 3 on a warp has eight rows of the batch for itself, and a lane two of them: what it knows and
  // finds out about them, and what it needs for the way back to layer 2.
  static constexpr int tiles3 = D.third_tiles();
  struct Eight {
    float4 wanted;  // target and weight of both
    float per_row;
    Word keep[tiles3][2];
    Pair made[tiles3][2];
    float of[tiles3][2];  // weights of the output
    float loss[2];
    bool hits[2];
    float down[2];  // the output's deltas
  };
  struct Return {
    Word layer_2[2][4];  // activations, or their slopes
    Word w3[tiles3][4][4];
  };
  __device__ __forceinline__ int eight_row() const {
    return quarter * 8 + pair;
  }
  __device__ __forceinline__ void look_at_rows(Eight& eight, int step) const;
  __device__ __forceinline__ void forward_third(float (&c)[tiles3][4], int step) const;
  __device__ __forceinline__ void prepare_return(Return& back, int step) const;
  __device__ __forceinline__ void output_and_loss(Eight& eight, const float (&c)[tiles3][4], int step) const;
  __device__ __forceinline__ void deltas(const Eight& eight, const Return& back) const;
  __device__ __forceinline__ void there_and_back(double (&sums)[2], int step) const;

  __device__ __forceinline__ void lead();

  // ---- group 1: the third matrix, and what belongs to the output
  __device__ __forceinline__ void update_third(Pieces<D.third_tiles()>& third, int step) const;
  // Its warps have tiles of the biases, then of the output's weights. The output's bias is everyone's.
  struct Top {
    Vector vector;
    float w, m, v;
  };
  __device__ __forceinline__ bool has_bias() const {
    return quarter < tiles3;
  }
  __device__ __forceinline__ int vector_tile() const {
    return has_bias() ? quarter : quarter - tiles3;
  }
  __device__ __forceinline__ int vector_at() const {
    return (has_bias() ? D.b3_at() : D.out_weights_at()) + vector_tile() * 64;
  }
  __device__ __forceinline__ void update_top(Top& top) const;
  __device__ __forceinline__ void load_top(Top& top) const;
  __device__ __forceinline__ void save_top(const Top& top) const;

  // Rows to come: each thread has one or two of the pieces that a batch is fetched in.
  static constexpr int pieces = P.depth(0) / 8;  // of 16 bytes a row
  static constexpr int fetches = rows * (pieces + 1) + 1;
  static constexpr int fetch_rounds = divide_up(fetches, four_warps);
  struct Ahead {
    int rows_of[fetch_rounds];
  };
  __device__ __forceinline__ static int row_of(int unit) {
    return unit < rows * pieces ? unit / pieces : unit - rows * pieces;
  }
  __device__ __forceinline__ int fetch_unit(int round) const {
    return (thread & 127) + round * four_warps;
  }
  __device__ __forceinline__ void look_up(Ahead& ahead, int step) const;
  __device__ __forceinline__ void fetch(const Ahead& ahead, int step) const;

  __device__ __forceinline__ void follow();

  // ---- groups 2 and 3: the second matrix, and the dropout to come
  static constexpr int second_pieces = 2 * D.first_blocks();
  __device__ __forceinline__ int second_row() const {
    return D.first_blocks() == 2 ? (party - 2) * DuetPlan::tall : 0;
  }
  __device__ __forceinline__ int second_column(int piece) const {
    return D.first_blocks() == 2 ? piece * 16 : (party - 2) * 32 + piece * 16;
  }
  __device__ __forceinline__ Word second_at(int step, int piece) const {
    return w2_at(step) + second_row() / 8 * D.second_down() + second_column(piece) / 8 * 128;
  }
  __device__ __forceinline__ auto second_place(int piece) const {
    const int row0 = second_row(), column0 = second_column(piece);
    return [=](int row, int column) { return flat<1>(row0 + row, column0 + column); };
  }
  __device__ __forceinline__ void update_second(Pieces<second_pieces>& second, int step);

  // A lane draws for its row of the batch, two units with one hash; what the lanes drew is a word.
  template <int H>
  __device__ __forceinline__ void draw(Word shared_key, int step) const;

  __device__ __forceinline__ void keep();

  enum Point { begun, has_matrix_3, has_layer_2, has_output, waits, goes_on, updated, ended, clock_points };
  // When each warp passes which point of a step, for whoever tunes the kernel: kept behind the shared memory
  // that the kernel has for itself. The look at shared memory keeps the clock from being read before a
  // barrier.
#ifdef STOKER_FUSED_CLOCKS
  static constexpr int clocked_step = 1000;
  __device__ __forceinline__ void mark(int step, int point) const {
    Word now;
    asm volatile(
        "{.reg .u32 t; ld.volatile.shared.u32 t, [%1]; and.b32 t, t, 0; mov.u32 %0, %%clock; add.u32 %0, %0, "
        "t;}"
        : "=r"(now)
        : "r"(base + D.shared_bytes())
        : "memory");
    if (step == clocked_step && lane == 0)
      reinterpret_cast<Word*>(shared + D.shared_bytes())[warp * clock_points + point] = now;
  }
#else
  __device__ __forceinline__ void mark(int, int) const {}
#endif

  __device__ __forceinline__ void run() {
    for (int i = thread; i < D.shared_bytes() / 4; i += threads) reinterpret_cast<Word*>(shared)[i] = 0;
    __syncthreads();
    if (party == 0) {
      give_registers<112>();
      lead();
    } else if (party == 1) {
      follow();
    } else {
      take_registers<136>();
      keep();
    }
#ifdef STOKER_FUSED_CLOCKS
    __syncthreads();
    for (int i = thread; i < warps * clock_points; i += threads)
      work.clocks[i] = reinterpret_cast<Word*>(shared + D.shared_bytes())[i];
#endif
  }
};

}  // namespace stoker::fused
