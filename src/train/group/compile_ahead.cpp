#include "train/group/compile_ahead.h"

#include <exception>
#include <system_error>

#include "device/device.h"
#include "device/workers.h"
#include "train/fit/fit_network.h"

namespace stoker {
namespace {

constexpr int most_threads = 4;  // beside those that train

// Judged by a metric, a member trains on an engine of its own.
std::size_t models_side_by_side(const FitRequest& request) {
  const bool alone = request.spec.training.early_stopping_metric != validation_loss_metric;
  const EnsembleConfig& ensemble = request.config.ensemble;
  return alone || !ensemble.is_wanted() ? 1 : static_cast<std::size_t>(ensemble.members());
}

}  // namespace

bool may_be_fused(const FitConfig& config) {
  const bool fused = config.engine == EngineChoice::automatic || config.engine == EngineChoice::fused;
  return fused && config.precision == Precision::automatic;
}

bool compiles_ahead(const ModelSpec& spec, const FitConfig& config) {
  // A batch that is yet to be chosen leaves the kernel open.
  if (!spec.is_solved() && spec.training.batch_size == automatic_batch) return false;
  return may_be_fused(config) && !spec.is_solved() && choose_device(config.device, no_notes()).is_cuda();
}

void compile_ahead(const FitRequest& first_rows, const StopSignal& stop, CompileForGroup compile) {
  if (first_rows.spec.is_solved()) return;
  const Preparation preparation =
      Preparation::fit(first_rows.training, first_rows.preparation,
                       form_of(family_of(first_rows.spec), first_rows.spec.settings), no_notes());
  EngineRequest request =
      request_without_data(first_rows.spec, preparation, choose_device(first_rows.config.device, no_notes()));
  request.precision = first_rows.config.precision;
  compile(std::vector<EngineRequest>(models_side_by_side(first_rows), request), stop);
}

GroupKernelsAhead::GroupKernelsAhead(std::vector<std::vector<EngineRequest>> groups,
                                     CompileForGroup compile) {
  if (groups.empty()) return;
  try {
    thread_ = std::jthread([this, groups = std::move(groups), compile] {
      const auto compile_for = [&](std::int64_t i) {
        if (stop_.reason() != StopReason::none) return;
        try {
          compile(groups[static_cast<std::size_t>(i)], stop_);
        } catch (const std::exception&) {
          // The group meets it itself, and tells.
        }
      };
      try {
        share_among_threads(static_cast<std::int64_t>(groups.size()), most_threads, compile_for);
      } catch (const std::system_error&) {
        // No more threads: what they would have compiled, the groups do.
      }
    });
  } catch (const std::system_error&) {
    // Without a thread to spare, each group compiles its kernel itself.
  }
}

}  // namespace stoker
