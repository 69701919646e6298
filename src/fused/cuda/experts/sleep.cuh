#pragma once

#include "fused/cuda/experts/aligning.cuh"
#include "fused/cuda/experts/step.cuh"
#include "fused/cuda/experts/surgery.cuh"

// What follows what in a sleep. `launch(part, work, blocks)` runs one part, as that of step.cuh does.
namespace stoker::fused::experts {

template <class Launch>
void route_rows(const ExpertWork& work, int blocks, Launch&& launch) {
  const std::int64_t row_tiles = (work.fixed_rows + rows_of_tile - 1) / rows_of_tile;
  launch(RouterInner{}, work, at_most(row_tiles * (work.layout.router[0].outputs / tile), blocks));
  launch(Route{}, work, at_most(work.fixed_rows, 4 * blocks));
}

template <class Launch>
void carry_out(const SleepWork& work, const SleepOrder& order, int blocks, Launch&& launch) {
  const Layout& layout = work.layout;
  const int all = at_most(layout.expert_size / surgery_threads + 1, 4 * blocks);
  switch (order.kind) {
    case SleepOrder::Kind::compare_rows:
      launch(Centres{}, work,
             at_most(layout.room * ((layout.router[0].inputs + Centres::threads - 1) / Centres::threads),
                     4 * blocks));
      launch(CentreCosines{}, work, at_most(work.pair_count, 8 * blocks));
      break;
    case SleepOrder::Kind::adaptation:
      launch(Adaptation{}, work, at_most(layout.room, 4 * blocks));
      break;
    case SleepOrder::Kind::align:
      launch(UnitRows{}, work, blocks);
      launch(Squares{}, work, at_most(layout.room, 4 * blocks));
      launch(AlignPairs{0, work.pair_count}, work, at_most(work.pair_count, work.pair_blocks));
      break;
    case SleepOrder::Kind::bear:
      launch(ClearExpert{order.place}, work, all);
      launch(Deviations{order.other}, work, at_most(2 * layout.layer_count + 1, blocks));
      launch(CopyExpert{order.other, order.place, order.noise, order.of_weights, order.of_router}, work, all);
      launch(ListLiving{}, work, 1);
      break;
    case SleepOrder::Kind::merge:
      launch(AlignPairs{order.pair, 1}, work, 1);
      launch(MergeExperts{order.place, order.other, order.share}, work, all);
      launch(MixRouter{order.place, order.other, 1 - order.share}, work, 1);
      launch(ClearExpert{order.other}, work, all);
      launch(ListLiving{}, work, 1);
      break;
    case SleepOrder::Kind::remove:
      if (order.other >= 0) launch(MixRouter{order.other, order.place, order.share}, work, 1);
      launch(ClearExpert{order.place}, work, all);
      launch(ListLiving{}, work, 1);
      break;
  }
}

}  // namespace stoker::fused::experts
