#include "train/choose/measured_epochs.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/text/text.h"
#include "predict/spectral/cubes_to_measure.h"

namespace stoker {
namespace {

// An epoch trains on so many cubes in ten times the time that one is measured in, or more.
constexpr std::int64_t trained_for_each_measured = 40;

class MeasuredEngine : public Engine {
 public:
  MeasuredEngine(std::shared_ptr<const CubesToMeasure> cubes, std::unique_ptr<Engine> engine,
                 std::int64_t steps_per_epoch)
      : cubes_(std::move(cubes)), engine_(std::move(engine)), steps_per_epoch_(steps_per_epoch) {}

  std::string_view name() const override { return engine_->name(); }

  // Epoch by epoch, so that each is measured with the weights at its end.
  ChunkResult run(const Chunk& chunk) override {
    ChunkResult result;
    const std::int64_t end = chunk.first_step + static_cast<std::int64_t>(chunk.learning_rates.size());
    for (std::int64_t step = chunk.first_step; step < end && !result.stopped_early;) {
      const std::int64_t part_end = std::min(end, (step / steps_per_epoch_ + 1) * steps_per_epoch_);
      const auto rates = chunk.learning_rates.begin() + (step - chunk.first_step);
      ChunkResult part = engine_->run({step, {rates, rates + (part_end - step)}});
      result.is_sound = part.is_sound;
      result.stopped_early = part.stopped_early;
      result.waiting_seconds += part.waiting_seconds;
      if (!part.is_sound) return result;
      for (EpochRecord& epoch : part.finished_epochs) {
        // Scores that are no numbers have no order.
        if (std::isfinite(epoch.train_loss)) measure(epoch);
        result.finished_epochs.push_back(std::move(epoch));
      }
      step = part_end;
    }
    return result;
  }

  NamedArrays state() const override { return engine_->state(); }
  void restore(const NamedArrays& state) override { engine_->restore(state); }
  NamedArrays parameters() const override { return engine_->parameters(); }
  NamedArrays best_parameters() const override { return engine_->best_parameters(); }
  Precision precision() const override { return engine_->precision(); }
  bool can_start_over() const override { return engine_->can_start_over(); }
  MemoryUse memory() const override { return engine_->memory(); }

 private:
  // A loss may have the name of a metric: each value is told under one of its own.
  void measure(EpochRecord& epoch) const {
    for (const auto& [name, value] : cubes_->measure(engine_->parameters())) {
      std::string own = "validation_" + name;
      if (std::ranges::find(epoch.values, own, &NamedValue::name) != epoch.values.end()) own += "_of_pixels";
      epoch.values.push_back({std::move(own), value});
    }
  }

  std::shared_ptr<const CubesToMeasure> cubes_;
  std::unique_ptr<Engine> engine_;
  std::int64_t steps_per_epoch_;
};

}  // namespace

MakeEngine measuring_epochs(MakeEngine make, const EngineRequest& request, const Notes& notes) {
  const std::int64_t held_back = request.validation.rows();
  if (lacks_marks_to_validate(request.network, request.validation))
    notes(Severity::warning,
          fmt::format("nothing is marked in {} held back to watch the training: the best epoch is the one "
                      "that finds least there, whatever it misses elsewhere. Hold back more cubes "
                      "(validation_ratio), or others (seed)",
                      held_back == 1 ? "the cube that is"
                                     : fmt::format("the {} that are",
                                                   counted(static_cast<std::uint64_t>(held_back), "cube"))));
  if (!can_measure_cubes(request.network, request.validation)) return make;
  const std::int64_t most = std::max<std::int64_t>(1, request.training.rows() / trained_for_each_measured);
  const std::int64_t measured = std::min(held_back, most);
  if (measured < held_back)
    notes(Severity::info,
          fmt::format(
              "after each epoch, metrics are computed on {} of the {} held back to watch the training (the "
              "same every time, and with something marked if possible): more would take over a tenth of "
              "the time",
              measured, counted(static_cast<std::uint64_t>(held_back), "cube")));
  const auto cubes = std::make_shared<const CubesToMeasure>(request.network, request.validation, measured);
  return [make = std::move(make), cubes](const EngineRequest& wanted) -> std::unique_ptr<Engine> {
    return std::make_unique<MeasuredEngine>(cubes, make(wanted), wanted.steps_per_epoch());
  };
}

}  // namespace stoker
