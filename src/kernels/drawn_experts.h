#pragma once

#include <cstdint>

#include "base/random.h"
#include "kernels/begin_step.h"
#include "kernels/launch.h"

namespace stoker::kernels {

// What a row of a batch draws where experts are drawn for some rows instead of chosen by the router's scores.
// It depends on (seed, step, row) alone.
struct RowDraws {
  RandomKey key;
  std::uint32_t first;
  std::uint32_t room;

  STOKER_HOST_DEVICE RowDraws(std::uint64_t seed, std::int64_t step, std::int64_t row, std::int64_t experts)
      : key(random_key(seed, Purpose::exploration, static_cast<std::uint64_t>(step))),
        first(static_cast<std::uint32_t>(row * (experts + 1))),
        room(static_cast<std::uint32_t>(experts)) {}

  // Whether it is among the share of the rows that get what they draw.
  STOKER_HOST_DEVICE bool is_of(double share) const { return uniform(key, first + room) < share; }
  // The living experts with the largest numbers are those drawn; of equals the first. A float has all of
  // these bits.
  STOKER_HOST_DEVICE float of(std::int64_t expert) const {
    return static_cast<float>(random_bits(key, first + static_cast<std::uint32_t>(expert)) >> 8);
  }
};

// The share of the rows that experts are drawn for in a step: in the second half of the planned steps it
// falls evenly to 0, so that what is kept in the end has been learnt from those who will be asked.
STOKER_HOST_DEVICE double drawn_share(double share, std::int64_t step, std::int64_t planned_steps) {
  if (planned_steps <= 0) return share;
  const double left = 2 * static_cast<double>(planned_steps - step) / static_cast<double>(planned_steps);
  return left >= 1 ? share : left <= 0 ? 0 : share * left;
}

// `count` different ones of those that live, each as likely as any other. As many must live.
template <class Expert>
STOKER_HOST_DEVICE void draw_experts_of_row(const RowDraws& draws, const float* alive, std::int64_t count,
                                            Expert* drawn) {
  float last = 0;
  std::int64_t who = -1;
  for (std::int64_t k = 0; k < count; ++k) {
    float largest = -1;
    std::int64_t found = -1;
    for (std::int64_t expert = 0; expert < static_cast<std::int64_t>(draws.room); ++expert) {
      if (alive[expert] == 0) continue;
      const float draw = draws.of(expert);
      const bool is_left = k == 0 || draw < last || (draw == last && expert > who);
      if (!is_left || draw <= largest) continue;
      largest = draw;
      found = expert;
    }
    drawn[k] = static_cast<Expert>(found);
    last = largest;
    who = found;
  }
}

// Of a share of the rows those who answer are drawn; the others keep theirs.
struct DrawnExperts {
  std::int64_t* chosen = nullptr;  // [rows, top_k]
  const float* alive = nullptr;    // [room], 1 or 0
  std::int64_t rows = 0;
  std::int64_t first_row = 0;  // of the whole batch
  std::int64_t room = 0;
  std::int64_t top_k = 0;
  double share = 0;  // at the start
  std::int64_t planned_steps = 0;
  std::uint64_t seed = 0;
  const StepCounters* counters = nullptr;  // current_step is drawn for
};

STOKER_HOST_DEVICE void draw_row(const DrawnExperts& work, std::int64_t row) {
  const RowDraws draws(work.seed, work.counters->current_step, work.first_row + row, work.room);
  if (draws.is_of(drawn_share(work.share, work.counters->current_step, work.planned_steps)))
    draw_experts_of_row(draws, work.alive, work.top_k, work.chosen + row * work.top_k);
}

void draw_experts(const DrawnExperts& work);
LaunchError draw_experts_cuda(const DrawnExperts& work, Stream stream);
void draw_experts(const DrawnExperts& work, const Place& place);

}  // namespace stoker::kernels
