#include "sweep/sweep.h"

#include <algorithm>
#include <mutex>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/hash.h"
#include "base/text/hidden_values.h"
#include "base/text/text.h"
#include "base/time/elapsed.h"
#include "pipeline/cache/all_rows.h"
#include "pipeline/run/run_folder.h"
#include "report/sweep/sweep_report.h"
#include "store/runs.h"
#include "sweep/search.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t drawn_curves = 8;

// What stands in the folder's pipeline.yaml and in the list of runs.
Document document_of_folder(const SweepDocument& sweep) {
  Document document = sweep.base;
  document.name += "-sweep";
  return document;
}

std::unique_ptr<RunFolder> folder_for(const SweepDocument& sweep, const SweepOptions& options) {
  if (!options.resume)
    return RunFolder::make(options.out, document_of_folder(sweep),
                           {{sweep_document_file({}).string(), sweep.to_yaml()}}, options.folder_name);
  return RunFolder::reopen(*options.resume, document_of_folder(sweep));
}

// More time changes no candidate.
constexpr std::string_view budget_warning = "the time budget";

// Of what the lines of results.jsonl belong to: the document, and the way in which candidates are numbered.
// What becomes of the winner changes none of them.
std::string identity_of(SweepDocument sweep) {
  constexpr int numbering = 2;  // by the settings' paths
  sweep.config.time_budget = 0;
  config::Value document = config::parse_yaml(sweep.to_yaml(), sweep.file_name);
  if (auto* section = document.find("sweep")->get_if<config::Value::Map>())
    std::erase_if(*section, [](const config::Entry& entry) { return entry.key == "refit"; });
  return sha256_of_text(fmt::format("numbering {}\n{}", numbering, config::to_yaml(document)));
}

// Tells where the winner's run is before it is over, so that a resumed sweep goes on with it. What the search
// has already said of the same rows is not said again; the run's own record has it.
class RefitListener : public RunListener {
 public:
  RefitListener(RunListener& listener, const std::set<std::string>& said,
                std::function<void(const fs::path&)> started)
      : listener_(listener), said_(said), started_(std::move(started)) {}

  void run_started(const fs::path& folder) override {
    started_(folder);
    listener_.run_started(folder);
  }
  void card_started(const Card& card) override { listener_.card_started(card); }
  void card_finished(const Card& card, const CardOutcome& outcome) override {
    listener_.card_finished(card, outcome);
  }
  void epoch_finished(const EpochReport& report) override { listener_.epoch_finished(report); }
  void advanced(std::int64_t step, std::int64_t total, double rate) override {
    listener_.advanced(step, total, rate);
  }
  void note(Severity severity, const std::string& message) override {
    if (!said_.contains(message)) listener_.note(severity, message);
  }

 private:
  RunListener& listener_;
  const std::set<std::string>& said_;
  std::function<void(const fs::path&)> started_;
};

class Sweep {
 public:
  Sweep(const SweepDocument& sweep, const SweepOptions& options, SweepListener& listener,
        const StopSignal& stop)
      : sweep_(sweep),
        options_(options),
        listener_(listener),
        stop_(stop),
        folder_(folder_for(sweep, options)),
        results_(folder_->paths().folder / "results.jsonl", identity_of(sweep)),
        search_(
            sweep, folder_->paths().checkpoints(), cache_of_runs(), options.threads, results_,
            [this](Severity severity, const std::string& message) { note(severity, message); },
            search_stop_) {
    search_stop_.heed(stop);
  }

  SweepSummary whole() {
    try {
      throwing_errors([&] {
        write_file(sweep_document_file(folder()), sweep_.to_yaml());
        folder_->forget_warnings(budget_warning);
        listener_.sweep_started(folder(), static_cast<std::int64_t>(search_.candidates().size()));
        search();
        choose();
        refit();
        finish();
      });
    } catch (const Error& error) {
      end(error);
    }
    return std::move(summary_);
  }

 private:
  const fs::path& folder() const { return folder_->paths().folder; }

  [[noreturn]] void end(const Error& error) {
    const bool was_gone = folder_->is_gone();  // which fails in many ways before it is noticed
    end_early(error);
    if (error.code() == ExitCode::interrupted)
      throw Error(ExitCode::interrupted, "interrupted; " + how_to_go_on());
    if (error.cause() == Cause::machine && was_gone) folder_->fail_if_gone();
    if (error.cause() != Cause::machine || folder_->is_gone()) throw Error(error);
    throw Error(error.code(), fmt::format("{}; once that is fixed, {}", error.what(), how_to_go_on()),
                Cause::machine);
  }

