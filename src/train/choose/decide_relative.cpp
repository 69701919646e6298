#include "train/choose/decide_relative.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/text.h"
#include "base/time/elapsed.h"
#include "data/split/time_order.h"
#include "data/windows/windows.h"
#include "predict/measure/evaluate.h"
#include "train/fit/fit_network.h"
#include "train/loop/diverged.h"

namespace stoker {
namespace {

constexpr std::int64_t fewest_rows_to_try = 100;
constexpr double share_held_out = 0.2;
constexpr std::int64_t fewest_epochs_to_try = 10;
constexpr std::size_t longest_decision = 64;

struct SavedDecision {
  RelativeTo relative_to = RelativeTo::none;
  double seconds = 0;  // that it took
};

std::filesystem::path decision_file(const FitRequest& request) {
  return request.checkpoints.empty() ? std::filesystem::path() : request.checkpoints / "relative_to";
}

// Earlier versions saved no seconds.
double seconds_in_decision(const std::string& text) {
  double seconds = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  return problem == std::errc() && std::isfinite(seconds) && seconds > 0 ? seconds : 0;
}

std::optional<SavedDecision> saved_decision(const FitRequest& request) {
  const std::filesystem::path file = decision_file(request);
  std::error_code error;
  if (!request.resume || file.empty() || !std::filesystem::is_regular_file(file, error) ||
      std::filesystem::file_size(file, error) > longest_decision)
    return std::nullopt;
  const std::vector<std::string> parts = split_text(read_file(file, longest_decision), ' ');
  for (const RelativeTo each : {RelativeTo::none, RelativeTo::last})
    if (parts.front() == config::name_of(each))
      return SavedDecision{each, parts.size() > 1 ? seconds_in_decision(parts[1]) : 0};
  return std::nullopt;
}

// Checkpoints of a version that decided by the training rows alone.
bool has_older_checkpoints(const FitRequest& request) {
  std::error_code error;
  return request.resume && !request.checkpoints.empty() &&
         std::filesystem::is_directory(request.checkpoints, error) &&
         !std::filesystem::is_empty(request.checkpoints, error);
}

void save_decision(const FitRequest& request, const SavedDecision& decision) {
  const std::filesystem::path file = decision_file(request);
  if (file.empty()) return;
  std::filesystem::create_directories(file.parent_path());
  write_file(file, fmt::format("{} {}", config::name_of(decision.relative_to), decision.seconds));
}

// Whether the rows could be told relative to their last value, and lie nearer to it than to their mean.
bool may_be_relative(const FitRequest& request) {
  const InputForm form = form_of(family_of(request.spec), request.spec.settings);
  return Preparation::fit(request.training, request.preparation, form, no_notes()).is_relative();
}

class RelativeTrial {
 public:
  RelativeTrial(const FitRequest& request, const FitOne& fit_one, const StopSignal& stop)
      : request_(request), fit_one_(fit_one), stop_(stop) {
    const std::int64_t rows = request.training.rows();
    const auto held_out = std::llround(share_held_out * static_cast<double>(rows));
    SplitRows parts = split_by_time(request.training, rows - held_out, held_out);
    earlier_ = take_rows(request.training, std::move(parts.first));
    latest_ = take_rows(request.training, std::move(parts.second));
  }

  // Infinite if the training diverges.
  double error_of(RelativeTo relative_to) {
    FitRequest trial{.training = earlier_,
                     .spec = request_.spec,
                     .preparation = request_.preparation,
                     .config = request_.config,
                     .checkpoints = {},
                     .resume = false,
                     .threads = request_.threads,
                     .heeds_figures = false};
    trial.preparation.relative_to = relative_to;
    // A member of an ensemble is validated on the rows of its fold.
    const EnsembleConfig& ensemble = request_.config.ensemble;
    if (ensemble.is_wanted() && !trial.spec.training.sets_rows_aside())
      trial.spec.training.validation_ratio = 1.0 / static_cast<double>(ensemble.folds);
    trial.config.ensemble = {};
    trial.config.walk_forward = {};
    trial.config.decision = {};
    trial.config.keep = {};
    trial.config.time_limit = request_.config.time_limit / 4;
    std::int64_t& epochs = trial.spec.training.epochs;
    epochs = std::min(epochs, std::max(fewest_epochs_to_try, epochs / 4));
    trial.spec.training.warmup_epochs = std::min(trial.spec.training.warmup_epochs, epochs / 4);
    const Moment begin = now();
    try {
      NobodyListens silent;
      const FitResult result = fit_one_(trial, silent, stop_);
      seconds_ += result.seconds;
      const Metric& metric = *find_metric("rmse");
      return evaluate(result.model, latest_, no_notes(), {&metric, 1}).metric(metric.name).value();
    } catch (const Diverged&) {
      seconds_ += seconds_since(begin);
      return std::numeric_limits<double>::infinity();
    }
  }

  double seconds() const { return seconds_; }  // of the trainings, as a time limit counts them

 private:
  const FitRequest& request_;
  const FitOne& fit_one_;
  const StopSignal& stop_;
  Table earlier_;
  Table latest_;
  double seconds_ = 0;
};

}  // namespace

DecidedPreparation decide_relative_to(const FitRequest& request, const FitOne& fit_one, const Notes& notes,
                                      const StopSignal& stop) {
  DecidedPreparation decided{request.preparation};
  RelativeTo& relative_to = decided.preparation.relative_to;
  const bool is_open = relative_to == RelativeTo::automatic && !request.spec.is_solved() &&
                       request.training.windows != nullptr && request.training.time_order != nullptr &&
                       request.training.rows() >= fewest_rows_to_try;
  if (!is_open) return decided;
  if (const auto saved = saved_decision(request)) {
    relative_to = saved->relative_to;
    decided.seconds = saved->seconds;
    return decided;
  }
  if (has_older_checkpoints(request) || !may_be_relative(request)) return decided;
  RelativeTrial trial(request, fit_one, stop);
  const double relative = trial.error_of(RelativeTo::last);
  const double plain = trial.error_of(RelativeTo::none);
  decided.seconds = trial.seconds();
  if (std::isinf(relative) && std::isinf(plain)) return decided;  // so will the training, which says why
  relative_to = relative < plain ? RelativeTo::last : RelativeTo::none;
  save_decision(request, {relative_to, decided.seconds});
  notes(Severity::info,
        fmt::format("relative_to: {} was chosen for '{}': on the latest fifth of the training rows, short "
                    "trainings have an RMSE of {:.4g} relative to the last value and of {:.4g} without",
                    config::name_of(relative_to), decided.preparation.target_column, relative, plain));
  return decided;
}

double time_limit_after(double time_limit, double seconds) {
  if (time_limit <= 0) return 0;
  return std::max(time_limit - seconds, std::numeric_limits<double>::min());
}

}  // namespace stoker
