#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/files/files.h"
#include "pipeline/card/card.h"
#include "pipeline/card/card_outcome.h"
#include "pipeline/document/document.h"
#include "pipeline/run/metrics_file.h"
#include "predict/measure/evaluation.h"
#include "store/record/tensorboard_file.h"
#include "store/run_lock.h"
#include "store/runs.h"

namespace stoker {

struct CardCubes;  // report/spectral/cube_record.h

// The folder that one run fills as it goes on. Usable from several threads.
class RunFolder {
 public:
  using TextFile = std::pair<std::string, std::string>;  // name and content

  // <out>/<time>_<name>, with a number before the name when that is taken. It comes to be with its document
  // and with its record at once, so that a run that is listed can be resumed; `more` are documents beside
  // them. Leaves nothing behind when it cannot be made. A name that is given must be free.
  static std::unique_ptr<RunFolder> make(const std::filesystem::path& out, const Document& document,
                                         const std::vector<TextFile>& more = {},
                                         const std::string& folder_name = "");
  // An earlier run to go on with. Refuses another document and a run that is still going on.
  static std::unique_ptr<RunFolder> reopen(const std::filesystem::path& folder, const Document& document);

  const RunPaths& paths() const { return paths_; }
  std::filesystem::path checkpoints_of(const std::string& card) const { return paths_.checkpoints() / card; }
  bool was_finished() const { return was_finished_; }

  // What a card reads from outside. Rejects rows that have changed since the training began, whether or not
  // it has written a checkpoint, which does not know the rows to test with. Before the training, a person may
  // mend the data and resume.
  void check_fingerprint(const Card& card, const std::string& fingerprint);
  void card_started(const Card& card);
  void card_finished(const Card& card, const CardOutcome& outcome);
  void epoch_finished(const std::string& card, const EpochReport& epoch);
  void gpu_seen(const std::string& card, const GpuReading& reading);
  void note(const std::string& card, Severity severity, const std::string& message);

  // What cards put out, as files that people look for.
  void keep_model(const std::string& card, const Model& model);
  RunRecord::Training keep_training(const std::string& card, const nlohmann::json& report, bool trained_here);
  // `training` is the card whose model was evaluated.
  void keep_evaluation(const std::string& card, const Evaluation& evaluation, const std::string& training);
  void keep_dropped_rows(const RunRecord::DroppedRows& rows);
  // What is shown of the cubes that it was evaluated on, see report/spectral/cube_record.h.
  void keep_cubes(const std::string& card, const nlohmann::json& cubes);
  // Those that were kept since the folder was opened, for who would have to read them again.
  const std::vector<CardCubes>& cubes() const { return *cubes_; }
  void keep_result(const RunRecord::Result& result);
  void keep_predictions(const std::string& card, const Table& predictions);

  void keep_preview(const std::string& card, const std::string& output, const Table& table);
  // What a card has to show of itself, beside the previews of tables.
  void keep_report(const std::string& card, const std::string& output, const nlohmann::json& whole);

  // Of a sweep: how a trial stands after a training of it, told as it happens.
  void tell_trial(const nlohmann::json& trial) { event("trial_finished", trial); }

  // Writes the end into run.json and events.jsonl. Returns the seconds of all sittings together.
  double end(RunStatus status, const std::string& error, double seconds,
             const RunRecord::FailedAt& failed_at = {});
  // As if the run had never been.
  void remove();
  // Somebody deleted or moved the folder while this run filled it.
  bool is_gone() const { return !lock_.is_in(paths_.folder); }
  // Fails if it is gone. Everything that writes here asks first, or the folder would rise again in part.
  void fail_if_gone() const;
  // Warnings of an earlier sitting that begin so hold no longer.
  void forget_warnings(std::string_view beginning);
  // What was written just before that was noticed.
  void remove_leftovers(std::initializer_list<std::string_view> own_files = {});

 private:
  RunFolder(std::filesystem::path folder, RunLock lock, const Document& document, RunRecord record);
  void begin_sitting(const char* event_name, const std::string& name);
  void event(const char* name, const nlohmann::json& details);
  void save_record();
  void record_fingerprints();
  std::string model_folder_of(const std::string& card) const;

  RunPaths paths_;
  RunLock lock_;  // for as long as this process works on the run
  std::mutex mutex_;
  RunRecord record_;
  std::chrono::steady_clock::time_point record_saved_;
  bool record_is_behind_ = false;
  bool training_began_ = false;
  std::map<std::string, std::string> fingerprints_;  // by card, of what this sitting has read
  double earlier_seconds_ = 0;
  bool was_finished_ = false;
  bool made_out_ = false;
  std::string first_with_model_;  // the card whose model is in model/
  std::optional<AppendedFile> events_;
  std::map<std::string, std::int64_t> told_epochs_;  // by card, the last that an earlier sitting told of
  std::optional<MetricsFile> metrics_;
  std::shared_ptr<std::vector<CardCubes>> cubes_;
  std::map<std::string, TensorBoardFile> tensorboard_;  // by card, of those that asked for it
};

// The document of a run folder that is to be resumed.
Document document_of_run(const std::filesystem::path& run_folder, const CardTypes& types = card_types());

}  // namespace stoker