  std::string how_to_go_on() const {
    return fmt::format("resume with: stoker sweep --resume {}", folder().string());
  }

  void note(Severity severity, const std::string& message) {
    const std::lock_guard lock(telling_);
    said_.insert(message);
    folder_->note("", severity, message);
    listener_.note(severity, message);
  }

  void search() {
    const double budget = sweep_.config.time_budget;
    earlier_seconds_ = results_.searched_seconds();
    if (budget > 0) search_stop_.stop_after(budget - earlier_seconds_ - seconds_since(started_));
    progress_.total = search_.trainings();
    progress_.done = results_.count();
    for (std::size_t i = 0; progress_.done > 0 && i < search_.candidates().size(); ++i) look_at(i, INT64_MAX);
    say_if_nobody_is_given_up();
    search_.on_result = [this](const Training& result) { advance(result); };
    try {
      search_.run();
    } catch (const Error&) {
      search_.tell_of_folds();
      results_.add_searched(seconds_since(started_));
      throw;
    }
    search_.tell_of_folds();
    results_.add_searched(seconds_since(started_));
    summary_.trials = search_.trials();
    summary_.budget_reached = search_.budget_reached();
  }

  void say_if_nobody_is_given_up() {
    const auto candidates = static_cast<std::int64_t>(search_.candidates().size());
    const std::int64_t in_one_go = candidates * std::max<std::int64_t>(1, sweep_.config.folds);
    if (sweep_.config.strategy != Strategy::halving || candidates == 1 || progress_.total != in_one_go)
      return;
    note(Severity::warning,
         fmt::format("halving drops no candidate: sweep.min_epochs, {}, is not below epochs",
                     sweep_.config.min_epochs));
  }

  // The best so far may be of a resumed sweep's earlier sittings.
  Trial look_at(std::size_t candidate, std::int64_t rung) {
    const Trial trial =
        trial_of(candidate, search_.candidates()[candidate], sweep_.config.folds, rung, results_);
    const bool higher = higher_is_better(sweep_.config.metric);
    if (trial.score && (!progress_.best || is_better(trial, *progress_.best, higher))) progress_.best = trial;
    return trial;
  }

  // Once all of its folds are scored, or one of them went wrong. Whether a trial goes on behind a rung is not
  // known before the others are there.
  void tell(const Trial& trial, std::int64_t rung) {
    const bool has_failed = trial.status == TrialStatus::diverged || trial.status == TrialStatus::failed;
    if (!trial.score && !has_failed) return;
    json told = trials_json(sweep_.space, {trial}).front();
    told.erase("fold_scores");
    told["metric"] = sweep_.config.metric;
    told["higher_is_better"] = higher_is_better(sweep_.config.metric);
    if (!has_failed && !search_.is_last(rung)) told["status"] = "running";
    folder_->tell_trial(told);
  }

  // Called by one training's thread at a time.
  void advance(const Training& result) {
    const std::lock_guard lock(telling_);
    folder_->fail_if_gone();
    ++progress_.done;
    ++done_here_;
    tell(look_at(result.trial, result.rung), result.rung);
    const auto left = static_cast<double>(std::max<std::int64_t>(0, progress_.total - progress_.done));
    progress_.seconds_left = seconds_since(started_) / static_cast<double>(done_here_) * left;
    if (sweep_.config.time_budget > 0)
      progress_.seconds_left =
          std::min(progress_.seconds_left,
                   std::max(0.0, sweep_.config.time_budget - earlier_seconds_ - seconds_since(started_)));
    listener_.advanced(progress_);
  }

  // Those that were given up early are not compared with those that went on.
  void choose() {
    const bool higher = higher_is_better(sweep_.config.metric);
    const Trial* best = nullptr;
    for (const Trial& trial : summary_.trials) {
      const bool counts = trial.status == TrialStatus::finished || trial.status == TrialStatus::time_limit;
      if (!counts || !trial.score) continue;
      if (best == nullptr || is_better(trial, *best, higher)) best = &trial;
    }
    if (best == nullptr) say_why_there_is_none();
    summary_.winner = best->number - 1;
    is_chosen_ = true;
    if (!summary_.budget_reached) return;
    note(
        Severity::warning,
        fmt::format("{} of {} s is used up: {} of {} candidates were done; the best so far wins",
                    budget_warning, sweep_.config.time_budget,
                    count_of(TrialStatus::finished) + count_of(TrialStatus::pruned), summary_.trials.size()));
  }

