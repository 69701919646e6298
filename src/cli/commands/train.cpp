#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/text/text.h"
#include "cli/commands/command.h"
#include "cli/flags/chosen_settings.h"
#include "cli/flags/class_weights_flag.h"
#include "cli/flags/reading_settings.h"
#include "cli/flags/series_flags.h"
#include "cli/flags/usage.h"
#include "cli/process/execute.h"
#include "cli/view/table_look.h"
#include "cli/view/terminal.h"
#include "config/flags.h"
#include "data/source/source.h"
#include "data/source/standard_input.h"
#include "data/split/split.h"
#include "data/url/kept_downloads.h"
#include "model/family.h"
#include "pipeline/card/card.h"
#include "pipeline/document/document.h"
#include "pipeline/document/document_keys.h"
#include "pipeline/document/recommended.h"

namespace stoker::cli {
namespace {

// What was given on the command line, by the card that it belongs to.
struct TrainCommand {
  std::string data;
  std::string target;
  std::string model = "neural_network";
  std::string name;
  std::string out = "runs";
  bool no_cache = false;
  bool profile = false;
  bool mixed_precision = false;
  bool auto_batch_size = false;
  ShowOptions show;
  SeriesFlags series;
  config::Value windows;  // of a series: the settings of its card
  std::vector<SlowerCard> slower;
  config::Value load;
  config::Value split;
  config::Value linear;
  config::Value network;
  config::Value train;
};

bool is_network(const std::string& model) {
  return !family_named(model).is_solved();
}

std::vector<std::string> model_names() {
  std::vector<std::string> all = family_names(true);
  for (std::string& name : family_names(false)) all.push_back(std::move(name));
  return all;
}

// The settings of a card but for those that the command line has in another form.
config::Fields settings_of(const std::string& card_type, const std::vector<std::string>& left_out) {
  const CardType* type = find_card_type(built_in_card_types(), card_type);
  if (type == nullptr) fail("the card type {} is missing from the program", card_type);
  config::Fields fields = type->describe().fields;
  std::erase_if(fields, [&](const config::Field& field) {
    return std::find(left_out.begin(), left_out.end(), field.name) != left_out.end();
  });
  return fields;
}

bool has_field(const config::Fields& fields, const std::string& name) {
  return std::any_of(fields.begin(), fields.end(), [&](const auto& field) { return field.name == name; });
}

// The settings of all linear models together; each model checks that it reads what was given. One that the
// training has too is a flag of the training: give_model_its_own() moves it.
config::Fields linear_settings() {
  config::Fields all;
  const config::Fields of_training = settings_of("train", {});
  for (const Family& family : families()) {
    if (!family.is_solved()) continue;
    for (const config::Field& field : family.describe().fields) {
      if (!has_field(all, field.name) && !has_field(of_training, field.name)) all.push_back(field);
    }
  }
  return all;
}

// Whatever its settings are.
bool reads_windows(const std::string& model) {
  const Family& family = family_named(model);
  config::Diagnostics diagnostics("");
  const config::Value usual = checked_settings(family, config::Value(config::Value::Map{}), "", diagnostics);
  return form_of(family, usual).reads_windows;
}

void add_setting_flags(CLI::App& app, TrainCommand& command) {
  const auto add = [&app](const char* heading, const config::Fields& fields, config::Value& into) {
    app.option_defaults()->group(heading);
    config::add_flags(app, with_choices_as_defaults(fields), into);
  };
  add_series_flags(app, command.series);
  add("Settings of the network", settings_of("model_define_gpu", {"model_type"}), command.network);
  add("Settings of linear models", linear_settings(), command.linear);
  add("Settings of the training", settings_of("train_gpu", {"target_column"}), command.train);
  add_class_weights_flag(app, command.train);
  app.add_flag("--mixed-precision", command.mixed_precision, "The same as --precision auto");
  app.add_flag("--auto-batch-size", command.auto_batch_size, "The same as --batch-size auto");
  add("Settings of the split", settings_of("data_split", {}), command.split);
  app.option_defaults()->group("Settings of the data");
  add_reading_flags(app, command.load);
}

config::Value card(const char* type, const std::vector<std::pair<std::string, std::string>>& inputs,
                   config::Value settings) {
  config::Value result;
  result.set("type", type);
  for (const auto& [input, output] : inputs) {
    if (result.find("inputs") == nullptr) result.set("inputs", config::Value(config::Value::Map{}));
    result.find("inputs")->set(input, output);
  }
  if (!settings.is_null()) result.set("config", std::move(settings));
  return result;
}

void set_all(config::Value& target, const config::Value& given) {
  const auto* entries = given.get_if<config::Value::Map>();
  if (entries == nullptr) return;
  for (const config::Entry& entry : *entries) target.set(entry.key, entry.value);
}

// A setting that the model has too is meant for the model: logistic_regression weighs classes as scikit-learn
// does, without dividing by the mean.
void give_model_its_own(TrainCommand& command) {
  const auto* given = command.train.get_if<config::Value::Map>();
  if (given == nullptr || is_network(command.model)) return;
  const config::Described family = family_named(command.model).describe();
  config::Value rest;
  for (const config::Entry& entry : *given)
    (has_field(family.fields, entry.key) ? command.linear : rest).set(entry.key, entry.value);
  command.train = std::move(rest);
}

config::Value load_card(const std::string& data, const config::Value& reading) {
  const SourceConfig source = Source::config_for(data);
  config::Value settings;
  settings.set("source", std::string(config::name_of(source.source)));
  if (!source.path.empty()) settings.set("path", source.path);
  if (!source.url.empty()) settings.set("url", source.url);
  if (!source.uri.empty()) settings.set("uri", source.uri);
  if (source.source == SourceKind::datasets)
    settings.set("dataset_ids", config::Value::List(source.dataset_ids.begin(), source.dataset_ids.end()));
  if (source.source == SourceKind::sample) {
    settings.set("sample_name", std::string(config::name_of(source.sample_name)));
  }
  set_all(settings, reading);
  return card("data_load", {}, settings);
}

// All rows to train on leave none to test with.
bool trains_on_all(const TrainCommand& command) {
  const auto share = [&](const char* name) -> std::optional<double> {
    const config::Value* ratio = command.split.find(name);
    if (ratio == nullptr) return std::nullopt;
    if (const auto* whole = ratio->get_if<std::int64_t>()) return static_cast<double>(*whole);
    const auto* part = ratio->get_if<double>();
    return part == nullptr ? std::nullopt : std::optional(*part);
  };
  return share("train_ratio").value_or(1) == 1 && share("test_ratio").value_or(0) == 0 &&
         (share("train_ratio") || share("test_ratio"));
}

// What the rows to learn from come out of.
const char* rows_of(const TrainCommand& command) {
  return command.series.are_given() ? "windows.dataset" : "load.dataset";
}

// The series with what goes with it, and the windows of it.
void add_series_cards(const TrainCommand& command, config::Value& cards) {
  if (!command.series.are_given()) return;
  config::Value::List slower;
  for (const SlowerCard& each : command.slower) {
    cards.set(each.id, load_card(each.table.data, each.reading));
    slower.emplace_back(each.id + ".dataset");
  }
  config::Value windows = card("windows", {{"dataset", "load.dataset"}}, command.windows);
  if (!slower.empty()) windows.find("inputs")->set("slower", std::move(slower));
  cards.set("windows", std::move(windows));
}

// Both parts get rows of every class, where nothing else decides the split.
void keep_shares_of_classes(const TrainCommand& command, config::Value& settings) {
  for (const char* decides : {"stratify_column", "group_column", "test_from", "train_ids", "test_ids"})
    if (settings.find(decides) != nullptr) return;
  settings.set("stratify_column", command.target);
  if (settings.find("small_strata") == nullptr) settings.set("small_strata", "together");
}

// One ratio given alone means that the other part gets the rest.
config::Value split_card(const TrainCommand& command, bool has_classes) {
  config::Value settings = command.split;
  // Windows are divided by time.
  if (has_classes && !command.series.are_given()) keep_shares_of_classes(command, settings);
  const auto complement = [&settings](const char* given, const char* other) {
    const config::Value* ratio = settings.find(given);
    const auto* share = ratio == nullptr ? nullptr : ratio->get_if<double>();
    if (share == nullptr || settings.find(other) != nullptr || *share <= 0 || *share >= 1) return;
    settings.set(other, 1 - *share);
  };
  complement("test_ratio", "train_ratio");
  complement("train_ratio", "test_ratio");
  return card("data_split", {{"dataset", rows_of(command)}}, settings);
}

void refuse_settings_of_others(const TrainCommand& command) {
  const config::Value& foreign = is_network(command.model) ? command.linear : command.network;
  const auto* given = foreign.get_if<config::Value::Map>();
  if (given == nullptr || given->empty()) return;
  std::string flag = "--" + given->front().key;
  std::replace(flag.begin(), flag.end(), '_', '-');
  refuse("{} is not a setting of {}; it belongs to {}", flag, command.model,
         is_network(command.model) ? "linear models" : "networks");
}

config::Value model_card(const TrainCommand& command) {
  refuse_settings_of_others(command);
  config::Value settings;
  settings.set("model_type", command.model);
  if (is_network(command.model)) {
    set_all(settings, command.network);
    return card("model_define_gpu", {}, settings);
  }
  if (!command.linear.is_null()) settings.set("hyperparameters", command.linear);
  return card("model_define", {}, settings);
}

config::Value train_card(const TrainCommand& command) {
  config::Value settings;
  settings.set("target_column", command.target);
  // A penalty is fair to columns of one size only; the target keeps its unit, and with it alpha its meaning.
  if (!is_network(command.model) && command.train.find("scaling") == nullptr) {
    settings.set("scaling", "standard");
    settings.set("scale_target", false);
  }
  set_all(settings, command.train);
  return card(is_network(command.model) ? "train_gpu" : "train",
              {{"train_dataset", trains_on_all(command) ? rows_of(command) : "split.train_dataset"},
               {"model_spec", "model.model_spec"}},
              settings);
}

// What the model relies on costs a fraction of a second, whatever the table.
config::Value evaluate_card() {
  config::Value settings;
  settings.set("importance", true);
  return card("evaluate", {{"trained_model", "train.trained_model"}, {"test_dataset", "split.test_dataset"}},
              std::move(settings));
}

std::string document_name(const TrainCommand& command) {
  if (!command.name.empty()) return command.name;
  if (Source::config_for(command.data).source == SourceKind::postgres) {  // nothing of its address
    const config::Value* table = command.load.find("table");
    const auto* named = table == nullptr ? nullptr : table->get_if<std::string>();
    return (named == nullptr ? "query" : *named) + "-" + command.model;
  }
  if (const SourceConfig source = Source::config_for(command.data); source.source == SourceKind::datasets)
    return join(source.dataset_ids, "-") + "-" + command.model;
  const std::string location = command.data.substr(0, command.data.find_first_of("?#"));
  std::string stem = location.starts_with("sample:") ? location.substr(7)
                                                     : std::filesystem::path(location).filename().string();
  stem = location == standard_input_path ? "input" : stem.substr(0, stem.find('.', 1));
  return (stem.empty() ? "data" : stem) + "-" + command.model;
}

// Of a table that cannot be looked at: it is too large, or something is only known once the run has read it.
TableShape assumed_shape(const TrainCommand& command) {
  const config::Value* task = command.train.find("task");
  const auto* said = task == nullptr ? nullptr : task->get_if<std::string>();
  const std::optional<WindowsConfig> windows = windows_config(command.windows);
  const bool reads_them = windows && windows->layout == WindowLayout::windows;
  return {.rows = 500'000,
          .numbers = 20,
          .has_classes = said != nullptr && (*said == config::name_of(TaskChoice::binary) ||
                                             *said == config::name_of(TaskChoice::multiclass)),
          .moments = reads_them ? windows->length : 0};
}

// The share of the rows that are trained on; the card's default where nothing else is given.
double training_share(const config::Value& split) {
  const auto share = [&split](const char* name) {
    const config::Value* ratio = split.find(name);
    const auto* number = ratio == nullptr ? nullptr : ratio->get_if<double>();
    return number == nullptr ? 0 : *number;
  };
  if (const double train = share("train_ratio"); train > 0 && train <= 1) return train;
  if (const double test = share("test_ratio"); test > 0 && test < 1) return 1 - test;
  return SplitConfig{}.train_ratio;
}

void recommend(TrainCommand& command, const LookedAtTable& table, bool is_known, bool shows_choices) {
  if (!is_network(command.model)) return;
  TableShape shape = table.shape;
  const double share = trains_on_all(command) ? 1 : training_share(command.split);
  const bool takes_given = share < 1 && table.training_rows && command.split.find("test_rows") == nullptr;
  shape.rows =
      takes_given ? *table.training_rows : static_cast<std::int64_t>(static_cast<double>(shape.rows) * share);
  const NetworkSettings given{command.network, command.train};
  NetworkSettings settings = recommended_settings(family_named(command.model), shape, given);
  if (shows_choices)
    for (const std::string& line : lines_about_choices(shape, is_known, given, settings)) tell(line);
  command.network = std::move(settings.model);
  command.train = std::move(settings.train);
}

// Whether no row is left out of both parts of the split.
bool uses_all_rows(const TrainCommand& command) {
  const auto is_given = [&](const char* name) { return command.split.find(name) != nullptr; };
  return !is_given("train_ids") && !is_given("test_ids") &&
         !(is_given("train_ratio") && is_given("test_ratio") && !trains_on_all(command));
}

// Before the run, whose parts of the table have some of these rows each.
[[noreturn]] void refuse_missing_targets(const TrainCommand& command, const LookedAtTable& table) {
  refuse(
      "target_column '{0}': {1}; remove these rows from the data, or run a document (stoker run) in which "
      "a card leaves them out: filter: {{type: data_filter, inputs: {{dataset: load.dataset}}, config: "
      "{{where: [\"{0} is not null\"]}}}}, with filter.dataset as the input of split",
      command.target, table.missing_targets);
}

Document build_document(TrainCommand command) {
  const std::optional<LookedAtTable> seen = look_at_table(
      source_named(command.data, command.load), command.target, command.train,
      is_network(command.model) ? Look::at_all_rows : Look::at_first_rows, windows_config(command.windows));
  if (seen && !seen->missing_targets.empty() && uses_all_rows(command))
    refuse_missing_targets(command, *seen);
  const bool is_faulty = seen && (seen->is_faulty || !seen->missing_targets.empty());
  const bool is_known = seen && !is_faulty;
  LookedAtTable table;
  if (is_known)
    table = *seen;
  else
    table.shape = assumed_shape(command);
  recommend(command, table, is_known, !command.show.quiet && !is_faulty);
  config::Value cards;
  cards.set("load", load_card(command.data, command.load));
  add_series_cards(command, cards);
  const bool tests = !trains_on_all(command);
  if (tests) cards.set("split", split_card(command, table.shape.has_classes));
  cards.set("model", model_card(command));
  cards.set("train", train_card(command));
  if (tests) cards.set("evaluate", evaluate_card());
  config::Value document;
  document.set("version", document_version);
  document.set("name", document_name(command));
  document.set("cards", std::move(cards));
  return read_document(document, "", std::filesystem::current_path(), built_in_card_types());
}

// The settings of its windows, the tables that go with it, and how each of all these tables is read.
void settle_series(TrainCommand& command, bool reads_windows) {
  if (!command.series.are_given()) return;
  command.windows =
      windows_settings(command.series, command.target, reads_windows, command.split, command.train);
  if (command.train.find("relative_to") == nullptr)
    command.train.set("relative_to", std::string(config::name_of(RelativeTo::automatic)));
  command.slower = slower_cards(command.series, command.windows);
  std::vector<SlowerFile> tables{{"", command.data}};
  for (const SlowerCard& each : command.slower) tables.push_back(each.table);
  std::vector<config::Value> readings = readings_of(tables, command.load);
  command.load = std::move(readings.front());
  for (std::size_t i = 0; i < command.slower.size(); ++i)
    command.slower[i].reading = std::move(readings[i + 1]);
}

// What scripts elsewhere call otherwise.
void settle_other_words(TrainCommand& command) {
  if (command.mixed_precision) {
    const config::Value* given = command.train.find("precision");
    const auto* precision = given == nullptr ? nullptr : given->get_if<std::string>();
    if (precision != nullptr && *precision == "fp32")
      refuse("--mixed-precision and --precision fp32 contradict each other; leave one of them out");
    if (given == nullptr) command.train.set("precision", "auto");
    tell(
        "--mixed-precision: products are computed in the fastest format that loses no quality, which on a "
        "CPU "
        "is fp32; sums and weights are fp32 always");
  }
  if (command.auto_batch_size) {
    if (command.network.find("batch_size") != nullptr)
      refuse("--auto-batch-size and --batch-size both say how many rows a step has; leave one of them out");
    command.network.set("batch_size", "auto");
  }
}

ExitCode train(const TrainCommand& command) {
  const std::vector<std::string> known = model_names();
  if (std::find(known.begin(), known.end(), command.model) == known.end()) {
    refuse("'{}' is not a model{}; available: {}", command.model, did_you_mean(command.model, known),
           join(known, ", "));
  }
  const KeptDownloads looked_at_and_read;
  RunOptions options;
  options.out = command.out;
  options.use_cache = !command.no_cache;
  options.profile = command.profile;
  TrainCommand settled = command;
  settle_other_words(settled);
  give_model_its_own(settled);
  const bool wants_windows = reads_windows(settled.model);
  refuse_without_windows(settled.series, settled.model, wants_windows);
  settle_series(settled, wants_windows);
  return execute(build_document(settled), options, command.show);
}

}  // namespace

Action declare_train(CLI::App& app) {
  const auto command = std::make_shared<TrainCommand>();
  app.add_option("DATA", command->data,
                 "File, - (standard input), URL, name of a variable that holds the address of a database, "
                 "dataset:ID or sample:NAME")
      ->required();
  app.add_option("--target", command->target, "Column to predict")->required();
  app.add_option("--model", command->model, "One of " + join(model_names(), ", "))->capture_default_str();
  app.add_option("--name", command->name, "Name of the run; from the data and the model if not given");
  app.add_option("--out", command->out, "Folder for the run folders and the cache")->capture_default_str();
  app.add_flag("--no-cache", command->no_cache, "Run every card, even if its output is cached");
  app.add_flag("--profile", command->profile,
               "Print where the time goes, and write a trace of it (profile.json in the run folder)");
  add_show_flags(app, command->show);
  add_setting_flags(app, *command);
  app.footer(
      "The same document that `stoker run` takes is built, kept in the run folder (pipeline.yaml), and run.\n"
      "Examples:\n"
      "  stoker train houses.csv --target price\n"
      "  stoker train houses.csv --target price --model ridge --alpha 0.5 --test-ratio 0.3\n"
      "  stoker train sample:friedman --target y --hidden-layers 64,32 --epochs 20 --device cpu\n"
      "  stoker train bars.csv --target close --windows 20 --horizon 8 --time-column time --group-column "
      "symbol "
      "--model gru");
  return [command] { return train(*command); };
}

}  // namespace stoker::cli
