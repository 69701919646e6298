#pragma once

#include <filesystem>
#include <string>

#include "base/notes.h"
#include "store/runs.h"

namespace stoker {

struct RunContents;  // report/run/contents.h

// Pictures and report of a run, made from what the run folder holds (run.json, metrics.csv, evaluations/,
// cubes/, pipeline.yaml), so that they can be made again at any time. Who makes both reads the contents once.

// plots/*.png with gnuplot: loss curve, predicted against actual, residuals, confusion matrix, what became of
// experts, what was found in cubes; whichever there is data for.
// Without gnuplot on the path: a note, and nothing is drawn. A picture that cannot be drawn or written costs
// a warning.
void draw_plots(const RunPaths& paths, const Notes& notes);
void draw_plots(const RunPaths& paths, const RunContents& contents, const Notes& notes);

// report.html: one file with interactive plots, metrics, settings, hardware and timings; needs nothing else.
// Of experts also plots/performance_summary.txt.
void write_report(const RunPaths& paths);
void write_report(const RunPaths& paths, const RunContents& contents);

}  // namespace stoker
