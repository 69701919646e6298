#include "train/fit.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include "base/error.h"
#include "base/text.h"
#include "data/value_rows.h"
#include "train/fit_network.h"
#include "train/groups.h"

namespace stoker {
namespace {

Notes notes_to(TrainingListener& listener) {
  return [&listener](Severity severity, const std::string& message) { listener.note(severity, message); };
}

// A linear model is solved in double precision on the CPU, faster than its data would reach a GPU.
void say_what_is_not_used(const FitConfig& config, std::string_view type, const Notes& notes) {
  if (config.device != "auto" && choose_device(config.device, notes).is_cuda())
    notes(Severity::info, fmt::format("{} is solved on the CPU; device {} is not used", type, config.device));
  if (config.engine != EngineChoice::automatic)
    notes(Severity::info,
          fmt::format("{} needs no engine; engine {} is not used", type, config::name_of(config.engine)));
}

bool are_whole_numbers(const std::vector<std::string>& classes) {
  return std::all_of(classes.begin(), classes.end(), [](const std::string& text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
  });
}

// A linear model can only predict numbers, so few whole numbers are quantities to it unless it was told
// otherwise.
Preparation prepared_for_numbers(const FitRequest& request, const Notes& notes) {
  Preparation preparation = Preparation::fit(request.training, request.preparation, Scaling::none, notes);
  const bool taken_for_classes =
      request.preparation.task == TaskChoice::automatic && preparation.task() != Task::regression;
  if (!taken_for_classes || !are_whole_numbers(preparation.classes())) return preparation;
  PreparationConfig regression = request.preparation;
  regression.task = TaskChoice::regression;
  return Preparation::fit(request.training, regression, Scaling::none, no_notes());
}

void refuse_classes(const Preparation& preparation, std::string_view type) {
  if (preparation.task() == Task::regression) return;
  refuse(
      "{} predicts numbers, but the target column '{}' has {} classes; use model_type neural_network or "
      "deep_neural_network for classes (--model neural_network), or set task: regression if its values are "
      "quantities (--task regression)",
      type, preparation.target_column(), preparation.classes().size());
}

// Rows in the order of the folds that cross-validation holds back.
struct FoldedRows {
  Table table;
  std::vector<RowRange> folds;  // none: it makes its own
};

// Where the split kept groups together, a fold must too: else rows of one group choose the alpha for each
// other.
FoldedRows in_folds_of_groups(const Table& table, const LinearSpec& spec) {
  const bool is_ridge = spec.kind == LinearKind::ridge_cv;
  if (table.group_column.empty() || (!is_ridge && spec.kind != LinearKind::lasso_cv)) return {table, {}};
  const std::vector<ValueRows> groups = rows_by_value(table, table.group_column);
  if (groups.size() < 2)
    refuse(
        "{}: all rows to train on are of one group of group_column '{}', which cannot be on both sides of a "
        "cross-validation",
        config::name_of(spec.kind), table.group_column);
  // ridge_cv has no setting for it.
  const std::int64_t count =
      is_ridge ? std::min<std::int64_t>(5, static_cast<std::int64_t>(groups.size())) : spec.config.folds;
  std::vector<std::int64_t> order;
  FoldedRows folded;
  for (const SplitRows& fold : fold_groups(groups, {}, count, 0)) {
    const auto first = static_cast<std::int64_t>(order.size());
    order.insert(order.end(), fold.second.begin(), fold.second.end());
    folded.folds.push_back({first, static_cast<std::int64_t>(order.size())});
  }
  folded.table = take_rows(table, order);
  return folded;
}

Model linear_model(const std::string& type, Preparation preparation, const LinearFit& fit) {
  Model model{type, std::move(preparation), std::nullopt, {}, std::nullopt};
  if (type != config::name_of(LinearKind::linear_regression)) model.alpha = fit.alpha;
  const std::span<const double> coefficients(fit.coefficients);
  const std::span<const double> intercept(&fit.intercept, 1);
  model.parameters.push_back(
      {"coefficients", Array::from(coefficients, {static_cast<std::int64_t>(coefficients.size())})});
  model.parameters.push_back({"intercept", Array::from(intercept, {1})});
  return model;
}

// The columns of a one-hot encoding sum to 1 in every row, as the intercept's does: that is how they are
// made, and nothing to warn of. A text with a single value is a constant, which only the intercept could
// repeat.
std::int64_t dependencies_of_encoding(const Preparation& preparation, bool fit_intercept) {
  const auto& columns = preparation.columns();
  const std::int64_t encoded = std::count_if(columns.begin(), columns.end(), [&](const PreparedColumn& each) {
    return each.kind == PreparedColumn::Kind::one_hot && (!fit_intercept || each.categories.size() > 1);
  });
  return fit_intercept ? encoded : std::max<std::int64_t>(0, encoded - 1);
}

FitResult fit_linear_spec(const FitRequest& request, const LinearSpec& spec, TrainingListener& listener,
                          const StopSignal& stop) {
  const Notes notes = notes_to(listener);
  const std::string type(config::name_of(spec.kind));
  say_what_is_not_used(request.config, type, notes);
  if (!request.preparation.weight_column.empty())
    refuse("weight_column '{}': {} weighs all rows the same; networks weigh rows (--model neural_network)",
           request.preparation.weight_column, type);
  Preparation preparation = prepared_for_numbers(request, notes);
  refuse_classes(preparation, type);
  const FoldedRows rows = in_folds_of_groups(request.training, spec);
  const Dataset data = preparation.apply(rows.table, DType::float64, true);
  StopSignal limited;
  limited.heed(stop);
  if (request.config.time_limit > 0) limited.stop_after(request.config.time_limit);

  FitResult result;
  const auto begin = std::chrono::steady_clock::now();
  const MatrixView x{data.features().as<double>(), data.rows(), preparation.feature_count()};
  result.linear = fit_linear(spec.kind, x, data.targets().as<double>(), spec.config, notes, limited,
                             dependencies_of_encoding(preparation, spec.config.fit_intercept), rows.folds);
  if (result.linear->out_of_time) result.end = TrainingEnd::time_limit;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  result.model = linear_model(type, std::move(preparation), *result.linear);
  result.engine = result.linear->method;
  result.device = Device::cpu().name();
  result.placement = "host";
  return result;
}

}  // namespace

std::string model_type(const ModelSpec& spec) {
  return std::visit([](const auto& each) { return std::string(config::name_of(each.kind)); }, spec);
}

FitResult fit(const FitRequest& request, TrainingListener& listener, const StopSignal& stop) {
  if (const auto* linear = std::get_if<LinearSpec>(&request.spec))
    return fit_linear_spec(request, *linear, listener, stop);
  return fit_network(request, std::get<NetworkSpec>(request.spec), listener, notes_to(listener), stop);
}

}  // namespace stoker
