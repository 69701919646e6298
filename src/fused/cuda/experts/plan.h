#pragma once

#include <algorithm>

#include "engine/engine.h"
#include "fused/cuda/experts/work.h"
#include "model/experts/expert_shape.h"

// What the kernels of a mixture of experts are told of a training, but for where its arrays lie. Needs no
// GPU.
namespace stoker::fused::experts {

// Rows that the buffers of a training have room for: those of a batch, or more where rows are validated, of
// which a GPU takes many as fast as few.
std::int64_t rows_of_buffers(const EngineRequest& request);

ExpertWork work_of(const EngineRequest& request, const ExpertShape& shape);
// The same for rows that are validated.
ExpertWork validation_of(const ExpertWork& training);

// What the update number `number` takes, counted from 1.
UpdateStep update_step(const OptimizerSettings& settings, std::int64_t number, float rate);

// Gathers of the rows of a batch: features, targets and, where rows have them, weights.
struct BatchBuffers {
  float* features = nullptr;  // [rows, stride of the router's inputs]
  void* targets = nullptr;
  float* weights = nullptr;
};
int gathers_of(const Dataset& dataset, const Layout& layout, const BatchBuffers& to,
               kernels::Gather* gathers);

// Calls place(pointer, count) for each array that a step makes for its own.
template <class Place>
void place_buffers(ExpertWork& work, Place&& place) {
  const Layout& layout = work.layout;
  const std::int64_t pairs = work.batch * work.top_k;
  place(work.inner, work.batch * layout.router[0].outputs);
  place(work.inner_deltas, work.batch * layout.router[0].outputs);
  place(work.scores, work.batch * layout.router[1].outputs);
  place(work.score_deltas, work.batch * layout.router[1].outputs);
  place(work.hesitation, work.batch);
  place(work.chosen, pairs);
  if (work.exploration > 0) place(work.liked, pairs);
  place(work.shares, pairs);
  place(work.places, pairs);
  place(work.sources, pairs);
  place(work.groups, static_cast<std::int64_t>(layout.room));
  place(work.tiles, most_row_tiles(work));
  place(work.tile_count, std::int64_t{1});
  for (int i = 0; i < layout.layer_count; ++i) {
    place(work.answers[i], pairs * layout.layers[i].outputs);
    place(work.deltas[i], pairs * layout.layers[i].outputs);
  }
  place(work.mixed, work.batch * layout.last().outputs);
  place(work.mixed_gradients, work.batch * layout.last().outputs);
  if (work.max_grad_norm > 0) place(work.squares, most_changed_tiles(layout));
  place(work.clip_factor, std::int64_t{1});
  work.losses.outputs = work.mixed;
  work.losses.gradients = work.mixed_gradients;
}

}  // namespace stoker::fused::experts
