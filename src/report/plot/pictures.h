#pragma once

#include <optional>
#include <string>

#include "report/plot/gnuplot.h"
#include "report/run/contents.h"

// The pictures of a run as gnuplot draws them; `run` is the run's name, for the titles.
namespace stoker {

// A card's id as part of a file's name.
std::string in_picture_name(const std::string& card);

GnuplotPicture loss_picture(const LossCurve& curve, const std::string& run);
// What else is known of its epochs, one panel each; nothing where there is none.
std::optional<GnuplotPicture> training_picture(const LossCurve& curve, const std::string& run);
GnuplotPicture predicted_picture(const Evaluation& evaluation, const std::string& run);
// Actual and predicted values over time.
GnuplotPicture over_time_picture(const PredictedOverTime& chart, const std::string& target,
                                 const std::string& run);
GnuplotPicture residuals_picture(const Evaluation& evaluation, const std::string& run);
GnuplotPicture map_picture(const Evaluation& evaluation, const std::string& run);  // of one that has a map
GnuplotPicture confusion_picture(const Evaluation& evaluation, const std::string& run);

}  // namespace stoker
