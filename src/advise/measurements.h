#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "advise/measured_run.h"
#include "advise/measured_steps.h"
#include "base/process/stop.h"
#include "base/time/elapsed.h"
#include "device/device_info.h"

// What a document takes on this machine, found out by trying: each time in a process of its own, so that what
// it takes of memory and of time to begin is what a run takes.
namespace stoker::advise {

// What such a process is asked and answers. `stoker advise` and `stoker bench DOC` start them with this word
// and the question behind it.
constexpr const char* question_flag = "--measure";
std::string answer(const std::filesystem::path& document, const std::string& question,
                   const StopSignal& stop);

// A run that was measured, with what lies around it.
struct TriedRun {
  std::string device;
  std::string engine;  // that was asked for
  MeasuredRun run;
  double start_seconds = 0;  // until its process was ready to read the document
  double end_seconds = 0;    // from the report to the end of the process

  double seconds() const { return start_seconds + run.seconds() + end_seconds; }
};

// Where processes are started, and until when.
struct Laboratory {
  std::filesystem::path program;
  Moment until;
  const StopSignal& stop;
};

// Throws what went wrong there. Takes longer than until: OutOfTime.
TriedRun try_run(const RunToMeasure& wanted, const Laboratory& laboratory);

struct Question {
  std::filesystem::path file;
  std::vector<std::string> assignments;
  const Document& document;  // what both say
  double seconds = 20;       // for everything
};

struct Measurements {
  std::vector<DeviceInfo> devices;
  // GPUs that were not looked at, because one of their kind was: its name by theirs.
  std::map<std::string, std::string> twins;
  bool lacks_kernels = false;        // GPUs have none for the first training with steps, as its settings tell
  std::vector<MeasuredSteps> steps;  // of each device that was looked at
  std::vector<TriedRun> runs;
  // Made again, because they compiled kernels; they have read the rows that those after them found.
  std::vector<TriedRun> first_runs;
  std::vector<std::string> left_out;  // what was not measured and why, for people
  double seconds = 0;                 // that all of it took
  double load = 0;  // processes that wanted a core, on average over the minute before; 0: not known
  int cores = 0;
};

// `tell` hears what is done next. Refuses a document that trains nothing.
Measurements measure(const Question& question, const std::function<void(const std::string&)>& tell,
                     const StopSignal& stop);

}  // namespace stoker::advise
