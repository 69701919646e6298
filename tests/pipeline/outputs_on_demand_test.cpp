#include "pipeline/outputs_on_demand.h"

#include <gtest/gtest.h>

#include "pipeline/documents.h"

namespace stoker {
namespace {

int& loads() {
  static int count = 0;
  return count;
}

PortValues count_and_load(const CardContext& context) {
  ++loads();
  return find_card_type(card_types(), "data_load")->run(context);
}

const CardTypes& counting_types() {
  static const CardTypes types = [] {
    CardTypes all = card_types();
    for (CardType& type : all)
      if (type.name == "data_load") type.run = count_and_load;
    return all;
  }();
  return types;
}

class OnDemand : public testing::Test {
 protected:
  void SetUp() override { loads() = 0; }
  static Document document(const std::string& split, const std::string& alpha) {
    SmallPipeline pipeline;
    pipeline.split = split;
    pipeline.model_card =
        "{ type: model_define, config: { model_type: ridge, hyperparameters: { alpha: " + alpha + " } } }";
    return read_document(config::parse_yaml(pipeline.text(), "small.yaml"), "small.yaml", ".",
                         counting_types());
  }
  std::int64_t rows_in(const Document& document) {
    return std::get<Table>(outputs_.value_at(document, part_)).rows();
  }

  const Connection part_{"train_dataset", "split", "train_dataset", 0};
  const Notes notes_ = no_notes();
  StopSignal stop_;
  OutputsOnDemand outputs_{notes_, stop_};
};

TEST_F(OnDemand, CardsThatDocumentsShareRunOnce) {
  EXPECT_EQ(rows_in(document("train_ratio: 0.8", "1")), 400);
  EXPECT_EQ(rows_in(document("train_ratio: 0.8", "2")), 400);
  EXPECT_EQ(rows_in(document("train_ratio: 0.5", "2")), 250);
  EXPECT_EQ(loads(), 1);
}

TEST_F(OnDemand, ValuesHaveTheIdentityOfWhatTheyDependOn) {
  const std::string identity = outputs_.identity_at(document("train_ratio: 0.8", "1"), part_);
  EXPECT_EQ(outputs_.identity_at(document("train_ratio: 0.8", "2"), part_), identity);
  EXPECT_NE(outputs_.identity_at(document("train_ratio: 0.5", "1"), part_), identity);
}

TEST_F(OnDemand, WhatWasForgottenIsMadeAgain) {
  rows_in(document("train_ratio: 0.8", "1"));
  outputs_.forget_beyond(0);  // it was asked for since the last call
  outputs_.forget_beyond(0);
  EXPECT_EQ(rows_in(document("train_ratio: 0.8", "1")), 400);
  EXPECT_EQ(loads(), 2);
}

}  // namespace
}  // namespace stoker
