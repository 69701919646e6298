#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/table/table.h"
#include "device/array.h"
#include "model/nodes/node_network.h"
#include "model/precision_recall.h"

// What is to be shown of cubes that a model was measured on.
namespace stoker {

// What a model made of one cube, and what is there.
struct MeasuredCube {
  Array scores;  // float32 [height, width]
  Array marks;   // uint8, the same; empty where nothing decides
  Array actual;  // uint8, the same; empty where there are no masks
};

struct CubeToShow {
  std::int64_t row = 0;
  std::string name;
  std::string reason;  // why this one
  MeasuredCube measured = {};
};

struct MeanSpectrum {
  std::string of;
  std::int64_t pixels = 0;
  std::vector<double> mean;
  std::vector<double> deviation;
};

struct ChosenBands {
  std::string node;
  std::vector<std::int64_t> channels;
};

// Of pixels of the cubes that are shown; those with a value that is not finite are left out.
struct Spectra {
  std::vector<double> wavelengths;  // none where nobody knows them
  std::vector<MeanSpectrum> means;
  std::vector<ChosenBands> chosen;  // by selectors of the graph
};

// The axes of a PCA in the graph.
struct SpectralComponents {
  std::string node;
  std::vector<double> wavelengths;           // of the channels; none where nobody knows them
  std::vector<std::vector<double>> weights;  // of the first axes, by channel
  std::vector<double> shares;                // of the variance that each has
  std::int64_t count = 0;                    // of all axes
};

struct CubeFindings {
  std::int64_t cubes = 0;  // that were measured
  std::vector<CubeToShow> shown;
  Spectra spectra;
  std::vector<SpectralComponents> components;
  PrecisionRecall curve;  // of all pixels
};

// At most three: where most is marked, where most is wrong, and the first; without masks where most was
// found, or the highest score, and the first.
std::vector<CubeToShow> cubes_to_show(const Table& table, const std::vector<MeasuredCube>& measured);
Spectra spectra_of(const Table& table, const std::vector<CubeToShow>& shown);

// Which channels the selectors of a graph chose, as channels of the cubes.
std::vector<ChosenBands> bands_chosen_by(const nodes::NodeNetwork& network, const nodes::States& states);
// Of every PCA, as weights of the cubes' channels where what lies before it can be followed so far: through
// another PCA, and past nodes that keep channels apart, whose scales are left out.
std::vector<SpectralComponents> components_of(const nodes::NodeNetwork& network, const nodes::States& states);

}  // namespace stoker
