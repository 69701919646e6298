#pragma once

#include <string>
#include <vector>

#include "report/plot/gnuplot.h"
#include "report/spectral/cube_record.h"

// Pictures of spectral cubes and of what was found in them.
namespace stoker {

// In false colours beside its scores, with an outline around what is marked and around what was found.
GnuplotPicture cube_picture(const CubeView& view);
// The mean spectrum of marked and of all other pixels, a deviation around each, and the channels that were
// chosen.
GnuplotPicture spectra_picture(const Spectra& spectra, const std::string& run);
// The axes of each PCA over the channels, one below the other.
GnuplotPicture components_picture(const std::vector<SpectralComponents>& components, const std::string& run);
// Precision over recall as the threshold falls. The curve has points.
GnuplotPicture precision_recall_picture(const PrecisionRecall& curve, const std::string& run);

// "channels 22, 12, 2 (650, 550, 450 nm)".
std::string words_of_colours(const CubeView& view);

}  // namespace stoker
