#include "pipeline/run/runner.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/setting_error.h"
#include "base/time/elapsed.h"
#include "base/time/trace.h"
#include "device/row_memory.h"
#include "pipeline/card/graph.h"
#include "pipeline/run/card_runner.h"
#include "pipeline/run/keep_outputs.h"
#include "report/run/contents.h"
#include "report/run/report.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

std::set<std::string> cards_to_run(const Document& document, const std::string& only) {
  if (!only.empty()) return needed_for(document, only);
  std::set<std::string> all;
  for (const Card& card : document.cards) all.insert(card.id);
  return all;
}

std::unique_ptr<RunFolder> folder_for(const Document& document, const RunOptions& options) {
  if (options.resume) return RunFolder::reopen(*options.resume, document);
  return RunFolder::make(options.out, document, {}, options.folder_name);
}

bool names_column(const config::Value* value, const std::string& column) {
  if (value == nullptr) return false;
  if (const auto* text = value->get_if<std::string>()) return *text == column;
  const auto* list = value->get_if<config::Value::List>();
  return list != nullptr &&
         std::ranges::any_of(*list, [&](const config::Value& each) { return names_column(&each, column); });
}

// The setting of the card that the error is about; "" where that is not known.
std::string setting_at_fault(const Card& card, const Error& error) {
  if (const auto* of_setting = dynamic_cast<const SettingError*>(&error))
    return card.config.find(of_setting->setting()) != nullptr ? of_setting->setting() : "";
  const auto* of_column = dynamic_cast<const ColumnError*>(&error);
  if (of_column == nullptr) return "";
  for (const std::string& setting : card.kind->column_settings)
    if (names_column(card.config.find(setting), of_column->column())) return setting;
  for (const std::string& setting : card.kind->condition_settings) return setting;
  return "";
}

// A run from its first card to its end, whatever that is.
class Run {
 public:
  Run(const Document& document, const RunOptions& options, RunListener& listener, const StopSignal& stop)
      : document_(document),
        options_(options),
        listener_(listener),
        stop_(stop),
        needed_(cards_to_run(document, options.only)),
        folder_(folder_for(document, options)),
        recorder_(*folder_, listener),
        cards_(document, needed_, options, *folder_, recorder_, stop,
               [this](const Card& card) { die_of_time_limit(card); }) {
    if (options.profile) tracing_.emplace();
  }

  RunSummary whole() {
    try {
      throwing_errors([this] { keep_rows_in(cards_.cache().folder()); });
      listener_.run_started(folder_->paths().folder);
      for (const std::string& note : document_.notes) recorder_.note(Severity::info, note);
      if (folder_->was_finished()) recorder_.note(Severity::info, "this run had already finished");
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
      failed_at_ = {card.id, setting_at_fault(card, error)};
      throw Error(error.code(), fmt::format("card {}: {}", card.id, error.what()), error.cause());
    }
  }

  void stop_if_interrupted() {
    if (stop_.reason() == StopReason::interrupted) throw_interrupted();
  }

  [[noreturn]] void throw_interrupted() {
    throw Error(ExitCode::interrupted, fmt::format("interrupted; resume with: stoker run --resume {}",
                                                   folder_->paths().folder.string()));
  }

  void run_card(const Card& card) {
    const Moment started = now();
    const Traced traced(TraceKind::card, card.id);
    recorder_.begin(card.id);
    folder_->card_started(card);
    listener_.card_started(card);
    CardOutcome outcome{card.id, card.type, cards_.run(card), 0};
    keep_outputs(card, cards_.outputs(), outcome.reused, *folder_, summary_);
    cards_.let_go_after(card, outcome.reused);
    outcome.seconds = seconds_since(started);
    summary_.cards.push_back(outcome);
    folder_->card_finished(card, outcome);
    listener_.card_finished(card, outcome);
    stop_if_interrupted();
  }

  void finish() {
    recorder_.begin("");
    summary_.folder = folder_->paths().folder;
    summary_.report = folder_->paths().report();
    const Notes notes = [this](Severity severity, const std::string& message) {
      recorder_.note(severity, message);
    };
    folder_->fail_if_gone();
    RunContents contents;
    // Before the end is written, so that what the pictures cost and warn of is part of the record.
    {
      const Traced traced(TraceKind::card, "drawing pictures");
      contents = read_contents(folder_->paths(), folder_->cubes());
      draw_plots(folder_->paths(), contents, notes);
    }
    shrink_cache(notes);
    keep_profile();
    summary_.seconds = folder_->end(RunStatus::finished, "", seconds_since(started_));
    read_record_again(folder_->paths(), contents);
    write_report(folder_->paths(), contents);
  }

  void keep_profile() {
    if (!tracing_) return;
    if (!cards_.has_trained())
      Trace::current()->note(
          "nothing was trained in this run, so there are no steps to see; --no-cache trains "
          "what the cache has");
    write_profile(tracing_->trace(), folder_->paths().profile());
    summary_.profile = profile_of(tracing_->trace());
  }

  // The cache is a convenience: what goes wrong with it then costs a warning.
  void shrink_cache(const Notes& notes) {
    try {
      cards_.cache().shrink_to(options_.cache_bytes);
    } catch (const std::exception& error) {
      notes(Severity::warning, fmt::format("the cache could not be made smaller: {}", error.what()));
    }
  }

  // A request that was wrong from the start leaves nothing behind; anything else says in run.json how it
  // ended.
  void end_early(const Error& error) noexcept {
    if (folder_->is_gone()) return folder_->remove_leftovers();
    const bool did_nothing =
        !options_.resume && !options_.keep_refused && !cards_.has_trained() && !recorder_.heard_of_training();
    if (error.code() == ExitCode::wrong_request && did_nothing) {
      folder_->remove();
      return;
    }
    try {
      keep_profile();
    } catch (const std::exception&) {
      // How the run ended is the more important part.
    }
    try {
      const bool interrupted = error.code() == ExitCode::interrupted;
      folder_->end(interrupted ? RunStatus::interrupted : RunStatus::failed, error.what(),
                   seconds_since(started_), failed_at_);
    } catch (const std::exception&) {
      // Where the disk is full, the first error is the one to tell; a reader sees that the process is gone.
    }
  }

  [[noreturn]] void die_of_time_limit(const Card& card) noexcept {
    const std::string message =
        fmt::format("card {}: took longer than its time_limit of {} s and could not be stopped", card.id,
                    card.time_limit);
    end_process(
        message,
        [&] {
          folder_->end(RunStatus::failed, message, seconds_since(started_), {card.id, ""});
        },
        options_.grace);
  }

  const Document& document_;
  const RunOptions& options_;
  RunListener& listener_;
  const StopSignal& stop_;
  const Moment started_ = now();
  std::set<std::string> needed_;
  std::unique_ptr<RunFolder> folder_;
  Recorder recorder_;
  RunSummary summary_;
  RunRecord::FailedAt failed_at_;
  std::optional<Tracing> tracing_;
  CardRunner cards_;  // last, so that its threads end first
};

}  // namespace

RunSummary run_pipeline(const Document& document, const RunOptions& options, RunListener& listener,
                        const StopSignal& stop) {
  RunOptions resolved = options;
  if (!options.resume && !options.folder_name.empty() &&
      exists(RunPaths{options.out / options.folder_name}.record()))
    resolved.resume = options.out / options.folder_name;
  // The cache lies beside the run folder, which "." or a path that ends in a slash does not name.
  if (resolved.resume) resolved.resume = fs::weakly_canonical(*resolved.resume);
  return Run(document, resolved, listener, stop).whole();
}

}  // namespace stoker
