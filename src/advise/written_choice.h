#pragma once

#include <optional>
#include <string>

#include "advise/measurements.h"
#include "advise/prediction.h"

namespace stoker::advise {

// What the settings of the document's training cards say, "auto" where they leave it open. Of several cards
// the first.
struct WrittenChoice {
  std::string device = "auto";
  std::string engine = "auto";
  std::string placement = "auto";
  bool lays_rows_into_vram = true;   // preload_to_gpu, where the placement is left open
  bool asks_for_gpu_memory = false;  // by its placement, so that `auto` takes a GPU
  bool heeds_figures = true;         // `auto` of its kind of training looks at what was recorded
};

WrittenChoice written_choice(const Document& document);

// What a run of the document takes as it is, from now on: `auto` heeds what was just measured. None: it
// cannot be run here so, or that was not measured.
std::optional<Prediction> way_as_written(const Measurements& found, const Predictions& predictions,
                                         const WrittenChoice& written);

}  // namespace stoker::advise
