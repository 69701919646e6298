#pragma once

#include <optional>
#include <string>
#include <vector>

#include "predict/measure/evaluation.h"
#include "report/plot/curves.h"
#include "report/plot/epoch_values.h"
#include "report/spectral/cube_record.h"
#include "store/record/experts_record.h"
#include "store/runs.h"

namespace stoker {

struct CardEvaluation {
  std::string card;
  Evaluation evaluation;
};

struct CardExperts {
  std::string card;  // that trained them
  ExpertsRecord experts;
};

// Everything that pictures and report are made from, read from a run folder and checked.
struct RunContents {
  std::string id;  // the folder's name
  RunRecord record;
  std::string document;  // pipeline.yaml; empty when there is none
  std::vector<LossCurve> curves;
  std::vector<CardEvaluation> evaluations;  // in the order of the record's results
  std::vector<CardExperts> experts;         // by card
  std::vector<CardCubes> cubes;             // by card
  std::vector<EpochValues> values;          // by card
  std::vector<std::string> left_out;        // what is too large to be shown, in words
};

// One file of evaluations/.
Evaluation read_evaluation(const std::filesystem::path& file);

// Without reading the cubes that are known.
RunContents read_contents(const RunPaths& paths, const std::vector<CardCubes>& known = {});
// For who has them since before the run ended: takes what run.json says by now.
void read_record_again(const RunPaths& paths, RunContents& contents);

// The cubes that a page can hold, one card's behind the other's.
std::vector<const CubeView*> views_of_page(const RunContents& contents);

struct DrawnRow {
  double actual;
  double predicted;
};

// Beyond this, differences and spans of numbers exceed the range of a double.
bool is_drawable(double value);

// The rows of a regression that can be drawn: both values are numbers of a sane size.
std::vector<DrawnRow> drawable_rows(const Evaluation& evaluation);

// The rows of a series that can be plotted over time; none of an evaluation without time, or with a single
// row.
std::optional<PredictedOverTime> drawable_over_time(const Evaluation& evaluation);
// For the axis of time: a value is predicted from a window whose last time step it names.
std::string axis_over_time(const PredictedOverTime& chart);

}  // namespace stoker
