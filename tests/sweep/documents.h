#pragma once

#include <string>

#include "base/error.h"
#include "pipeline/document/sweep_document.h"

namespace stoker::test {

// A small network on 300 rows; what is searched stands among the settings of its model.
inline std::string network_sweep(const std::string& model, const std::string& sweep,
                                 const std::string& train = "") {
  return "version: 1\n"
         "name: small\n"
         "cards:\n"
         "  load: { type: data_load, config: { source: sample, sample_name: friedman, sample_rows: 300 } }\n"
         "  split: { type: data_split, inputs: { dataset: load.dataset } }\n"
         "  model:\n"
         "    type: model_define_gpu\n"
         "    config: { hidden_layers: [8], batch_size: 32, dropout: 0, " +
         model +
         " }\n"
         "  train:\n"
         "    type: train\n"
         "    inputs: { train_dataset: split.train_dataset, model_spec: model.model_spec }\n"
         "    config: { target_column: y, device: cpu" +
         train +
         " }\n"
         "  evaluate: { type: evaluate, inputs: { trained_model: train.trained_model, test_dataset: "
         "split.test_dataset } }\n"
         "sweep: { " +
         sweep + " }\n";
}

inline SweepDocument sweep_of(const std::string& text) {
  return read_sweep(config::parse_yaml(text, "sweep.yaml"), "sweep.yaml", ".");
}

// The message with which a sweep is refused; empty when it is not.
inline std::string refusal_of(const std::string& text) {
  try {
    sweep_of(text);
  } catch (const Error& error) {
    return error.code() == ExitCode::wrong_request ? error.what()
                                                   : std::string("wrong exit code: ") + error.what();
  }
  return "";
}

}  // namespace stoker::test
