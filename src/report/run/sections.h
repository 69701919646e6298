#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "predict/measure/metrics.h"
#include "report/run/contents.h"

// The parts of the page as HTML, in the order in which they stand there; each is empty when there is nothing
// to say.
namespace stoker {

// What the run was and how it went.
std::string title_section(const RunContents& contents);
std::string error_section(const RunRecord& record);
std::string warnings_section(const RunContents& contents);
std::string notes_section(const RunRecord& record);
std::string trainings_section(const RunRecord& record);
std::string cards_section(const RunRecord& record);
std::string machine_section(const RunRecord& record);
std::string document_section(const RunContents& contents);

// How good its models are.
std::string metrics_section(const RunContents& contents);
std::string loss_section(const RunContents& contents);
std::string experts_section(const RunContents& contents);
std::string cubes_section(const RunContents& contents);
std::string predictions_section(const RunContents& contents);
std::string map_section(const RunContents& contents);
std::string steps_section(const RunContents& contents);
std::string confusion_section(const RunContents& contents);
std::string class_scores_section(const RunContents& contents);
std::string calibration_section(const RunContents& contents);
std::string importance_section(const RunContents& contents);
std::string coefficients_section(const RunRecord& record);

// What is drawn of an evaluation by steps ahead: the first metric that tells an error. Null where it has no
// steps.
const Metric* metric_of_steps(const Evaluation& evaluation);

// A place where the page's script draws; caption and switches are HTML.
std::string figure(std::string_view kind, std::size_t index, std::string_view caption,
                   std::string_view switches);

}  // namespace stoker
