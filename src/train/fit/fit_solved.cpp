#include "train/fit/fit_solved.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/text/text.h"
#include "base/time/elapsed.h"
#include "data/split/time_order.h"
#include "data/table/value_rows.h"
#include "train/choose/choose_decision.h"
#include "train/fit/fit_network.h"
#include "train/group/groups.h"
#include "train/rows/weigh_rows.h"

namespace stoker {
namespace {

// In double precision on the CPU, faster than the data would reach a GPU.
void say_what_is_not_used(const FitConfig& config, std::string_view type, const Notes& notes) {
  if (config.device != "auto" && choose_device(config.device, notes).is_cuda())
    notes(Severity::info, fmt::format("{} is solved on the CPU; device {} is not used", type, config.device));
  if (config.engine != EngineChoice::automatic)
    notes(Severity::info,
          fmt::format("{} needs no engine; engine {} is not used", type, config::name_of(config.engine)));
  if (config.placement.placement != PlacementChoice::automatic)
    notes(Severity::info, fmt::format("{} is solved where the rows are; placement {} is not used", type,
                                      config::name_of(config.placement.placement)));
}

template <class Whole>
bool is_a(const std::string& text) {
  Whole number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool are_whole_numbers(const std::vector<std::string>& classes) {
  return std::all_of(classes.begin(), classes.end(), [](const std::string& text) {
    return is_a<std::int64_t>(text) || is_a<std::uint64_t>(text);
  });
}

// A model of numbers takes few whole numbers for quantities unless it was told otherwise.
Preparation refit_for_numbers(const FitRequest& request, Preparation preparation) {
  const bool taken_for_classes =
      request.preparation.task == TaskChoice::automatic && preparation.task() != Task::regression;
  if (!taken_for_classes || !are_whole_numbers(preparation.classes())) return preparation;
  PreparationConfig regression = request.preparation;
  regression.task = TaskChoice::regression;
  return Preparation::fit(request.training, regression, Scaling::none, no_notes());
}

std::vector<std::string> families_for(Targets targets) {
  std::vector<std::string> names;
  for (const Family& each : families())
    if (each.targets == targets || each.targets == Targets::either) names.emplace_back(each.name);
  return names;
}

void refuse_wrong_targets(const Family& family, const Preparation& preparation) {
  const bool has_classes = preparation.task() != Task::regression;
  const Targets wanted = has_classes ? Targets::classes : Targets::numbers;
  if (family.targets == wanted || family.targets == Targets::either) return;
  const std::vector<std::string> others = families_for(wanted);
  const std::string fitting =
      fmt::format("use model_type {} (--model {})", join(others, ", "), others.front());
  if (has_classes)
    refuse(
        "{} predicts numbers, but the target column '{}' has {} classes; {}, or set task: regression if its "
        "values are quantities (--task regression)",
        family.name, preparation.target_column(), preparation.classes().size(), fitting);
  refuse(
      "{} predicts classes, but the target column '{}' contains quantities; {}, or set task: multiclass if "
      "its "
      "values are classes (--task multiclass)",
      family.name, preparation.target_column(), fitting);
}

// Rows in the order of the folds that cross-validation holds back.
struct FoldedRows {
  Table table;
  std::vector<HeldBackRange> folds;  // none: it makes its own
};

// Blocks of time; rows before and behind one that share a moment with it are not trained on.
FoldedRows in_blocks_of_time(const Table& table, const Family& family, const config::Value& settings) {
  const std::int64_t rows = table.rows();
  const std::int64_t count = std::min(family.folds(settings, rows), rows);
  FoldedRows folded{take_rows(table, rows_in_time(table)), {}};
  for (std::int64_t fold = 0; fold < count; ++fold) {
    const RowRange block{fold * rows / count, (fold + 1) * rows / count};
    const auto [first, last] = rows_overlapping(folded.table, block.first, block.last);
    if (last - first == rows)
      refuse(
          "{}: no row is left to train on where block {} of {} is held back, because all others share "
          "moments "
          "with it; use a longer series, shorter windows, a smaller horizon, or a model without "
          "cross-validation",
          family.name, fold + 1, count);
    folded.folds.push_back({block, {first, last}});
  }
  return folded;
}

// Where the split kept groups together, a fold must too: else rows of one group choose the alpha for each
// other.
FoldedRows in_folds(const Table& table, const Family& family, const config::Value& settings) {
  if (table.time_order && family.folds != nullptr) return in_blocks_of_time(table, family, settings);
  if (table.group_column.empty() || family.folds == nullptr) return {table, {}};
  const std::vector<ValueRows> groups = rows_by_value(table, table.group_column);
  if (groups.size() < 2)
    refuse(
        "{}: all training rows belong to one group of group_column '{}', which cannot be on both sides of a "
        "cross-validation",
        family.name, table.group_column);
  const std::int64_t count = family.folds(settings, static_cast<std::int64_t>(groups.size()));
  std::vector<std::int64_t> order;
  FoldedRows folded;
  for (const SplitRows& fold : fold_groups(groups, {}, count, 0)) {
    const auto first = static_cast<std::int64_t>(order.size());
    order.insert(order.end(), fold.second.begin(), fold.second.end());
    const RowRange group{first, static_cast<std::int64_t>(order.size())};
    folded.folds.push_back({group, group});
  }
  folded.table = take_rows(table, order);
  return folded;
}

Dataset dataset_of(const FitRequest& request, const Preparation& preparation, const Table& rows) {
  Dataset data = preparation.apply_to_training(rows, DType::float64);
  const std::vector<double> class_weights =
      class_weights_on(rows, preparation, request.preparation.class_weights);
  weigh_rows(rows, request.preparation.weight_column, class_weights, data);
  return data;
}

// Of a family that weighs classes by settings of its own.
void refuse_weighing_twice(const FitRequest& request) {
  if (!request.preparation.class_weights.is_wanted()) return;
  ClassWeighting own;
  config::Diagnostics unread("");
  for (const config::Field& field : fields(own))
    if (const config::Value* value = request.spec.settings.find(field.name)) field.read(*value, "", unread);
  if (own.is_wanted())
    refuse("both {} and its training weigh the classes; leave class_weight and class_weights to one of them",
           request.spec.family);
}

// A penalty that cross-validation chose at an end of those that it tried may not be the best there is.
void say_if_at_edge(const Solution& solution, std::string_view type, const Notes& notes) {
  const std::vector<double>& tried = solution.path_alphas;
  if (!solution.alpha || tried.size() < 2) return;
  const auto [smallest, largest] = std::minmax_element(tried.begin(), tried.end());
  const auto learnt = find_array(solution.parameters, "coefficients").as<double>();
  if (std::all_of(learnt.begin(), learnt.end(), [](double each) { return each == 0; })) {
    notes(
        Severity::warning,
        fmt::format("{} chose an alpha at which every coefficient is 0: no column was found to help", type));
  } else if (*solution.alpha == *smallest || *solution.alpha == *largest) {
    notes(Severity::warning,
          fmt::format("{} chose alpha {:.6g}, the {} of the {} that it tried; a better one may lie beyond: "
                      "set alphas (--alphas)",
                      type, *solution.alpha, *solution.alpha == *smallest ? "smallest" : "largest",
                      tried.size()));
  }
}

}  // namespace

Preparation prepare_solved(const FitRequest& request, const Notes& notes) {
  const Family& family = family_of(request.spec);
  Preparation preparation = Preparation::fit(request.training, request.preparation, Scaling::none, notes);
  if (family.targets == Targets::numbers) preparation = refit_for_numbers(request, std::move(preparation));
  refuse_wrong_targets(family, preparation);
  if (preparation.steps() > 1)
    refuse("{} predicts one number, but answer: path asks for {}; use answer: ahead, or a network",
           family.name, preparation.steps());
  return preparation;
}

FitResult fit_solved(const FitRequest& request, const Notes& notes, const StopSignal& stop) {
  const Family& family = family_of(request.spec);
  say_what_is_not_used(request.config, family.name, notes);
  if (!request.preparation.weight_column.empty() && !family.weighs_rows)
    refuse(
        "weight_column '{}': {} gives all rows the same weight; networks can weight them (--model "
        "neural_network)",
        request.preparation.weight_column, family.name);
  refuse_weighing_twice(request);
  Preparation preparation = prepare_solved(request, notes);
  refuse_decision_of_task(request.config.decision, choice_of(preparation.task()),
                          preparation.target_column());
  const FoldedRows rows = in_folds(request.training, family, request.spec.settings);
  const Dataset data = dataset_of(request, preparation, rows.table);
  Network network = network_for(family, request.spec.settings, preparation);
  StopSignal limited;
  limited.heed(stop);
  if (request.config.time_limit > 0) limited.stop_after(request.config.time_limit);

  FitResult result;
  const Moment begin = now();
  result.solution = family.solve({network, preparation, data, rows.folds, notes, limited});
  if (result.solution->out_of_time) result.end = TrainingEnd::time_limit;
  say_if_at_edge(*result.solution, family.name, notes);
  result.seconds = seconds_since(begin);
  result.model = {std::move(network), std::move(preparation), result.solution->parameters,
                  result.solution->alpha};
  decide(request.config.decision, {}, notes, result);
  result.engine = result.solution->method;
  result.device = Device::cpu().name();
  result.placement = "host";
  return result;
}

}  // namespace stoker
