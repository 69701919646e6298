#include "model/asked_to_stop.h"

#include "base/error.h"

namespace stoker {

void heed_interruption(const StopSignal& stop) {
  if (stop.reason() == StopReason::interrupted)
    throw Error(ExitCode::interrupted, "interrupted; resume with stoker run --resume");
}

void refuse_to_go_on(const StopSignal& stop, std::string_view model) {
  heed_interruption(stop);
  if (stop.reason() == StopReason::time_limit)
    fail(
        "the time limit was reached before {} had a solution, so there is no model to keep; raise time_limit",
        model);
}

}  // namespace stoker
