#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "advise/known_gpus.h"
#include "advise/measurements.h"
#include "advise/prediction.h"
#include "advise/written_choice.h"

namespace stoker::advise {

// What the guide of the rule says: fewer than 200 samples or a batch of less than 16 are the CPU's.
struct RuleOfThumb {
  bool says_gpu = false;
  std::int64_t rows = 0;
  std::int64_t batch_size = 0;
  bool disagrees = false;  // with what was measured, or where there is no GPU with what is estimated
};

struct Advice {
  Measurements found;
  Predictions predictions;
  Prediction best;
  std::optional<Prediction> as_written;  // none: the document as it is cannot be run here
  std::vector<Change> batches;           // other ones, which change the result
  std::vector<Change> precisions;        // the same
  std::optional<RuleOfThumb> rule;       // of documents that have steps
  std::vector<GpuEstimate> gpus;         // where there is no GPU
  NeededGpu needed;
  bool is_solved = false;     // nothing in it has steps
  std::string not_estimated;  // why it is not known whether a GPU would train all of it; "": one would

  // False: the machine was too busy, and measurements that were repeated did not agree.
  bool is_steady() const;
  double times_as_written() const;  // how many times as long the document takes as it is; 1: as long
};

Advice advice_from(Measurements found, const WrittenChoice& written);

// The same in sentences, one to a string: what to choose, by how much and why; then what would change the
// result; then GPUs.
std::vector<std::string> sentences_of(const Advice& advice);

nlohmann::json to_json(const Advice& advice);

}  // namespace stoker::advise