  [[noreturn]] void say_why_there_is_none() {
    write_tables();
    for (const Trial& trial : summary_.trials) {
      if (trial.reason.empty()) continue;
      const bool refused = search_.first_failure() == ExitCode::wrong_request;
      throw Error(refused ? ExitCode::wrong_request : ExitCode::run_failed,
                  summary_.trials.size() == 1 ? trial.reason
                                              : fmt::format("no candidate could be scored; candidate {}: {}",
                                                            trial.number, trial.reason));
    }
    fail("the time budget of {} s was used up before any candidate had a score; raise it",
         sweep_.config.time_budget);
  }

  std::size_t count_of(TrialStatus status) const {
    return static_cast<std::size_t>(
        std::count_if(summary_.trials.begin(), summary_.trials.end(),
                      [&](const Trial& trial) { return trial.status == status; }));
  }

  void refit() {
    write_tables();
    if (sweep_.config.refit == Refit::none) return;
    const Trial& winner = summary_.trials[summary_.winner];
    const Document document = sweep_.with(winner.values);
    const std::string name =
        options_.folder_name.empty() ? "" : winner_folder_name(options_.folder_name, winner.number);
    summary_.run = run_winner(document, name, results_.winner(), listener_.refit(winner, document),
                              [&](const fs::path& run) { results_.add_winner(summary_.winner, run); });
    if (sweep_.config.refit != Refit::all) return;
    write_tables();
    const Document whole = trained_on_all_rows(document, sweep_.train_card);
    const RunSummary last = run_winner(whole, name.empty() ? "" : name + "_all-rows", results_.final_run(),
                                       listener_.refit_on_all_rows(winner, whole), [&](const fs::path& run) {
                                         results_.add_final_run(summary_.winner, run);
                                       });
    summary_.final_run = last.folder;
  }

  // Where the winner's run is made.
  fs::path folder_of_runs() const {
    const fs::path out = options_.resume ? folder().parent_path() : options_.out;
    return out.empty() ? fs::path(".") : out;
  }
  fs::path cache_of_runs() const { return folder_of_runs() / ".cache"; }

  // Goes on with an earlier run of the same winner.
  RunSummary run_winner(const Document& document, const std::string& folder_name,
                        const std::optional<RefittedIn>& earlier, RunListener& watching,
                        const std::function<void(const fs::path&)>& started) {
    RunOptions options;
    options.out = folder_of_runs();
    options.folder_name = folder_name;
    if (earlier && earlier->first == summary_.winner && fs::exists(RunPaths{earlier->second}.record()))
      options.resume = earlier->second;
    RefitListener listener(watching, said_, [&](const fs::path& run) { started(fs::absolute(run)); });
    return run_pipeline(document, options, listener, stop_);
  }

  void finish() {
    const Trial& winner = summary_.trials[summary_.winner];
    std::error_code ignored;
    remove_folder(folder_->paths().checkpoints(), ignored);
    folder_->keep_result({fmt::format("trial {} of {}", winner.number, summary_.trials.size()),
                          0,
                          {{sweep_.config.metric, *winner.score}}});
    write_tables();
    folder_->end(RunStatus::finished, "", seconds_since(started_));
    draw_sweep_plots(folder(),
                     [this](Severity severity, const std::string& message) { note(severity, message); });
    write_sweep_report(folder());
    summary_.folder = folder();
    summary_.seconds = seconds_since(started_);
  }

  void write_tables() const {
    write_file(folder() / "trials.csv", without_hidden_values(trials_csv(sweep_.space, summary_.trials)));
    write_file(
        sweep_record_file(folder()),
        json_without_hidden_values(record().dump(1, ' ', false, json::error_handler_t::replace)) + "\n");
  }

