#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "store/process.h"
#include "store/record/expert_use.h"
#include "train/choose/chosen_number.h"
#include "train/fit/walk_forward_config.h"
#include "train/loop/progress.h"
#include "train/stages/stage_config.h"

namespace stoker {

enum class RunStatus { running, finished, failed, interrupted };
std::string_view status_name(RunStatus status);

// The layout of a run folder, in one place. run.json is rewritten atomically as the run goes on.
struct RunPaths {
  std::filesystem::path folder;
  std::filesystem::path document() const { return folder / "pipeline.yaml"; }
  std::filesystem::path record() const { return folder / "run.json"; }
  std::filesystem::path events() const { return folder / "events.jsonl"; }
  std::filesystem::path metrics() const { return folder / "metrics.csv"; }
  std::filesystem::path checkpoints() const { return folder / "checkpoints"; }
  std::filesystem::path model() const { return folder / "model"; }
  std::filesystem::path coefficients() const { return folder / "coefficients.csv"; }  // of linear models
  std::filesystem::path evaluations() const {
    return folder / "evaluations";
  }  // <card>.json, as Evaluation writes it
  std::filesystem::path experts() const { return folder / "experts"; }  // <card>.json, see experts_record.h
  std::filesystem::path tensorboard() const { return folder / "tensorboard"; }  // of each card a folder
  std::filesystem::path profile() const { return folder / "profile.json"; }
  std::filesystem::path plots() const { return folder / "plots"; }
  std::filesystem::path report() const { return folder / "report.html"; }
};

// Of warnings, and of notes, beyond which they are counted alone.
constexpr std::size_t most_messages_of_record = 1'000;

// run.json, written by the runner, read by `stoker runs`, the report and later the service.
struct RunRecord {
  struct CardLine {
    std::string id;
    std::string type;
    bool reused = false;
    double seconds = 0;
  };
  struct Result {  // one per evaluate card
    std::string card;
    std::int64_t rows = 0;
    std::vector<std::pair<std::string, double>> metrics;
    std::string training = {};  // the card that trained the model
    std::string model = {};     // the folder of that model in the run folder
  };
  // Rows that a card received and passed on to no other card.
  struct DroppedRows {
    std::string card;
    std::int64_t dropped = 0;
    std::int64_t received = 0;

    std::string text() const;  // "546 of 4,030 rows (card filter)"
  };
  struct Coefficient {
    std::string feature;
    std::string of_class;  // empty where there is one output
    double value = 0;
    std::optional<double> deviation = std::nullopt;  // between the members of an ensemble
  };
  struct Training {  // one per train card
    std::string card;
    std::string model_type;
    std::string engine;
    std::string device;
    std::string placement;
    std::string end;  // finished, stopped_early, time_limit
    std::int64_t epochs = 0;
    std::int64_t best_epoch = 0;  // counted from 1; 0: none was the best
    std::int64_t steps = 0;
    std::int64_t parameters = 0;
    double seconds = 0;
    std::optional<double> alpha = std::nullopt;  // linear models with a penalty: the one used or chosen
    std::vector<double> alphas = {};             // those of an ensemble's members
    std::int64_t members = 0;                    // of an ensemble; 0: it is one model
    CheckpointCost checkpoints = {};             // nothing where none was taken
    // Of an ensemble: each training row predicted by members that were not trained on it. Without metrics
    // where there is nothing to tell.
    Result out_of_fold = {};
    std::optional<ExpertUse> experts = {};  // of a mixture of experts
    WalkForwardResult walk_forward = {};    // without folds where it was not asked for
    std::vector<StageResult> stages = {};   // that it was trained in
    std::string target = {};
    std::string task = {};
    std::int64_t rows = 0;                                     // trained on
    std::int64_t features = 0;                                 // columns of the table that are read
    std::vector<std::pair<std::string, double>> metrics = {};  // on rows that were trained on
    std::int64_t measured_rows = 0;                            // of which the metrics are
    std::vector<ChosenNumber> chosen = {};                     // on rows held back from training
    // Of a network; the numbers are 0 and the texts empty where nothing is known.
    struct Steps {
      std::string precision;  // of products, at the end
      std::int64_t batch_size = 0;
      double learning_rate = 0;              // as it was used: of a batch that was chosen, fitted to it
      std::vector<std::string> adjustments;  // what was changed on the way so that it could go on
      std::uint64_t allocated_bytes = 0;     // of the device's memory
      std::uint64_t reserved_bytes = 0;
      std::uint64_t peak_bytes = 0;
      double computing_share = 0;  // of the training's time, that in which steps and validation ran
      double waiting_share = 0;    // part of it: for rows that were on their way to them
      GpuUse gpu = {};             // as its driver told; without readings where it did not
    };
    Steps steps_taken = {};
    // Linear models, in real units; the first of very many.
    std::vector<Coefficient> coefficients = {};

