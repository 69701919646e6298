#pragma once

#include <optional>
#include <string>

#include "report/experts/expert_drawing.h"
#include "report/plot/gnuplot.h"
#include "report/run/contents.h"

// The pictures of a mixture of experts; `run` is the run's name, for the titles.
namespace stoker {

// Panels below each other: loss, accuracy, experts that live, the router's hesitation, and the seconds of
// each epoch. A panel without numbers is left out; curve and values may be null.
GnuplotPicture expert_metrics_picture(const ExpertsRecord& experts, const LossCurve* curve,
                                      const EpochValues* values, const std::string& run);
// Who answers for which class at the last sleep; of a target of numbers, for how many rows. Nothing where
// there was no sleep.
std::optional<GnuplotPicture> expert_activations_picture(const ExpertsRecord& experts,
                                                         const std::string& run);
GnuplotPicture expert_devices_picture(const ExpertsRecord& experts, const std::string& run);
GnuplotPicture expert_graph_picture(const ExpertPlaces& places, const ExpertsRecord::Moment& moment,
                                    const std::string& run);

// performance_summary.txt: what was trained, how fast, and what became of the experts.
std::string performance_summary(const CardExperts& experts, const RunContents& contents);

}  // namespace stoker
