#pragma once

#include <functional>
#include <memory>

#include "data/placement/plan_placement.h"
#include "engine/engine.h"
#include "train/rows/place_data.h"

namespace stoker {

// An engine to measure steps with: its rows are placed, and the first step is done, in which much is made
// ready. Further steps are to have the learning rate 0 as well.
struct ReadyEngine {
  std::unique_ptr<Engine> engine;
  PlacementChoice placement{};
  double seconds = 0;           // that all of it took
  double choosing_seconds = 0;  // of these, to choose the engine; a kernel may have been compiled for that
};

// The engine for a request whose rows lie where they are read, which is there.
using ChooseWhenPlaced =
    std::function<const EngineMaker&(const EngineRequest& request, PlacementChoice placement)>;

// Throws what `choose` throws, and what placing does.
ReadyEngine ready_engine(EngineRequest request, const PlacementWishes& wishes,
                         const ChooseWhenPlaced& choose);

}  // namespace stoker
