#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "train/choose/auto_device.h"

// What the steps of a training take on a device, measured within a given time and without LibTorch. The
// training itself is not touched: it begins with engines, rows and numbers of its own.
namespace stoker {

// Of a step, the middle one of several stretches, or of as many as there is time for. At least one step is
// taken, and one that has begun is finished.
double step_seconds_within(double seconds, const std::function<void(std::int64_t steps)>& take_steps,
                           const std::function<double()>& clock);

// On the request's device, whose model is told; rows lie in the host's memory. A request that is refused when
// it is made cannot be tried.
Trial measured_figures(const std::function<EngineRequest()>& make_request, const std::string& model,
                       double seconds);

}  // namespace stoker
