#pragma once

#include <vector>

#include "advise/own_cache.h"
#include "base/files/files.h"
#include "device/device.h"
#include "train/choose/recorded_figures.h"
#include "train/fit/fit_network.h"

namespace stoker::test {

// While it is there, figures on record say that the eager engine is the fastest for the network of a request.
class EagerOnRecord {
 public:
  explicit EagerOnRecord(const FitRequest& request) {
    const PreparedData data = prepare(request.training, nullptr, request.preparation,
                                      form_of(family_of(request.spec), request.spec.settings), no_notes());
    const EngineRequest wanted = request_without_rows(request.spec, data, Device::cpu(), request.config);
    record_figures(figures_key(wanted), std::vector<StepFigures>{{"cpu", cpu_model(), "fused", 1, 0},
                                                                 {"cpu", cpu_model(), "eager", 1e-6, 0}});
  }

 private:
  TemporaryFolder folder_;
  OwnCache cache_{folder_.path()};
};

}  // namespace stoker::test
