#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/notes.h"
#include "data/placement/plan_placement.h"
#include "engine/engine.h"
#include "train/checkpoint/checkpoints.h"
#include "train/fit/fit_request.h"
#include "train/loop/engines.h"
#include "train/rows/row_copies.h"

namespace stoker {

// Why nothing can train such a request, whose rows pass through a window; "": something can.
using NoWindow = std::function<std::string(const EngineRequest& request)>;

struct PlacementWishes {
  PlacementConfig config;
  NoWindow no_window;  // asked only where one may be needed: LibTorch takes a while to open
  // Of a training that goes on: the shards of its order, 0 for none.
  std::optional<std::int64_t> rows_per_shard = std::nullopt;
};

// By these engines: the one that is chosen, that a checkpoint was made by, or any of them.
NoWindow asking_engines(EngineChoice choice, const std::optional<std::string>& resumed,
                        std::span<const EngineMaker> among = engines());

// Lays the rows of a request where its device reads them, as they fit, and says so in one line. What does not
// fit goes one level down, also where memory turns out to be less than it looked. Rows that are shuffled by
// shards are mixed once before, so that a shard is like the whole whatever the order of the file. Returns
// where the training rows are. `ahead` has what was copied before.
PlacementChoice place_data(EngineRequest& request, const PlacementWishes& wishes, const Notes& notes,
                           RowCopies ahead = {});

// Before anything is learnt from them: rows that a GPU has room for and that are not asked for elsewhere.
// Answers the copies, for place_data; none where the rows stay as they are.
RowCopies rows_on_gpu(const PlacementConfig& config, Device device, Dataset& training, Dataset& validation);

// Of a member of an ensemble; a window has to be asked for by name, and its shards become part of the
// identity. `listener` is told for all members; null: another one was.
std::string place_member(const FitConfig& config, TrainingListener* listener, EngineRequest& request,
                         Identity& identity);

// Of rows that the candidates of a sweep share: no window, which is for one network.
void place_shared(const PlacementConfig& config, const Notes& notes, EngineRequest& request);

}  // namespace stoker
