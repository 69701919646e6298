#include "sweep/material.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "data/target_column.h"
#include "pipeline/rows_to_come.h"
#include "pipeline/training_card.h"
#include "train/folds.h"
#include "train/groups.h"

namespace stoker {
namespace {

// Tables and prepared rows may each take this share of the memory before those that serve no more are
// forgotten.
constexpr std::uint64_t kept_share = 8;

class SaysNotes : public TrainingListener {
 public:
  explicit SaysNotes(const Notes& notes) : notes_(notes) {}
  void epoch_finished(const EpochReport&) override {}
  void advanced(std::int64_t, std::int64_t, double) override {}
  void note(Severity severity, const std::string& message) override { notes_(severity, message); }

 private:
  const Notes& notes_;
};

// Whether the card is the other one or is fed by it, over others or not.
bool needs(const Document& document, const std::string& id, const std::string& other) {
  if (id == other) return true;
  const Card& card = card_named(document, id);
  return std::any_of(card.inputs.begin(), card.inputs.end(),
                     [&](const Connection& each) { return needs(document, each.card, other); });
}

bool needs_a_model(const Document& document, const std::string& id) {
  return std::any_of(document.cards.begin(), document.cards.end(),
                     [&](const Card& card) { return trains(card) && needs(document, id, card.id); });
}

std::vector<SplitRows> folds_of(const Table& table, std::span<const std::int64_t> classes,
                                const SweepConfig& config) {
  return table.group_column.empty()
             ? fold_rows(table.rows(), classes, config.folds, config.seed)
             : fold_groups(rows_by_value(table, table.group_column), classes, config.folds, config.seed);
}

// The rows that are trained and scored on, once for each fold.
std::vector<SplitRows> splits_of(const Table& table, std::span<const std::int64_t> classes,
                                 const SweepConfig& config, const ModelSpec& spec) {
  if (config.folds > 0) return folds_of(table, classes, config);
  return {validation_rows(table, classes, spec.training)};
}

// Ranks are compared between classes: each must be among the rows that are scored.
void refuse_absent_classes(const LearntTarget& target, std::span<const std::int64_t> classes,
                           const std::vector<SplitRows>& splits) {
  for (const SplitRows& split : splits) {
    std::set<std::int64_t> met;
    for (const std::int64_t row : split.second) met.insert(classes[static_cast<std::size_t>(row)]);
    for (std::size_t each = 0; each < target.classes.size(); ++each) {
      const auto number = static_cast<std::int64_t>(each);
      if (met.contains(number)) continue;
      const auto rows = std::count(classes.begin(), classes.end(), number);
      refuse(
          "sweep.metric roc_auc needs every class among the rows that are held back{}, but class '{}' has "
          "{} row{} in all and is not there; give it more rows or leave it out, or use accuracy, macro_f1 or "
          "log_loss",
          splits.size() > 1 ? " in each fold" : "", target.classes[each], rows, rows == 1 ? "" : "s");
    }
  }
}

// What the rows to train and score on depend on, the fold aside: without folds, no setting that is searched
// chooses others.
std::string rows_key_of(const Work& work, const std::string& identity) {
  return fmt::format("{}\n{}", identity, config::to_yaml(config::write(work.settings.preparation)));
}

// Of two that mean none by 0.
double shorter_limit(double a, double b) {
  return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b);
}

std::uint64_t bytes_of(const PortValues& values) {
  constexpr std::uint64_t of_anything_else = 1024;
  std::uint64_t bytes = 0;
  for (const auto& [name, value] : values) {
    bytes += of_anything_else;
    if (const Table* table = std::get_if<Table>(&value)) bytes += table->bytes();
    if (const auto* arrays = std::get_if<std::shared_ptr<const NamedArrays>>(&value))
      for (const NamedArray& each : **arrays) bytes += each.array.bytes();
  }
  return bytes;
}

// Where memory runs out in training, that is the machine's fault; a network for which there could never be
// enough is the candidate's.
void refuse_if_too_large(const Work& work, std::uint64_t memory) {
  if (work.spec.is_solved()) return;
  const std::int64_t count =
      parameter_count(network_for(family_of(work.spec), work.spec.settings, work.rows->data.preparation));
  const std::uint64_t weights = static_cast<std::uint64_t>(count) * sizeof(float);
  const std::uint64_t least = 2 * weights;  // as they are, and the best
  if (least > memory)
    refuse("{} weights take at least {}, and there are {} of memory in all", count, human_bytes(least),
           human_bytes(memory));
}

// A metric of classes says nothing about numbers, and the other way round.
void refuse_metric(SweepMetric metric, TaskChoice task) {
  const bool of_numbers = metric == SweepMetric::rmse || metric == SweepMetric::mae ||
                          metric == SweepMetric::mse || metric == SweepMetric::r2;
  if (metric == SweepMetric::loss || of_numbers == (task == TaskChoice::regression)) return;
  refuse("sweep.metric {} does not fit the task {}; use {}", config::name_of(metric), config::name_of(task),
         of_numbers ? "loss, accuracy, macro_f1, log_loss or roc_auc" : "loss, rmse, mae, mse or r2");
}

}  // namespace

