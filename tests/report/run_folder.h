#pragma once

#include <string>

#include "base/files/files.h"
#include "predict/measure/evaluation.h"
#include "store/record/experts_record.h"
#include "store/runs.h"

namespace stoker::testing {

// A run folder as the runner leaves it, made by hand.
class RunFolder {
 public:
  RunFolder();

  const RunPaths& paths() const { return paths_; }
  RunRecord& record() { return record_; }  // written by save()
  void save() { write_record(paths_, record_); }

  void write_document(const std::string& yaml);
  // 50 epochs that fall from 1 by `factor` each; the validation loss turns at epoch 41.
  void write_metrics(const std::vector<std::string>& cards, bool with_validation, double factor = 0.93);
  void write_evaluation(const std::string& card, const Evaluation& evaluation);
  void write_experts(const std::string& card, const ExpertsRecord& experts);

  std::string report() const;  // report.html as written

 private:
  TemporaryFolder folder_;
  RunPaths paths_;
  RunRecord record_;
};

// 2,000 rows of a target between 0 and 500, predicted with a normal error of standard deviation 10.
Evaluation regression_of(const std::string& target);
Evaluation classification_of(const std::string& target, const std::vector<std::string>& classes);

// So many experts at eight moments, two epochs of ten steps apart, of which one was born and one removed.
ExpertsRecord mixture_of(std::size_t experts, const std::vector<std::string>& classes);

}  // namespace stoker::testing
