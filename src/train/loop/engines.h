#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "engine/engine.h"

namespace stoker {

// Every engine there is, in the order in which `auto` tries them. LibTorch is loaded when one of its engines
// is asked whether it can run a request.
std::span<const EngineMaker> engines();
// Those of them that are LibTorch's for any network.
std::span<const EngineMaker> libtorch_engines();

// The engine for a request: the first that can run it, or the one asked for. One that cannot is refused with
// its reason; one that is known to be slower than the next is passed over for it, unless several models are
// to train side by side. `resumed` is the engine that a checkpoint was made by: a run goes on with the engine
// it began with.
const EngineMaker& choose_engine(std::span<const EngineMaker> makers, EngineChoice choice,
                                 const std::optional<std::string>& resumed, const EngineRequest& request,
                                 bool is_alone = true);

// Whether that engine takes LibTorch to run such a request.
bool needs_libtorch(std::string_view engine, const EngineRequest& request);

// The engine that `auto` takes for one training of such a request, where that is one which takes no LibTorch;
// null: it is not, or cannot be told without opening LibTorch, which is never done here. Rows must be placed.
const EngineMaker* taken_without_libtorch(const EngineRequest& request);

// An engine that was chosen, for any phase of a training.
using MakeEngine = std::function<std::unique_ptr<Engine>(const EngineRequest& request)>;

}  // namespace stoker
