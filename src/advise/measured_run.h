#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "advise/step_pace.h"
#include "base/process/stop.h"
#include "base/time/trace.h"
#include "pipeline/document/document.h"

// A run of a document, looked at by the clock. Its process does nothing else: what it takes of memory is the
// run's.
namespace stoker::advise {

struct RunToMeasure {
  std::filesystem::path document;
  std::vector<std::string> assignments;  // cards.model.config.epochs=5
  std::filesystem::path out;             // for its run folder and its cache
  bool use_cache = true;
};

struct MeasuredCard {
  std::string id;
  bool trains = false;
  bool reused = false;  // from the cache
  double seconds = 0;
  double waited = 0;  // of them, for a core
};

struct MeasuredTraining {
  std::string card;
  std::string engine;
  std::string placement;
  std::string end;                 // by the name of its TrainingEnd
  std::int64_t batch_size = 0;     // of a step; the one that was chosen, where it is to be chosen
  std::int64_t planned_steps = 0;  // 0: it has none, as a linear model that is solved
  std::int64_t planned_epochs = 0;
  double loop_seconds = 0;  // from before the first step to the last
  double loop_waited = 0;   // of them, for a core
  Pace pace;
  std::uint64_t device_bytes = 0;  // the most of a GPU's memory
  double time_limit = 0;           // that the document gives it; 0: none
  bool was_cut = false;            // by us, to measure it: it would have gone on
};

struct MeasuredRun {
  double began = 0;  // by the clock of the machine, as ended; what lies around is the start and the end
  double ended = 0;
  double load_seconds = 0;        // cards before the first training
  double statistics_seconds = 0;  // scales, categories, what nodes begin with: learnt from the training rows
  double training_seconds = 0;    // the rest of the cards that train, but for what they evaluate
  double evaluation_seconds = 0;  // that, and all behind it: cards, pictures, the report
  double processor_seconds = 0;
  double waited = 0;                  // for a core, since the process began
  std::uint64_t peak_bytes = 0;       // of the process
  std::uint64_t load_peak_bytes = 0;  // until the first training
  bool compiled_kernels = false;      // which the next run finds
  std::vector<MeasuredCard> cards;
  std::vector<MeasuredTraining> trainings;

  double seconds() const { return ended - began; }
  // For a core, outside of the loops of trainings: what loading and evaluation would not have taken on a
  // quiet machine.
  double waited_around_loops() const;
  bool is_whole() const;  // no training was cut
};

// What a traced run took to learn from its training rows before the first step.
double seconds_of_statistics(const Trace& trace);

// By the same clock in every process.
double clock_seconds();
MeasuredRun measure_run(const RunToMeasure& wanted, const StopSignal& stop);

}  // namespace stoker::advise
