#include "train/compile_ahead.h"

#include "device/device.h"
#include "engine/fused_cuda/fused_cuda.h"
#include "train/fit_network.h"

namespace stoker {

bool compiles_ahead(const ModelSpec& spec, const FitConfig& config) {
  const bool fused = config.engine == EngineChoice::automatic || config.engine == EngineChoice::fused;
  return fused && config.precision == Precision::automatic && std::holds_alternative<NetworkSpec>(spec) &&
         choose_device(config.device, no_notes()).is_cuda();
}

void compile_ahead(const FitRequest& first_rows, const StopSignal& stop) {
  const auto* network = std::get_if<NetworkSpec>(&first_rows.spec);
  if (network == nullptr) return;
  const Preparation preparation =
      Preparation::fit(first_rows.training, first_rows.preparation, Scaling::standard, no_notes());
  EngineRequest request =
      request_without_data(network->config, preparation, choose_device(first_rows.config.device, no_notes()));
  request.precision = first_rows.config.precision;
  fused::compile_ahead(request, stop);
}

}  // namespace stoker
