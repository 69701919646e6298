#include "train/loop/metric_stopping.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/text/text.h"
#include "engine/edits_in_place.h"

namespace stoker {
namespace {

// In place of what the engine itself says of the metric: that knows nothing of a decision threshold.
void set_value(EpochRecord& epoch, const std::string& name, double value) {
  const auto found = std::ranges::find(epoch.values, name, &NamedValue::name);
  if (found == epoch.values.end())
    epoch.values.push_back({name, value});
  else
    found->value = value;
}

class JudgedEngine : public Engine, public EditsInPlace {
 public:
  JudgedEngine(MetricStopping stopping, std::unique_ptr<Engine> engine, std::int64_t steps_per_epoch)
      : stopping_(std::move(stopping)), engine_(std::move(engine)), steps_per_epoch_(steps_per_epoch) {}

  std::string_view name() const override { return engine_->name(); }

  // Epoch by epoch, so that each is judged by the weights at its end.
  ChunkResult run(const Chunk& chunk) override {
    ChunkResult result;
    result.stopped_early = stopped_;
    const std::int64_t end = chunk.first_step + static_cast<std::int64_t>(chunk.learning_rates.size());
    for (std::int64_t step = chunk.first_step; step < end && !stopped_;) {
      const std::int64_t part_end = std::min(end, (step / steps_per_epoch_ + 1) * steps_per_epoch_);
      const auto rates = chunk.learning_rates.begin() + (step - chunk.first_step);
      ChunkResult part = engine_->run({step, {rates, rates + (part_end - step)}});
      result.is_sound = part.is_sound;
      if (!part.is_sound) return result;
      for (EpochRecord& epoch : part.finished_epochs) {
        judge(epoch);
        result.finished_epochs.push_back(epoch);
      }
      step = part_end;
    }
    result.stopped_early = stopped_;
    return result;
  }

  NamedArrays state() const override {
    NamedArrays state = engine_->state();
    for (const NamedArray& each : best_.empty() ? engine_->parameters() : best_)
      state.push_back({prefix() + "parameters." + each.name, each.array});
    state.push_back({prefix() + "value", Array::from<double>(std::array{best_value_}, {1})});
    const std::array<std::int64_t, 3> numbers{since_best_, stopped_ ? 1 : 0, best_.empty() ? 0 : 1};
    state.push_back({prefix() + "counters", Array::from<std::int64_t>(numbers, {3})});
    return state;
  }

  void restore(const NamedArrays& state) override {
    const auto numbers = kept(state, "counters", DType::int64, {3}).as<std::int64_t>();
    if (numbers[0] < 0) refuse("the saved state counts negative epochs");
    const double value = kept(state, "value", DType::float64, {1}).as<double>()[0];
    NamedArrays best;
    for (const NamedArray& each : engine_->parameters())
      best.push_back(
          {each.name, kept(state, "parameters." + each.name, each.array.type(), each.array.shape())});
    engine_->restore(state);
    since_best_ = numbers[0];
    stopped_ = numbers[1] != 0;
    best_value_ = value;
    best_ = numbers[2] != 0 ? std::move(best) : NamedArrays{};
  }

  NamedArrays parameters() const override { return engine_->parameters(); }
  NamedArrays best_parameters() const override { return best_.empty() ? engine_->parameters() : best_; }
  Precision precision() const override { return engine_->precision(); }
  bool can_start_over() const override { return engine_->can_start_over(); }
  MemoryUse memory() const override { return engine_->memory(); }
  std::unique_ptr<StructureHandle> structure() override {
    auto* in_place = dynamic_cast<EditsInPlace*>(engine_.get());
    return in_place == nullptr ? nullptr : in_place->structure();
  }

 private:
  std::string prefix() const { return fmt::format("best_by_{}.", stopping_.metric->name); }

