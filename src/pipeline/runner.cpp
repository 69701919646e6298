#include "pipeline/runner.h"

#include <chrono>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "pipeline/cache.h"
#include "pipeline/graph.h"
#include "pipeline/outputs.h"
#include "pipeline/rows_to_come.h"
#include "pipeline/run_folder.h"
#include "pipeline/time_limit.h"
#include "pipeline/training_card.h"
#include "pipeline/training_report.h"
#include "report/report.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Report = std::shared_ptr<const nlohmann::json>;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Writes what a card tells into the run folder and passes it on.
class Recorder : public TrainingListener {
 public:
  Recorder(RunFolder& folder, RunListener& listener) : folder_(folder), listener_(listener) {}

  void begin(const std::string& card) { card_ = card; }
  void begin_notes() { notes_.clear(); }
  const CardNotes& notes() const { return notes_; }
  bool heard_of_training() const { return heard_of_training_; }

  void epoch_finished(const EpochReport& epoch) override {
    heard_of_training_ = true;
    folder_.epoch_finished(card_, epoch);
    listener_.epoch_finished(epoch);
  }
  // Once a chunk, and before any checkpoint.
  void advanced(std::int64_t step, std::int64_t total_steps, double steps_per_second) override {
    folder_.fail_if_gone();
    listener_.advanced(step, total_steps, steps_per_second);
  }
  void note(Severity severity, const std::string& message) override {
    notes_.emplace_back(severity, message);
    record(severity, message);
    listener_.note(severity, message);
  }
  void record(Severity severity, const std::string& message) { folder_.note(card_, severity, message); }

 private:
  RunFolder& folder_;
  RunListener& listener_;
  std::string card_;
  CardNotes notes_;  // since begin_notes()
  bool heard_of_training_ = false;
};

std::set<std::string> cards_to_run(const Document& document, const std::string& only) {
  if (!only.empty()) return needed_for(document, only);
  std::set<std::string> all;
  for (const Card& card : document.cards) all.insert(card.id);
  return all;
}

std::unique_ptr<RunFolder> folder_for(const Document& document, const RunOptions& options) {
  if (options.resume) return RunFolder::reopen(*options.resume, document);
  return RunFolder::make(options.out, document);
}

class Run {
 public:
  Run(const Document& document, const RunOptions& options, RunListener& listener, const StopSignal& stop)
      : document_(document),
        options_(options),
        listener_(listener),
        stop_(stop),
        needed_(cards_to_run(document, options.only)),
        cache_((options.resume ? options.resume->parent_path() : options.out) / ".cache"),
        outputs_(document, needed_),
        folder_(folder_for(document, options)),
        recorder_(*folder_, listener),
        trainings_to_come_(trainings_to_come(document, needed_)),
        kernels_ahead_(options.compile_ahead) {}

  RunSummary whole() {
    try {
      listener_.run_started(folder_->paths().folder);
      if (folder_->was_finished()) recorder_.note(Severity::info, "this run was finished already");
      for (const Card& card : document_.cards) {
        if (needed_.contains(card.id)) run_named(card);
      }
      throwing_errors([this] { finish(); });  // the record must say how the run ended
    } catch (const Error& error) {
      end_early(error);
      throw;
    }
    return summary_;
  }

 private:
  // Whatever goes wrong inside a card is told with the card's name.
  void run_named(const Card& card) {
    try {
      stop_if_interrupted();
      throwing_errors([&] { run_card(card); });
    } catch (const Error& error) {
      if (error.code() == ExitCode::interrupted) throw_interrupted();
      throw Error(error.code(), fmt::format("card {}: {}", card.id, error.what()), error.cause());
    }
  }

  void stop_if_interrupted() {
    if (stop_.reason() == StopReason::interrupted) throw_interrupted();
  }

  [[noreturn]] void throw_interrupted() {
    throw Error(ExitCode::interrupted, fmt::format("interrupted; go on with: stoker run --resume {}",
                                                   folder_->paths().folder.string()));
  }

  void run_card(const Card& card) {
    const Clock::time_point started = Clock::now();
    const CardType& type = *card.kind;
    recorder_.begin(card.id);
    folder_->card_started(card);
    listener_.card_started(card);
    CardOutcome outcome{card.id, card.type, false, 0};
    {
      TimeLimit limit(
          card.time_limit, stop_, [this, &card] { die_of_time_limit(card); }, options_.grace);
      const Outside outside = type.look_outside == nullptr
                                  ? Outside{}
                                  : type.look_outside(card.config, document_.folder, limit.stop());
      const std::string identity = identity_of(card, outside);
      std::optional<KeptOutputs> kept = kept_outputs(card, type, identity);
      outcome.reused = kept.has_value();
      if (kept) repeat(kept->notes);
      if (type.first_rows != nullptr) compile_ahead(card, type, outside, identity);
      outside_[card.id] = outside;
      PortValues values = kept ? std::move(kept->values) : run_anew(card, type, identity, outside, limit);
      std::string found_by = identity_of_outputs(identity, type, values);
      outputs_.add(card.id, std::move(found_by), std::move(values));
    }
    if (!outcome.reused) outputs_.leave_in_cache(cache_, Outputs::Tables::rows_of_others, card.id, type);
    keep_in_folder(card, type, outcome.reused);
    if (!outcome.reused) outputs_.leave_in_cache(cache_, Outputs::Tables::all, card.id, type);
    outputs_.let_go_after(card);
    outcome.seconds = seconds_since(started);
    summary_.cards.push_back(outcome);
    folder_->card_finished(card, outcome);
    listener_.card_finished(card, outcome);
    stop_if_interrupted();
  }