Material::Material(const SweepDocument& sweep, Notes notes, const StopSignal& stop)
    : sweep_(sweep), stop_(stop) {
  // Every candidate meets the same peculiarities of the data; one is enough to tell.
  notes_ = [this, notes = std::move(notes)](Severity severity, const std::string& message) {
    if (said_.insert(message).second) notes(severity, message);
  };
}

std::uint64_t PreparedRows::bytes() const {
  std::uint64_t bytes = training.bytes() + validation.bytes();
  for (const Dataset* each : {&data.training, &data.validation, &placed_training, &placed_validation})
    bytes += each->bytes();
  return bytes;
}

std::uint64_t Material::memory() {
  if (memory_) return *memory_;
  memory_ = memory_bytes();
  for (const DeviceInfo& info : list_devices().devices)
    if (info.device == device()) memory_ = std::min(*memory_, info.total_bytes);
  return *memory_;
}

Device Material::device() {
  if (!device_) {
    const Card& train = card_named(sweep_.base, sweep_.train_card);
    device_ = choose_device(train.kind->training(train.config).fit.device, notes_);
  }
  return *device_;
}

const Outside& Material::outside_of(const Card& card, const CardType& type,
                                    const std::filesystem::path& folder) {
  static const Outside nothing;
  if (type.look_outside == nullptr) return nothing;
  const std::string key = type.name + "\n" + config::to_yaml(card.config);
  const auto found = outsides_.find(key);
  if (found != outsides_.end()) return found->second;
  return outsides_.emplace(key, type.look_outside(card.config, folder, stop_)).first->second;
}

std::string Material::identity_of(const Document& document, const std::string& id) {
  const Card& card = card_named(document, id);
  std::vector<std::string> sources;
  for (const Connection& connection : card.inputs) sources.push_back(identity_of(document, connection.card));
  return identity_of_card(card, sources, outside_of(card, *card.kind, document.folder).fingerprint);
}

std::string Material::identity_at(const Document& document, const Connection& connection) {
  return identity_of(document, connection.card) + "." + connection.output;
}

// A table that was split is not asked for again, so that it can be forgotten.
Material::Output Material::output_of(const Document& document, const std::string& id) {
  const std::string identity = identity_of(document, id);
  if (Output kept = outputs_.find(identity)) return kept;
  const Card& card = card_named(document, id);
  const CardType& type = *card.kind;
  InputValues inputs;
  for (const Connection& connection : card.inputs)
    inputs[connection.input].push_back(value_at(document, connection));
  SaysNotes listener(notes_);
  const CardContext context{.config = card.config,
                            .inputs = inputs,
                            .outside = outside_of(card, type, document.folder),
                            .document_folder = document.folder,
                            .tables_to_evaluate = {},
                            .checkpoints = {},
                            .resume = false,
                            .listener = listener,
                            .stop = stop_};
  PortValues values = type.run(context);
  const std::uint64_t bytes = bytes_of(values);
  return outputs_.add(identity, std::move(values), bytes);
}

PortValue Material::value_at(const Document& document, const Connection& connection) {
  return output_of(document, connection.card)->at(connection.output);
}

std::string Material::data_fingerprint() {
  const std::lock_guard lock(mutex_);
  std::string fingerprints;
  for (const Card& card : sweep_.base.cards) {
    if (!needs(sweep_.base, sweep_.train_card, card.id)) continue;
    fingerprints += outside_of(card, *card.kind, sweep_.base.folder).fingerprint + "\n";
  }
  return sha256_of_text(fingerprints);
}