  const Array& kept(const NamedArrays& state, const std::string& name, DType type, const Shape& shape) const {
    const std::string wanted = prefix() + name;
    const auto found =
        std::find_if(state.begin(), state.end(), [&](const NamedArray& each) { return each.name == wanted; });
    if (found == state.end())
      refuse(
          "the checkpoint kept no weights that are best by {}: early_stopping_metric was another one; leave "
          "it as it was, or train from the beginning",
          stopping_.metric->name);
    if (found->array.type() != type || found->array.shape() != shape)
      refuse("the array '{}' of the saved state does not fit this training: it belongs to another one",
             wanted);
    return found->array;
  }

  bool is_better(double value) const {
    if (std::isnan(value)) return false;
    if (best_.empty()) return true;
    return stopping_.metric->higher_is_better ? value > best_value_ + stopping_.min_delta
                                              : value < best_value_ - stopping_.min_delta;
  }

  void judge(EpochRecord& epoch) {
    NamedArrays parameters = engine_->parameters();
    const double value = stopping_.rows.measure(*stopping_.metric, parameters);
    set_value(epoch, fmt::format("validation_{}", stopping_.metric->name), value);
    epoch.is_best = is_better(value);
    if (epoch.is_best) {
      best_value_ = value;
      best_ = std::move(parameters);
      since_best_ = 0;
    } else {
      ++since_best_;
    }
    stopped_ = stopping_.patience > 0 && since_best_ >= stopping_.patience;
  }

  MetricStopping stopping_;
  std::unique_ptr<Engine> engine_;
  std::int64_t steps_per_epoch_;
  NamedArrays best_;  // none before the first epoch that could be measured
  double best_value_ = std::numeric_limits<double>::quiet_NaN();
  std::int64_t since_best_ = 0;
  bool stopped_ = false;
};

}  // namespace

std::string problem_with_stopping_metric(const TrainingSettings& config, const Family& family) {
  if (config.early_stopping_metric == validation_loss_metric || family.phases == nullptr) return "";
  return fmt::format("{} cannot be used with {}, which is trained in phases; leave it at {}",
                     config.early_stopping_metric, family.name, validation_loss_metric);
}

std::optional<MetricStopping> metric_stopping(const TrainingSettings& config, const Network& network,
                                              const Preparation& preparation, const Dataset& validation,
                                              const Decision& decision) {
  if (config.early_stopping_metric == validation_loss_metric) return std::nullopt;
  const Metric& metric = *find_metric(config.early_stopping_metric);
  const Task task = preparation.task();
  if (!metric.is_for(task))
    refuse("early_stopping_metric {} does not fit the task {}; use {}, or {}", metric.name,
           config::name_of(task), validation_loss_metric, join(names_of_metrics(task), ", "));
  if (const std::string problem = problem_with_stopping_metric(config, family_of(network)); !problem.empty())
    refuse("early_stopping_metric {}", problem);
  Model model{network, preparation, {}};
  model.decision = decision;
  RowsToMeasure rows(std::move(model), validation);
  if (metric.needs == MetricNeeds::ranked_classes)
    if (const auto absent = rows.absent_class())
      refuse(
          "early_stopping_metric {} needs every class among the validation rows, but class '{}' is not "
          "there; "
          "raise validation_ratio, or use another metric, for example {}",
          metric.name, absent->substr(0, 100), loss_metric(task).name);
  return MetricStopping{&metric, std::move(rows), config.early_stopping_patience,
                        config.early_stopping_min_delta};
}

std::unique_ptr<Engine> judged_by(MetricStopping stopping, std::unique_ptr<Engine> engine,
                                  std::int64_t steps_per_epoch) {
  return std::make_unique<JudgedEngine>(std::move(stopping), std::move(engine), steps_per_epoch);
}

MakeEngine making(const EngineMaker& maker, std::optional<MetricStopping> stopping) {
  return [&maker, stopping = std::move(stopping)](const EngineRequest& request) {
    std::unique_ptr<Engine> engine = maker.make(request);
    return stopping ? judged_by(*stopping, std::move(engine), request.steps_per_epoch()) : std::move(engine);
  };
}

}  // namespace stoker
