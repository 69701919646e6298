#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/field.h"
#include "config/usual_bounds.h"
#include "pipeline/document/document.h"

// The search space of a document: settings that stand for many values, and the section that says how they are
// searched.
namespace stoker {

enum class Strategy { grid, random, halving };
enum class Refit { training, all, none };
enum class SearchKind { grid, choice, uniform, log_uniform, int_uniform };

constexpr std::int64_t most_candidates = 100'000;

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 3> stoker::config::names<stoker::Strategy>{"grid", "random",
                                                                                         "halving"};
template <>
inline constexpr std::array<std::string_view, 3> stoker::config::names<stoker::Refit>{"training", "all",
                                                                                      "none"};
template <>
inline constexpr std::array<std::string_view, 5> stoker::config::names<stoker::SearchKind>{
    "grid", "choice", "uniform", "log_uniform", "int_uniform"};

namespace stoker {

// The validation loss that training sees, beside the metrics of predict/measure/metrics.h.
constexpr const char* loss_of_training = "loss";

// The section `sweep` of a document.
struct SweepConfig {
  Strategy strategy = Strategy::grid;
  std::int64_t models = 0;
  std::uint64_t seed = 42;
  std::int64_t folds = 0;
  std::string metric = loss_of_training;
  double time_budget = 0;
  std::int64_t factor = 3;
  std::int64_t min_epochs = 3;
  Refit refit = Refit::training;
};

// loss, and every metric that there is.
std::vector<std::string> names_of_sweep_metrics();

inline config::Fields fields(SweepConfig& c) {
  config::Field metric = config::field("metric", c.metric,
                                       "What candidates are compared by; loss is the validation loss that "
                                       "training sees, all others are in real units");
  metric.choices = names_of_sweep_metrics();
  return {
      config::field("strategy", c.strategy,
                    "grid: every combination; random: draws; halving: all train for min_epochs, the best "
                    "1/factor continue, and so on"),
      config::field("models", c.models,
                    "Candidates that random and halving draw; 0: 32, or every combination if halving "
                    "searches only lists")
          .within(0, static_cast<double>(most_candidates)),
      config::field("seed", c.seed, "Seed of the draws and of the folds"),
      config::field("folds", c.folds,
                    "k-fold cross-validation: each candidate is trained k times; 0: candidates are scored on "
                    "the share that validation_ratio of the model's card holds back")
          .within(0, 1000),
      std::move(metric),
      config::field("time_budget", c.time_budget,
                    "Seconds after which the search ends and the best so far is refitted; 0: no limit")
          .within(0, config::most_seconds),
      config::field("factor", c.factor, "halving: one candidate in this many continues").within(2, 100),
      config::field("min_epochs", c.min_epochs, "halving: epochs before the first candidates are dropped")
          .within(1, 1'000'000),
      config::field("refit", c.refit,
                    "What is trained in the end. training: the winner, on the rows to train on, and it is "
                    "tested; all: after that once more on all rows, those to test with among them; none: "
                    "nothing"),
  };
}

bool higher_is_better(const std::string& metric);

// One setting that is searched.
struct SearchedSetting {
  std::vector<std::string> parts;  // cards, model, config, dropout
  SearchKind kind = SearchKind::grid;
  config::Value written;              // {grid: [0, 0.1]}, as it stands in the document
  std::vector<config::Value> values;  // of grid and choice
  double low = 0;                     // of the others, both included
  double high = 0;
  config::Changes changes = config::Changes::nothing_else;

  bool is_list() const { return kind == SearchKind::grid || kind == SearchKind::choice; }
  std::string path() const;  // cards.model.config.dropout
  std::string name() const;  // model.dropout
  // For the setting's own check: all of a list, of a range its ends and one inside.
  std::vector<config::Value> samples() const;
  config::Value first() const;  // a value that stands for all of them
};

// Whether settings of such a card may be searched, and whether this one may.
bool can_be_searched(const CardType& type);
bool can_be_searched(const config::Field& setting);

// Whether a value of a setting stands for many.
bool is_search(const config::Value& value);

// Every searched setting of a document in its order. What is wrong goes to the diagnostics: empty lists,
// bounds that are none, settings that cannot be searched, values that the setting itself would refuse.
std::vector<SearchedSetting> read_space(const config::Value& document, const CardTypes& types,
                                        config::Diagnostics& diagnostics);

// Every searched setting taken out, so that the rest can be checked; their paths with their lines.
std::vector<std::pair<std::string, int>> take_space_out(config::Value& document);

// Of lists alone; nothing where there is a range, or where there are more than the most.
std::optional<std::int64_t> combinations(const std::vector<SearchedSetting>& space);

// Puts a value where the setting stands.
void put(config::Value& document, const std::vector<std::string>& parts, config::Value value);

}  // namespace stoker
