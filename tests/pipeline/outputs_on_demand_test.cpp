#include "pipeline/run/outputs_on_demand.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files/files.h"
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
  const TemporaryFolder cache_;
  OutputsOnDemand outputs_{notes_, stop_, cache_.path()};
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

// Each card is led to by both connections of the next, so that there are 2^200 ways to the first.
TEST_F(OnDemand, CardsThatAreJoinedAgainAndAgainAreMetOnceEach) {
  const CardTypes types{
      {.name = "join",
       .title = "Join",
       .help = "Joins.",
       .inputs = {{"parts", PortType::report, "", Rows::read, Takes::any_number}},
       .outputs = {{"whole", PortType::report, ""}},
       .file_settings = {},
       .describe = [] { return config::Described{}; },
       .check = [](const config::Value& config, const std::string&, config::Diagnostics&) { return config; },
       .run =
           [](const CardContext&) {
             return PortValues{{"whole", std::make_shared<const nlohmann::json>(1)}};
           }}};
  std::string text = "version: 1\ncards:\n  c0: { type: join }\n";
  for (int i = 1; i <= 200; ++i)
    text += fmt::format("  c{}: {{ type: join, inputs: {{ parts: [c{}.whole, c{}.whole] }} }}\n", i, i - 1,
                        i - 1);
  const Document document = read_document(config::parse_yaml(text, "c.yaml"), "c.yaml", ".", types);
  const PortValue last = outputs_.value_at(document, {"parts", "c200", "whole", 0});
  EXPECT_EQ(*std::get<std::shared_ptr<const nlohmann::json>>(last), 1);
}

}  // namespace
}  // namespace stoker
