#pragma once

#include <filesystem>

#include "base/notes.h"

namespace stoker {

// Pictures and report of a sweep, made from what its folder holds (sweep.json, run.json), so that they can be
// made again at any time.

// plots/score-<setting>.png and plots/curves.png with gnuplot. Without gnuplot: a note, and nothing is drawn.
void draw_sweep_plots(const std::filesystem::path& folder, const Notes& notes);

// report.html: score against each searched setting, the losses of the best, and the table.
void write_sweep_report(const std::filesystem::path& folder);

}  // namespace stoker
