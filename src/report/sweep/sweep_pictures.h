#pragma once

#include "report/plot/gnuplot.h"
#include "report/sweep/sweep_contents.h"

namespace stoker {

// The score of every candidate against one searched setting.
GnuplotPicture score_picture(const SweepContents& contents, const SweepContents::Setting& setting);
// Validation losses of the best candidates.
GnuplotPicture curves_picture(const SweepContents& contents);

}  // namespace stoker