  json record() const {
    json settings = json::array();
    for (const SearchedSetting& setting : sweep_.space)
      settings.push_back({{"name", setting.name()},
                          {"path", setting.path()},
                          {"kind", config::name_of(setting.kind)},
                          {"written", config::to_json(setting.written)}});
    json whole{{"format", 1},
               {"name", sweep_.base.name},
               {"strategy", config::name_of(sweep_.config.strategy)},
               {"metric", sweep_.config.metric},
               {"higher_is_better", higher_is_better(sweep_.config.metric)},
               {"folds", sweep_.config.folds},
               {"seed", sweep_.config.seed},
               {"time_budget_reached", summary_.budget_reached},
               {"settings", std::move(settings)},
               {"trials", trials_json(sweep_.space, summary_.trials)},
               {"curves", curves()},
               {"winner", json(nullptr)}};
    const auto& winner = results_.winner();
    if (winner) {
      whole["winner"] = {{"trial", winner->first + 1}, {"run", winner->second.string()}};
      const auto& last = results_.final_run();
      if (last && last->first == winner->first) whole["winner"]["final_run"] = last->second.string();
    } else if (is_chosen_ && sweep_.config.refit == Refit::none) {
      whole["winner"] = {{"trial", summary_.winner + 1}, {"run", ""}};
    }
    return whole;
  }

  // Of the best, on their first fold.
  json curves() const {
    std::vector<Trial> ranked = summary_.trials;
    const bool higher = higher_is_better(sweep_.config.metric);
    std::sort(ranked.begin(), ranked.end(),
              [&](const Trial& a, const Trial& b) { return is_better(a, b, higher); });
    json list = json::array();
    for (const Trial& trial : ranked) {
      const Training* result = results_.find(trial.number - 1, 0, INT64_MAX);
      if (list.size() == drawn_curves || !trial.score || result == nullptr) break;
      if (result->curve_epochs.empty()) continue;
      list.push_back({{"trial", trial.number},
                      {"epochs", result->curve_epochs},
                      {"training", result->training},
                      {"validation", result->validation}});
    }
    return list;
  }

  // Of use to another sitting. Where the machine is at fault, that is all that was trained.
  bool has_something(const Error& error) const {
    return progress_.best || (error.cause() == Cause::machine &&
                              (progress_.done > 0 || fs::exists(folder_->paths().checkpoints())));
  }

  // A request that was wrong from the start leaves nothing behind.
  void end_early(const Error& error) noexcept {
    try {
      if (folder_->is_gone())
        return folder_->remove_leftovers({"results.jsonl", "trials.csv", "sweep.yaml", "sweep.json"});
      if (error.code() == ExitCode::wrong_request && !options_.resume && !has_something(error))
        return folder_->remove();
      summary_.trials = search_.trials();
      write_tables();
      const bool interrupted = error.code() == ExitCode::interrupted;
      folder_->end(interrupted ? RunStatus::interrupted : RunStatus::failed,
                   interrupted ? "interrupted; " + how_to_go_on() : error.what(), seconds_since(started_));
    } catch (const std::exception&) {
      // Where the disk is full, the first error is the one to tell.
    }
  }

  const SweepDocument& sweep_;
  const SweepOptions& options_;
  SweepListener& listener_;
  const StopSignal& stop_;
  StopSignal search_stop_;  // with the time budget, which the refit does not count in
  const Moment started_ = now();
  double earlier_seconds_ = 0;  // searched in earlier sittings
  std::unique_ptr<RunFolder> folder_;
  Results results_;
  Search search_;
  std::mutex telling_;  // notes come from threads that prepare, progress from those that have trained
  std::set<std::string> said_;
  SweepProgress progress_;
  std::int64_t done_here_ = 0;
  SweepSummary summary_;
  bool is_chosen_ = false;  // the winner
};

}  // namespace

fs::path sweep_document_file(const fs::path& folder) {
  return folder / "sweep.yaml";
}

fs::path sweep_record_file(const fs::path& folder) {
  return folder / "sweep.json";
}

SweepSummary run_sweep(const SweepDocument& sweep, const SweepOptions& options, SweepListener& listener,
                       const StopSignal& stop) {
  SweepOptions resolved = options;
  if (!options.resume && !options.folder_name.empty() &&
      exists(RunPaths{options.out / options.folder_name}.record()))
    resolved.resume = options.out / options.folder_name;
  if (resolved.resume) resolved.resume = fs::weakly_canonical(*resolved.resume);
  return Sweep(sweep, resolved, listener, stop).whole();
}

SweepDocument sweep_of_folder(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(sweep_document_file(folder), ignored))
    refuse(
        "{} is not the folder of a sweep: it has no sweep.yaml; an ordinary run is resumed with stoker run",
        folder.string());
  return load_sweep(sweep_document_file(folder));
}

}  // namespace stoker