  std::string identity_of(const Card& card, const Outside& outside) const {
    std::vector<std::string> sources;
    for (const Connection& connection : card.inputs) sources.push_back(outputs_.identity(connection.card));
    return identity_of_card(card, sources, outside.fingerprint);
  }

  // What the card's identity will be, given that of one that has been opened; none where more must be opened.
  std::optional<std::string> identity_to_come(const Card& card, const std::string& opened,
                                              const std::string& opened_identity) const {
    if (card.id == opened) return opened_identity;
    if (outputs_.are_there(card.id)) return outputs_.identity(card.id);
    if (card.kind->look_outside != nullptr) return std::nullopt;
    std::vector<std::string> sources;
    for (const Connection& connection : card.inputs) {
      auto identity = identity_to_come(card_named(document_, connection.card), opened, opened_identity);
      if (!identity) return std::nullopt;
      sources.push_back(std::move(*identity));
    }
    return identity_of_card(card, sources, "");
  }

  // A training whose outcome is kept needs no kernel.
  void compile_ahead(const Card& reader, const CardType& type, const Outside& outside,
                     const std::string& identity) {
    const auto found = trainings_to_come_.find(reader.id);
    if (found == trainings_to_come_.end()) return;
    std::vector<TrainingToCome>& trainings = found->second;
    std::erase_if(trainings, [&](const TrainingToCome& training) {
      const Card& card = card_named(document_, training.card);
      const auto to_come = identity_to_come(card, reader.id, identity);
      return options_.use_cache && to_come && cache_.state_of(*to_come, *card.kind) == Cache::State::whole;
    });
    kernels_ahead_.begin(std::move(trainings), type, outside);
  }

  // Loaded as soon as they are found: people may remove the cache while a run goes on.
  std::optional<KeptOutputs> kept_outputs(const Card& card, const CardType& type,
                                          const std::string& identity) {
    if (!options_.use_cache) return std::nullopt;
    const Cache::State state = cache_.state_of(identity, type);
    if (state == Cache::State::damaged) {
      recorder_.note(Severity::warning,
                     fmt::format("the kept output of the card {} is damaged; the card runs again", card.id));
    }
    if (state != Cache::State::whole) return std::nullopt;
    return cache_.load(identity, type);
  }

  // What was wrong with an output still is when it is used again; how it came about stands in the record, but
  // is told once.
  void repeat(const CardNotes& notes) {
    for (const auto& [severity, message] : notes) {
      if (severity == Severity::warning) {
        recorder_.note(severity, message);
      } else {
        recorder_.record(severity, message);
      }
    }
  }

  PortValues run_anew(const Card& card, const CardType& type, const std::string& identity,
                      const Outside& outside, TimeLimit& limit) {
    const bool is_training = trains(card);
    const InputValues inputs = inputs_of(card);
    const CardContext context{
        .config = card.config,
        .inputs = inputs,
        .outside = outside,
        .document_folder = document_.folder,
        .tables_to_evaluate = is_training ? tables_to_evaluate(card) : std::vector<Table>{},
        .checkpoints = folder_->checkpoints_of(card.id),
        .resume = options_.resume.has_value(),
        .listener = recorder_,
        .stop = limit.stop(),
        .work_returned = [&limit] { limit.call_off_watchdog(); }};
    recorder_.begin_notes();
    PortValues values = type.run(context);
    limit.call_off_watchdog();
    trained_ = trained_ || is_training;
    // A training that ran out of time keeps its best model; what another card made too late is not used.
    if (!is_training && stop_.reason() == StopReason::time_limit) fail("the time for the run is over");
    if (!is_training && limit.stop().reason() == StopReason::time_limit)
      fail("took longer than its time_limit of {} s", card.time_limit);
    if (!is_partial(type, values)) cache_.keep(identity, type, values, recorder_.notes());
    return values;
  }

  const PortValue& value_at(const Connection& connection) {
    return outputs_.get(connection.card, connection.output);
  }

