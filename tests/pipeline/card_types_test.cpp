// What types of cards say of themselves, which is all that the rest of the program knows of them.
#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/files.h"
#include "patience.h"
#include "pipeline/card/card.h"
#include "pipeline/document/sweep_document.h"
#include "pipeline/watchers.h"

namespace stoker {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

PortType kept_as(Keep keep) {
  if (keep == Keep::model) return PortType::model;
  return keep == Keep::predictions ? PortType::table : PortType::report;
}

TEST(CardTypes, SayNothingThatTheirPortsContradict) {
  for (const CardType& type : card_types()) {
    SCOPED_TRACE(type.name);
    for (const Input& input : type.inputs) {
      if (input.rows != Rows::read) {
        EXPECT_EQ(input.type, PortType::table) << input.name;
      }
      if (input.rows == Rows::tested_on) {
        EXPECT_NE(input_of_type(type, PortType::model), nullptr);
      }
    }
    for (const Output& output : type.outputs) {
      if (output.keep != Keep::nothing) {
        EXPECT_EQ(output.type, kept_as(output.keep)) << output.name;
      }
    }
    const bool trains = type.training != nullptr;
    EXPECT_EQ(input_of_rows(type, Rows::trained_on) != nullptr, trains);
    EXPECT_TRUE(!trains || input_of_type(type, PortType::model_spec) != nullptr);
    // A model is trained, or made of others.
    const Input* models = input_of_type(type, PortType::model);
    EXPECT_EQ(output_to_keep(type, Keep::model) != nullptr,
              trains || (models != nullptr && takes_several(models->takes)));
    EXPECT_EQ(output_to_keep(type, Keep::training) != nullptr, trains);
  }
}

// The same cards under names that nobody has heard of.
const CardTypes& renamed_types() {
  static const CardTypes types = [] {
    CardTypes all = card_types();
    for (CardType& type : all) type.name = "other_" + type.name;
    return all;
  }();
  return types;
}

std::string with_renamed_types(std::string text) {
  const std::string key = "type: ";
  for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + key.size())) {
    const bool is_whole_key = text[at - 1] != '_';  // not model_type
    if (is_whole_key) text.insert(at + key.size(), "other_");
  }
  return text;
}

class OtherNames : public testing::Test {
 protected:
  void SetUp() override {
    std::string text = "zip,flat,y\n";
    for (int i = 0; i < 90; ++i)
      text += (i % 3 == 0   ? "007,"
               : i % 3 == 1 ? "A1,"
                            : "7,") +
              std::to_string(i / 3) + "," + std::to_string(i % 3) + ".5\n";
    write_file(folder_.path() / "table.csv", text);
    write_file(folder_.path() / "new.csv", "zip,y\n007,0.5\n7,2.5\n");
    pipeline_.load = "source: csv, path: table.csv";
    pipeline_.split = "group_column: flat";
    pipeline_.train = "target_column: y, device: cpu";
  }
  config::Value value(const std::string& more = "") const {
    return config::parse_yaml(with_renamed_types(pipeline_.text() + more), "small.yaml");
  }
  Watched run(const RunOptions& options) const {
    return run_watched(read_document(value(), "small.yaml", folder_.path(), renamed_types()), options);
  }
  RunOptions options() const { return options_in(folder_.path() / "runs"); }

  TemporaryFolder folder_;
  SmallPipeline pipeline_;
};

TEST_F(OtherNames, KeepTheModelTheMetricsAndThePredictions) {
  pipeline_.model_card = "{ type: model_define, config: { model_type: linear_regression } }";
  pipeline_.more_cards =
      "  fresh: { type: data_load, config: { source: csv, path: new.csv } }\n"
      "  predict: { type: inference, inputs: { trained_model: train.trained_model, dataset: fresh.dataset } "
      "}\n";
  const RunSummary summary = run(options()).summary;
  ASSERT_EQ(summary.trainings.size(), 1U);
  ASSERT_EQ(summary.evaluations.size(), 1U);
  EXPECT_NEAR(summary.evaluations[0].second.metric("rmse").value(), 0, 1e-9);
  EXPECT_TRUE(exists(RunPaths{summary.folder}.model()));
  EXPECT_THAT(read_file(summary.folder / "predictions-predict.csv", 10'000), HasSubstr("007"))
      << "rows are read in the types that the model learnt";
  EXPECT_THAT(run(options()).watcher.reused, Contains("train"));
}

TEST_F(OtherNames, AreSeenAheadThroughTheSplit) {
  pipeline_.model_card = tiny_network;
  RunOptions ahead = options();
  std::atomic<bool> seen = false;
  std::string group_column;
  ahead.compile_ahead = [&](const FitRequest& request, const StopSignal&) {
    group_column = request.training.group_column;
    seen = true;
  };
  Watcher watcher;
  watcher.at_card = [&](const std::string&) { test::comes_true([&] { return seen.load(); }); };
  StopSignal stop;
  run_pipeline(read_document(value(), "small.yaml", folder_.path(), renamed_types()), ahead, watcher, stop);
  EXPECT_EQ(group_column, "flat");
}

TEST_F(OtherNames, AreSearchedWhereTheyDefineOrTrain) {
  const std::string folds = "sweep: { folds: 3, metric: rmse }\n";
  pipeline_.train += ", scaling: { grid: [standard, minmax] }";
  EXPECT_EQ(read_sweep(value(folds), "s.yaml", folder_.path(), renamed_types()).train_card, "train");
  pipeline_.split = "train_ratio: { grid: [0.5, 0.8] }, test_ratio: 0.2";
  try {
    read_sweep(value(folds), "s.yaml", folder_.path(), renamed_types());
    FAIL() << "a split was searched";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("(other_model_define, other_model_define_gpu, other_train, "
                                        "other_train_gpu); this card is of type 'other_data_split', and "
                                        "candidates on other rows"));
  }
}

}  // namespace
}  // namespace stoker