    nlohmann::json to_json() const;
    std::string end_text() const;     // for people
    std::string alphas_text() const;  // the same
  };
  int format = 1;
  std::string name;
  RunStatus status = RunStatus::running;
  std::optional<ProcessIdentity>
      process;  // who runs it, for people; write_record() fills it in while status is running
  std::string error;
  // Where it failed, as far as that is known: a card, and the setting of it that was wrong.
  struct FailedAt {
    std::string card = {};
    std::string setting = {};
  };
  FailedAt failed_at;
  std::string started;  // ISO 8601, UTC
  double seconds = 0;
  std::uint64_t peak_memory_bytes = 0;
  std::string stoker_version;
  std::string torch_version;  // empty when LibTorch was not loaded
  std::string cpu;
  int cores = 0;
  std::string gpu;                   // empty when none was used
  std::vector<std::string> sources;  // what was read, as people call it
  // Hashes of what cards read from outside, by card. A resumed run must read the same.
  std::map<std::string, std::string> fingerprints = {};
  std::vector<CardLine> cards;
  std::vector<Training> trainings;
  std::vector<Result> results;
  std::vector<DroppedRows> dropped_rows = {};
  std::vector<std::string> warnings;
  std::vector<std::string> notes;  // what was decided for the user: values imputed, columns left out, …
  // Said when the list was full. What is read again has a sentence about them at the end of the list.
  std::size_t more_warnings = 0;
  std::size_t more_notes = 0;

  nlohmann::json to_json() const;
  static RunRecord from_json(const nlohmann::json& json, const std::string& name);  // refuses what is not one
};

// Atomically. A record whose status is running gets the calling process written into it, so that readers can
// tell a run that goes on from one whose process is gone. Very long messages and lists of them are cut.
void write_record(const RunPaths& paths, const RunRecord& record);
// In part: what a line about a run says (name, status, times, error, results), of which thousands are read.
// The rest is left as it is in an empty record, and not looked at if the file is otherwise in order.
enum class Read { whole, in_part };
RunRecord read_record(const RunPaths& paths, Read read = Read::whole);

struct ListedRun {
  std::string id;  // the folder's name
  RunPaths paths;
  RunRecord record;
  std::string to_go_on = {};  // the command for a run that was interrupted or killed; else empty
};
// A run as it stands: one that somebody works on is running whatever its record says; one that says it is
// running, but whose process is gone, is failed, and its error says so.
ListedRun read_run(const std::filesystem::path& folder);
// Newest first. Folders that are not runs are passed over, links too; damaged ones are reported in `damaged`.
std::vector<ListedRun> list_runs(const std::filesystem::path& out, std::vector<std::string>& damaged,
                                 Read read = Read::whole);
// Some of them, newest first by the names of their folders, which begin with the time: of ten thousand, those
// of a page alone are read.
struct RunPage {
  std::string before = {};    // behind the run of this name; empty: from the newest on
  std::string contains = {};  // in the name
  std::size_t limit = 50;
};
struct PageOfRuns {
  std::vector<ListedRun> runs;
  std::vector<std::string> damaged;  // names of those on the page that cannot be read
  std::size_t total = 0;             // folders that fit, on any page
  std::string next;                  // `before` of the page behind it; empty: there is none
};
PageOfRuns page_of_runs(const std::filesystem::path& out, const RunPage& page);
// By full name, unique prefix, or "latest"; refuses with the nearest name.
ListedRun find_run(const std::filesystem::path& out, const std::string& id);
// Removes a run folder whole, links inside it as links; refuses what is not a run folder, and one that is
// still running (somebody holds its lock) or whose record cannot be read unless forced.
void delete_run(const ListedRun& run, bool force);

}  // namespace stoker