  std::vector<Table> tables_to_evaluate(const Card& training) {
    std::vector<Table> tables;
    for (const Connection& test : tests_of_model(document_, needed_, training.id)) {
      if (outputs_.are_there(test.card)) tables.push_back(std::get<Table>(value_at(test)));
    }
    return tables;
  }

  InputValues inputs_of(const Card& card) {
    InputValues inputs;
    for (const Connection& connection : card.inputs) inputs[connection.input].push_back(value_at(connection));
    const std::vector<std::string> texts = columns_learnt_as_text(card, inputs);
    for (auto& [name, values] : inputs) {
      const auto connections = connections_to(card, name);
      for (std::size_t i = 0; i < values.size(); ++i)
        if (Table* table = std::get_if<Table>(&values[i]))
          *table = in_learnt_types(*table, texts, document_, connections[i], outside_);
    }
    return inputs;
  }

  void keep_in_folder(const Card& card, const CardType& type, bool reused) {
    for (const Output& output : type.outputs) {
      const PortValue& value = outputs_.get(card.id, output.name);
      if (output.type == PortType::table) folder_->keep_preview(card.id, output.name, std::get<Table>(value));
      keep_output(card, output.keep, value, reused);
    }
  }

  void keep_output(const Card& card, Keep keep, const PortValue& value, bool reused) {
    switch (keep) {
      case Keep::nothing:
        return;
      case Keep::model:
        return folder_->keep_model(card.id, *std::get<std::shared_ptr<const Model>>(value));
      case Keep::training:
        summary_.trainings.push_back(folder_->keep_training(card.id, *std::get<Report>(value), !reused));
        return;
      case Keep::evaluation:
        summary_.evaluations.emplace_back(card.id, Evaluation::from_json(*std::get<Report>(value)));
        return folder_->keep_evaluation(card.id, summary_.evaluations.back().second);
      case Keep::predictions:
        return folder_->keep_predictions(card.id, std::get<Table>(value));
    }
  }

  void finish() {
    recorder_.begin("");
    summary_.folder = folder_->paths().folder;
    summary_.report = folder_->paths().report();
    const Notes notes = [this](Severity severity, const std::string& message) {
      recorder_.note(severity, message);
    };
    folder_->fail_if_gone();
    // Before the end is written, so that what the pictures cost and warn of is part of the record.
    draw_plots(folder_->paths(), notes);
    shrink_cache(notes);
    summary_.seconds = folder_->end(RunStatus::finished, "", seconds_since(started_));
    write_report(folder_->paths());
  }

  // The cache is a convenience: what goes wrong with it then costs a warning.
  void shrink_cache(const Notes& notes) {
    try {
      cache_.shrink_to(options_.cache_bytes);
    } catch (const std::exception& error) {
      notes(Severity::warning, fmt::format("the cache could not be made smaller: {}", error.what()));
    }
  }

  // A request that was wrong from the start leaves nothing behind; anything else says in run.json how it
  // ended.
  void end_early(const Error& error) noexcept {
    if (folder_->is_gone()) return folder_->remove_leftovers();
    const bool did_nothing = !options_.resume && !trained_ && !recorder_.heard_of_training();
    if (error.code() == ExitCode::wrong_request && did_nothing) {
      folder_->remove();
      return;
    }
    try {
      const bool interrupted = error.code() == ExitCode::interrupted;
      folder_->end(interrupted ? RunStatus::interrupted : RunStatus::failed, error.what(),
                   seconds_since(started_));
    } catch (const std::exception&) {
      // Where the disk is full, the first error is the one to tell; a reader sees that the process is gone.
    }
  }

  [[noreturn]] void die_of_time_limit(const Card& card) noexcept {
    const std::string message =
        fmt::format("card {}: took longer than its time_limit of {} s and could not be stopped", card.id,
                    card.time_limit);
    end_process(
        message, [&] { folder_->end(RunStatus::failed, message, seconds_since(started_)); }, options_.grace);
  }

  const Document& document_;
  const RunOptions& options_;
  RunListener& listener_;
  const StopSignal& stop_;
  std::set<std::string> needed_;
  Cache cache_;
  Outputs outputs_;
  std::unique_ptr<RunFolder> folder_;
  Recorder recorder_;
  RunSummary summary_;
  std::map<std::string, std::vector<TrainingToCome>> trainings_to_come_;  // by the card that reads
  std::map<std::string, Outside> outside_;  // by card, for who must read it again
  Clock::time_point started_ = Clock::now();
  bool trained_ = false;
  KernelsAhead kernels_ahead_;  // last, so that its threads end first
};

}  // namespace

RunSummary run_pipeline(const Document& document, const RunOptions& options, RunListener& listener,
                        const StopSignal& stop) {
  RunOptions resolved = options;
  // The cache lies beside the run folder, which "." or a path that ends in a slash does not name.
  if (options.resume) resolved.resume = fs::weakly_canonical(*options.resume);
  return Run(document, resolved, listener, stop).whole();
}

}  // namespace stoker