// A target that cannot be compared must not come to light only when the winner is refitted.
void Material::check_tests(const Document& document, const Work& work, const Table& training,
                           const std::string& identity) {
  std::set<std::string> cards;
  for (const Card& card : document.cards) cards.insert(card.id);
  for (const Connection& test : tests_of_model(document, cards, sweep_.train_card)) {
    if (needs_a_model(document, test.card)) continue;
    const std::string key = fmt::format("{}\n{}\n{}", identity, identity_at(document, test),
                                        config::to_yaml(config::write(work.settings.preparation)));
    if (checked_tests_.contains(key)) continue;
    refuse_unusable_targets(std::get<Table>(value_at(document, test)), training, work.settings.preparation);
    checked_tests_.insert(key);
  }
}

PreparedRows Material::made_rows(const Work& work, const Table& table, std::int64_t fold) {
  PreparedRows made;
  made.settings = work.settings.preparation;
  PreparationConfig settled = made.settings;
  const std::vector<std::int64_t> classes = classes_of(table, settled, no_notes());
  const SplitRows rows =
      splits_of(table, classes, sweep_.config, work.spec).at(static_cast<std::size_t>(fold));
  made.training = take_rows(table, rows.first);
  made.validation = take_rows(table, rows.second);
  const bool takes_numbers = family_of(work.spec).targets == Targets::numbers;
  made.task = takes_numbers ? TaskChoice::regression : settled.task;
  if (work.spec.is_solved()) return made;
  made.settings = settled;
  made.data = prepare(made.training, &made.validation, settled, notes_);
  made.placed_validation = place(made.data.validation, work.device, notes_).dataset;
  made.placed_training = place(made.data.training, work.device, notes_).dataset;
  return made;
}

void Material::check_ranked_classes(const Work& work, const Table& table, const std::string& key) {
  const bool has_classes = family_of(work.spec).targets != Targets::numbers;
  if (sweep_.config.metric != SweepMetric::roc_auc || !has_classes || checked_classes_.contains(key)) return;
  const PreparationConfig& settings = work.settings.preparation;
  const LearntTarget target = learn_target(table, settings, Scaling::standard, no_notes());
  if (target.task == Task::regression) return;
  const std::vector<std::int64_t> classes =
      target_class_numbers(table, settings.target_column, target.classes);
  refuse_absent_classes(target, classes, splits_of(table, classes, sweep_.config, work.spec));
  checked_classes_.insert(key);
}

std::shared_ptr<const PreparedRows> Material::rows_for(const Work& work, const Table& table,
                                                       const std::string& rows_key, std::int64_t fold) {
  const std::string key = fmt::format("{}\n{}", rows_key, fold);
  if (auto kept = prepared_.find(key)) return kept;
  PreparedRows made = made_rows(work, table, fold);
  const std::uint64_t bytes = made.bytes();
  return prepared_.add(key, std::move(made), bytes);
}

void Material::load() {
  const std::lock_guard lock(mutex_);
  value_at(sweep_.base, rows_to_train_on(card_named(sweep_.base, sweep_.train_card)));
}

Work Material::work_for(const Candidate& candidate, std::int64_t fold) {
  const Document document = sweep_.with(candidate);
  const std::lock_guard lock(mutex_);
  const Card& train = card_named(document, sweep_.train_card);
  const Connection& data = rows_to_train_on(train);
  const Connection& model = model_to_train(train);
  Work work;
  work.settings = train.kind->training(train.config);
  work.settings.fit.time_limit = shorter_limit(work.settings.fit.time_limit, train.time_limit);
  work.device = device();
  work.spec = std::get<ModelSpec>(value_at(document, model));
  const Table table = std::get<Table>(value_at(document, data));
  const std::string identity = identity_at(document, data);
  if (!work.spec.is_solved()) refuse_contradictions(work.spec.training);
  check_tests(document, work, table, identity);
  const std::string key = rows_key_of(work, identity);
  check_ranked_classes(work, table, key);
  work.rows = rows_for(work, table, key, fold);
  refuse_metric(sweep_.config.metric, work.rows->task);
  refuse_if_too_large(work, memory());
  outputs_.forget_beyond(memory() / kept_share);
  prepared_.forget_beyond(memory() / kept_share);
  return work;
}

}  // namespace stoker
