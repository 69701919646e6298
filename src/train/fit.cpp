#include "train/fit.h"

#include "train/choose_decision.h"
#include "train/fit_ensemble.h"
#include "train/fit_network.h"
#include "train/fit_solved.h"

namespace stoker {

FitResult fit(const FitRequest& request, TrainingListener& listener, const StopSignal& stop) {
  const Notes notes = [&listener](Severity severity, const std::string& message) {
    listener.note(severity, message);
  };
  refuse_decision_without_rows(request.spec, request.config);
  if (request.config.ensemble.is_wanted()) return fit_ensemble(request, listener, notes, stop);
  return request.spec.is_solved() ? fit_solved(request, notes, stop)
                                  : fit_network(request, listener, notes, stop);
}

}  // namespace stoker
