#include "train/loop/ready_engine.h"

#include <optional>

#include "base/notes.h"
#include "base/time/elapsed.h"
#include "train/loop/metric_stopping.h"

namespace stoker {

ReadyEngine ready_engine(EngineRequest request, const PlacementWishes& wishes,
                         const ChooseWhenPlaced& choose) {
  const Moment began = now();
  request.patience = 0;  // nothing is learnt, so it would stop
  ReadyEngine ready;
  ready.placement = place_data(request, wishes, no_notes());
  const Moment placed = now();
  const EngineMaker& maker = choose(request, ready.placement);
  ready.choosing_seconds = seconds_since(placed);
  ready.engine = making(maker, std::nullopt)(request);
  ready.engine->run({0, {0.0F}});
  ready.seconds = seconds_since(began);
  return ready;
}

}  // namespace stoker
