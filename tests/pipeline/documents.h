#pragma once

#include <string>

#include "base/error.h"
#include "pipeline/document/document.h"

// Documents for tests, as people write them.
namespace stoker {

// Linear, on 500 rows: runs in a blink. What stands behind `load_more` and so on is added to that card's
// settings.
struct SmallPipeline {
  std::string load = "source: sample, sample_name: boston_housing, sample_rows: 500";
  std::string split = "train_ratio: 0.8, test_ratio: 0.2";
  std::string model_card = "{ type: model_define, config: { model_type: ridge } }";
  std::string train = "target_column: MEDV";
  std::string train_keys;  // keys beside config
  std::string more_cards;  // whole lines

  std::string text() const {
    return "version: 1\n"
           "name: small\n"
           "cards:\n"
           "  load: { type: data_load, config: { " +
           load +
           " } }\n"
           "  split: { type: data_split, inputs: { dataset: load.dataset }, config: { " +
           split +
           " } }\n"
           "  model: " +
           model_card +
           "\n"
           "  train:\n"
           "    type: train\n"
           "    inputs: { train_dataset: split.train_dataset, model_spec: model.model_spec }\n"
           "    config: { " +
           train + " }\n" + train_keys +
           "  evaluate: { type: evaluate, inputs: { trained_model: train.trained_model, test_dataset: "
           "split.test_dataset } }\n" +
           more_cards;
  }
  Document document(const std::filesystem::path& folder = ".") const {
    return read_document(config::parse_yaml(text(), "small.yaml"), "small.yaml", folder);
  }
};

inline const char* const tiny_network =
    "{ type: model_define_gpu, config: { hidden_layers: [8], epochs: 6, batch_size: 32, dropout: 0.1 } }";

inline Document document_of(const std::string& text) {
  return read_document(config::parse_document(text, "pipeline.yaml"), "pipeline.yaml", ".");
}

// The message with which a document is refused; empty when it is not.
inline std::string refusal_of(const std::string& text) {
  try {
    document_of(text);
  } catch (const Error& error) {
    return error.code() == ExitCode::wrong_request ? error.what()
                                                   : std::string("wrong exit code: ") + error.what();
  }
  return "";
}

}  // namespace stoker
