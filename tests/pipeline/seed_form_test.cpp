#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/documents.h"

namespace stoker {
namespace {

using testing::HasSubstr;

TEST(SeedForm, IsReadAsTheSamePipeline) {
  const Document seed = document_of(R"({
    "pipeline_id": "p1",
    "nodes": [
      {"id": "split", "type": "data_split", "config": {"random_seed": 7}, "position": {"x": 260, "y": 10.5}},
      {"id": "load", "type": "data_load", "config": {"source": "sample"}, "position": {"x": 0, "y": 0}}],
    "edges": [{"source": "load", "target": "split", "source_output": "dataset", "target_input": "dataset"}]})");
  const Document today = document_of(
      "version: 1\nname: p1\ncards:\n"
      "  split: { type: data_split, inputs: { dataset: load.dataset }, config: { random_seed: 7 } }\n"
      "  load: { type: data_load, config: { source: sample } }\n"
      "layout: { split: [260, 10.5], load: [0, 0] }\n");
  EXPECT_EQ(seed.to_yaml(), today.to_yaml());
}

TEST(SeedForm, ReportsErrorsWithTheLinesOfTheFile) {
  EXPECT_EQ(
      refusal_of(R"({"nodes": [
{"id": "load", "type": "data_load", "config": {"sourc": "sample"}},
{"id": "load", "type": "data_split"},
{"id": "split", "type": "data_split", "confg": {}},
{"type": "data_split"}],
"edges": [
{"source": "load", "source_output": "datset", "target": "split", "target_input": "dataset"},
{"source": "load", "source_output": "dataset", "target": "split", "target_input": "dataset"},
{"source": "load", "source_output": "dataset", "target": "splitt", "target_input": "dataset"},
{"source": "load", "target": "split", "target_input": "dataset"}]})"),
      "pipeline.yaml:2: cards.load.config.sourc: unknown setting; did you mean source?\n"
      "pipeline.yaml:2: cards.load.config.path: missing; source csv needs a file to read (source: sample "
      "does not)\n"
      "pipeline.yaml:3: nodes.1.id: the id 'load' is already taken by the node on line 2\n"
      "pipeline.yaml:4: nodes.2.confg: unknown key; did you mean config?\n"
      "pipeline.yaml:5: nodes.3.id: missing\n"
      "pipeline.yaml:7: cards.split.inputs.dataset: the card load (data_load) has no output 'datset'; did "
      "you mean "
      "dataset?\n"
      "pipeline.yaml:8: edges.1: the input 'dataset' of the card 'split' is already connected, on line 7\n"
      "pipeline.yaml:9: edges.2.target: there is no card 'splitt'; did you mean split?\n"
      "pipeline.yaml:10: edges.3.source_output: missing");
}

TEST(SeedForm, RefusesWhatOnlyLooksLikeIt) {
  EXPECT_THAT(refusal_of(R"({"nodes": 5, "edges": []})"),
              HasSubstr("nodes: must be a list, found the number 5"));
  EXPECT_THAT(refusal_of(R"({"nodes": [3]})"), HasSubstr("nodes.0: must be a map, found the number 3"));
  EXPECT_THAT(refusal_of(R"({"nodes": [{"id": "load", "type": "data_load", "config": {"source": "sample"},
                             "position": 4}]})"),
              HasSubstr("nodes.0.position: must be a map with x and y"));
}

}  // namespace
}  // namespace stoker
