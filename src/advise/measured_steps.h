#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/process/stop.h"
#include "train/choose/recorded_figures.h"

// Training steps of a document's own model on its own rows, in every way in which a device can take them:
// engines, placements, and then batch sizes and precisions.
namespace stoker::advise {

struct StepsToMeasure {
  std::filesystem::path document;
  std::vector<std::string> assignments;
  std::filesystem::path cache;
  std::string device;
  double seconds = 3;  // that measuring may take, beside loading and preparing the rows
  // By card, where a training chooses its batch: the one that it chose on this device.
  std::map<std::string, std::int64_t> chosen_batches;
};

// What one training of the document is, whatever takes its steps.
struct Work {
  std::string card;
  std::string family;
  bool is_solved = false;  // without steps; then the rest is not known
  std::int64_t rows = 0;   // that an epoch trains on
  std::int64_t validation_rows = 0;
  std::int64_t parameters = 0;
  std::int64_t multiply_adds = 0;  // of a row on its way forward
  std::int64_t batch_size = 0;     // of a step, as written; where it is to be chosen, the one that was
  bool chooses_batch = false;
  std::int64_t epochs = 0;
  std::int64_t patience = 0;  // 0: every epoch is trained
  std::int64_t members = 1;   // networks that are trained
  std::uint64_t training_bytes = 0;
  // GPUs have kernels of our own for it from this compute capability on; 0: none has.
  int kernels_from = 0;
  bool needs_libtorch = false;  // those kernels too
  // Of a graph without such kernels: what LibTorch goes through one by one, and what they write for a row.
  std::int64_t nodes = 0;
  std::uint64_t written_bytes = 0;
};

// One way to take the steps of a training.
struct StepLine {
  std::string card;
  std::string engine;
  std::string placement;
  std::string precision;
  std::int64_t batch_size = 0;
  bool is_as_written = false;    // batch size and precision
  double step_seconds = 0;       // with what an epoch's end takes, where epochs are short
  double processor_seconds = 0;  // of a step, all threads together
  // Until the first step was done: LibTorch opened where it is needed, rows placed, engine made.
  double ready_seconds = 0;
  bool is_steady = true;  // false: repeated measurements of the step did not agree
  std::string refusal;    // why it cannot be; "": it was measured
};

struct MeasuredSteps {
  std::string device;
  std::vector<Work> works;
  std::vector<StepLine> lines;
  double libtorch_seconds = 0;  // to open it, part of what ways that need it take to get ready
  bool is_cut_short = false;    // the time was over before everything was measured
};

MeasuredSteps measure_steps(const StepsToMeasure& wanted, const StopSignal& stop);

// What `auto` is to know of a training's steps on a device of this model: the usual placement of each engine.
std::vector<StepFigures> figures_of(const MeasuredSteps& steps, const std::string& card,
                                    const std::string& model);

}  // namespace stoker::advise
