#pragma once

#include "fused/cpu/attention_pass.h"
#include "fused/cpu/curves.h"
#include "fused/cpu/dropout_hash.h"
#include "fused/cpu/sets/set_step.h"

// Attention between the members of one set, a head at a time. What the members take of each other lies with a
// row for each that is taken from and a lane for each that takes, so that nothing is summed up across lanes.
// Lanes beyond the last member hold numbers that nobody reads.
namespace stoker::fused_cpu {
namespace {

// One head of one set.
struct SetHead {
  std::int64_t count;    // members
  std::int64_t takers;   // the same in whole vectors
  std::int64_t share;    // values of a member
  std::int64_t columns;  // the same in whole vectors
  std::int64_t stride;   // from a member's queries, keys and values to the next one's
  std::int64_t width;    // from queries to keys to values
  std::int64_t context_stride;
};

// out [rows, columns] = left [rows, depth] * right [depth, columns], the columns whole vectors.
STOKER_INLINE void multiply_vectors(std::int64_t rows, std::int64_t depth, std::int64_t columns,
                                    const LeftSide& left, const float* right, std::int64_t right_stride,
                                    float* out, std::int64_t out_stride) {
  switch (columns / lanes) {
    case 1:
      return multiply_columns<1>(rows, depth, left, right, right_stride, out, out_stride);
    case 2:
      return multiply_columns<2>(rows, depth, left, right, right_stride, out, out_stride);
    case 3:
      return multiply_columns<3>(rows, depth, left, right, right_stride, out, out_stride);
    default:
      return multiply_small(rows, depth, columns, left, right, right_stride, out, out_stride);
  }
}

// The same where what is behind the last of `share` columns belongs to others.
STOKER_INLINE void multiply_into_head(const SetHead& head, std::int64_t depth, const LeftSide& left,
                                      const float* right, std::int64_t right_stride, float* out,
                                      std::int64_t out_stride, float* scratch) {
  if (head.share == head.columns)
    return multiply_vectors(head.count, depth, head.columns, left, right, right_stride, out, out_stride);
  multiply_vectors(head.count, depth, head.columns, left, right, right_stride, scratch, head.columns);
  for (std::int64_t i = 0; i < head.count; ++i)
    for (std::int64_t d = 0; d < head.share; ++d) out[i * out_stride + d] = scratch[i * head.columns + d];
}

// [share, takers] of [count, share], zeros beyond the count.
STOKER_INLINE void turn_part(const SetHead& head, const float* rows, std::int64_t stride, float* turned) {
  for (std::int64_t d = 0; d < head.share; ++d) {
    float* to = turned + d * head.takers;
    for (std::int64_t i = 0; i < head.count; ++i) to[i] = rows[i * stride + d];
    for (std::int64_t i = head.count; i < head.takers; ++i) to[i] = 0;
  }
}

// What the dropout of a head's shares reads: the element of the first pair of members, and the places of the
// members that take, in rows of the whole set.
struct DroppedShares {
  DropoutKey key;
  float scale;
  std::uint32_t first;
  bool pairs;                   // the set has an even number of members
  const std::uint32_t* rows;    // [takers]: place * members of the set
  const std::uint32_t* places;  // [count]
};

// A vector of members that take: what they weigh to shares, and to what dropout leaves of these.
STOKER_INLINE void drop_shares(const SetHead& head, float* shares, float* taken, V part,
                               const DroppedShares& dropped, std::int64_t first) {
  U elements;
  std::memcpy(&elements, dropped.rows + first, sizeof elements);
  elements += dropped.first;
  const auto put = [&](std::int64_t i, Keep keep) {
    const V share = load(shares + i * head.takers) * part;
    store(shares + i * head.takers, share);
    store(taken + i * head.takers, kept(share * dropped.scale, keep));
  };
  if (!dropped.pairs) {
    for (std::int64_t i = 0; i < head.count; ++i)
      put(i, decide_each(dropped.key, elements + dropped.places[i]));
    return;
  }
  // Elements begin with even ones, so that a hash decides a pair of places.
  std::uint32_t pair = ~0U;
  U bits{};
  for (std::int64_t i = 0; i < head.count; ++i) {
    const std::uint32_t place = dropped.places[i];
    if (place / 2 != pair) {
      pair = place / 2;
      bits = hashed(((elements >> 1) + pair) * golden + dropped.key.first, dropped.key.second);
    }
    put(i, above(place % 2 == 0 ? bits & 0xffffU : bits >> 16, dropped.key.last));
  }
}

// Scores to shares, a vector of members that take at a time.
template <bool drops>
STOKER_INLINE void share_out_set(const SetHead& head, float* shares, float* taken,
                                 const DroppedShares& dropped) {
  const float scale = 1.0F / __builtin_sqrtf(static_cast<float>(head.share));
  const std::int64_t takers = head.takers;
  for (std::int64_t j = 0; j < takers; j += lanes) {
    V top = load(shares + j);
    for (std::int64_t i = 1; i < head.count; ++i) {
      const V score = load(shares + i * takers + j);
      top = choose(top < score, score, top);
    }
    V sum{};
    for (std::int64_t i = 0; i < head.count; ++i) {
      const V share = exp_of_negative((load(shares + i * takers + j) - top) * scale);
      store(shares + i * takers + j, share);
      sum += share;
    }
    const V part = 1.0F / sum;
    if constexpr (drops) {
      drop_shares(head, shares + j, taken + j, part, dropped, j);
    } else {
      for (std::int64_t i = 0; i < head.count; ++i)
        store(shares + i * takers + j, load(shares + i * takers + j) * part);
    }
  }
}

// Gradients of what is taken, in place, to those of the scores' products.
STOKER_INLINE void share_out_set_back(const SetHead& head, const float* shares, const float* taken,
                                      float* gradient) {
  const float scale = 1.0F / __builtin_sqrtf(static_cast<float>(head.share));
  const std::int64_t takers = head.takers;
  for (std::int64_t j = 0; j < takers; j += lanes) {
    V level{};
    for (std::int64_t i = 0; i < head.count; ++i)
      level += load(taken + i * takers + j) * load(gradient + i * takers + j);
    for (std::int64_t i = 0; i < head.count; ++i) {
      const std::int64_t at = i * takers + j;
      store(gradient + at, (load(taken + at) * load(gradient + at) - load(shares + at) * level) * scale);
    }
  }
}

STOKER_INLINE SetHead head_of(const SetNetwork& sets, std::int64_t count) {
  SetHead head;
  head.count = count;
  head.takers = padded(count, lanes);
  head.share = sets.share();
  head.columns = padded(head.share, lanes);
  head.stride = sets.network->layers[projections].outputs;
  head.width = sets.width;
  head.context_stride = sets.network->layers[attended].inputs;
  return head;
}

// Queries, keys and values of the members of set `number` to what they take from each other.
template <bool drops>
void attend_in_set(const SetNetwork& sets, const SetSlice& slice, const Dropout& dropout,
                   std::int64_t number) {
  const std::int64_t first = slice.firsts[number];
  const SetHead head = head_of(sets, slice.firsts[number + 1] - first);
  const float* projected = slice.receivers.active[projections + 1] + first * head.stride;
  float* context = slice.attention.active[attended] + first * head.context_stride;
  float* turned = slice.scratch;
  float* aside = turned + head.columns * head.takers;
  auto* rows = reinterpret_cast<std::uint32_t*>(aside + head.count * head.columns);
  const auto members = static_cast<std::uint32_t>(sets.members);
  const std::uint32_t* places = slice.places + first;
  if (drops)
    for (std::int64_t i = 0; i < head.takers; ++i) rows[i] = i < head.count ? places[i] * members : 0;
  for (std::int64_t h = 0; h < sets.heads; ++h) {
    const float* queries = projected + h * head.share;
    const std::int64_t at = number * sets.shares_of_set() + h * sets.members * padded(sets.members, panel);
    float* shares = slice.shares + at;
    float* taken = drops ? slice.taken + at : shares;
    turn_part(head, queries, head.stride, turned);
    multiply_vectors(head.count, head.share, head.takers, {queries + head.width, head.stride, 1}, turned,
                     head.takers, shares, head.takers);
    const auto element =
        (dropout.first_row + static_cast<std::uint32_t>(number)) * static_cast<std::uint32_t>(sets.heads) +
        static_cast<std::uint32_t>(h);
    share_out_set<drops>(head, shares, taken,
                         {{dropout.key_first[projections], dropout.key_second[projections],
                           static_cast<std::uint16_t>(dropout.threshold - 1)},
                          dropout.scale,
                          element * members * members,
                          members % 2 == 0,
                          rows,
                          places});
    multiply_into_head(head, head.count, {taken, 1, head.takers}, queries + 2 * head.width, head.stride,
                       context + h * head.share, head.context_stride, aside);
  }
}

template <bool drops>
void attend_in_set_back(const SetNetwork& sets, const SetSlice& slice, std::int64_t number) {
  const std::int64_t first = slice.firsts[number];
  const SetHead head = head_of(sets, slice.firsts[number + 1] - first);
  const float* projected = slice.receivers.active[projections + 1] + first * head.stride;
  float* of_projected = slice.receivers.deltas[projections] + first * head.stride;
  const float* of_context = slice.context_gradient + first * head.context_stride;
  float* turned = slice.scratch;
  float* aside = turned + head.columns * head.takers;
  float* gradient = aside + padded(head.count * head.columns, panel);
  for (std::int64_t h = 0; h < sets.heads; ++h) {
    const float* queries = projected + h * head.share;
    const float* of_head = of_context + h * head.share;
    float* of_queries = of_projected + h * head.share;
    const std::int64_t at = number * sets.shares_of_set() + h * sets.members * padded(sets.members, panel);
    const float* shares = slice.shares + at;
    const float* taken = drops ? slice.taken + at : shares;
    multiply_into_head(head, head.count, {taken, head.takers, 1}, of_head, head.context_stride,
                       of_queries + 2 * head.width, head.stride, aside);
    turn_part(head, of_head, head.context_stride, turned);
    multiply_vectors(head.count, head.share, head.takers, {queries + 2 * head.width, head.stride, 1}, turned,
                     head.takers, gradient, head.takers);
    share_out_set_back(head, shares, taken, gradient);
    multiply_into_head(head, head.count, {gradient, 1, head.takers}, queries + head.width, head.stride,
                       of_queries, head.stride, aside);
    multiply_into_head(head, head.count, {gradient, head.takers, 1}, queries, head.stride,
                       of_queries + head.width, head.stride, aside);
  }
}

}  // namespace
}  // namespace stoker::fused_cpu
