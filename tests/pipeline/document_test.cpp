#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "pipeline/card/card.h"
#include "pipeline/documents.h"

namespace stoker {
namespace {

using testing::HasSubstr;

TEST(Document, ReportsAllErrorsAtOnceWithLineAndPath) {
  const std::string text = R"(version: 1
name: broken
cards:
  load:
    type: data_load
    config: { source: sample, sample_nam: boston_housing }
  split:
    type: data_split
    inputs: { dataset: load.datase }
    config: { train_ration: 0.8, test_ratio: 2 }
  model:
    type: model_define
    config: { model_type: rigde }
  train:
    type: train
    inputs: { train_dataset: model.model_spec, model_spec: modell.model_spec }
  evaluate:
    type: evaluat
    inputs: { trained_model: train.trained_model }
)";
  EXPECT_EQ(
      refusal_of(text),
      "pipeline.yaml:6: cards.load.config.sample_nam: unknown setting; did you mean sample_name?\n"
      "pipeline.yaml:9: cards.split.inputs.dataset: the card load (data_load) has no output 'datase'; did "
      "you "
      "mean dataset?\n"
      "pipeline.yaml:10: cards.split.config.train_ration: unknown setting; did you mean train_ratio?\n"
      "pipeline.yaml:10: cards.split.config.test_ratio: the number 2 is out of range; allowed: 0 to 1\n"
      "pipeline.yaml:13: cards.model.config.model_type: 'rigde' is not a valid choice; did you mean ridge? "
      "(allowed: one of linear_regression, ridge, lasso, ridge_cv, lasso_cv, logistic_regression)\n"
      "pipeline.yaml:14: cards.train.config.target_column: missing, and there is no default\n"
      "pipeline.yaml:16: cards.train.inputs.model_spec: there is no card 'modell'; did you mean model?\n"
      "pipeline.yaml:16: cards.train.inputs.train_dataset: needs a table, but model.model_spec is a "
      "model_spec\n"
      "pipeline.yaml:18: cards.evaluate.type: 'evaluat' is not a card type; did you mean evaluate?");
}

// load_balance is 0.01 since version 2; a document of version 1 trains the same model as before.
TEST(Document, OfVersion1KeepsTheDefaultsOfVersion1) {
  const auto balance_of = [](const char* version, const char* setting) {
    const std::string text = fmt::format(
        "version: {}\ncards:\n  model: {{ type: model_define_gpu, config: {{ model_type: "
        "mixture_of_experts{} }} }}\n",
        version, setting);
    const Document document = read_document(config::parse_document(text, "a.yaml"), "a.yaml", ".");
    return *card_named(document, "model").config.find("load_balance")->get_if<double>();
  };
  EXPECT_EQ(balance_of("1", ""), 0);
  EXPECT_EQ(balance_of("2", ""), 0.01);
  EXPECT_EQ(balance_of("1", ", load_balance: 0.5"), 0.5);
  EXPECT_EQ(balance_of("2", ", load_balance: 0.0"), 0);
}

TEST(Document, StoppingMetricThatAGraphOfNodesCannotUseIsRejected) {
  EXPECT_THAT(
      refusal_of("version: 2\ncards:\n  model: { type: model_define_gpu, config: { model_type: node_graph, "
                 "early_stopping_metric: roc_auc, validation_ratio: 0.2 } }\n"),
      HasSubstr("cards.model.config.early_stopping_metric: roc_auc cannot be used with node_graph"));
}

TEST(Document, ReportsUnknownKeysOfTheDocumentAndOfCards) {
  EXPECT_EQ(refusal_of("version: 1\nnmae: x\ncards:\n  load: { type: data_load, confg: {}, config: { source: "
                       "sample } }\n"),
            "pipeline.yaml:2: nmae: unknown setting; did you mean name?\n"
            "pipeline.yaml:4: cards.load.confg: unknown setting; did you mean config?");
}

TEST(Document, ReportsInputsThatAreMissingOrUnknown) {
  const std::string text =
      "version: 1\ncards:\n"
      "  load: { type: data_load, inputs: { dataset: load.dataset }, config: { source: sample } }\n"
      "  split: { type: data_split, inputs: { datase: load.dataset } }\n"
      "  other: { type: data_split, inputs: { dataset: load } }\n";
  EXPECT_EQ(
      refusal_of(text),
      "pipeline.yaml:3: cards.load.inputs.dataset: data_load has no such input; it takes none\n"
      "pipeline.yaml:3: cards.load: the cards feed each other in a cycle: load -> load\n"
      "pipeline.yaml:4: cards.split.inputs.datase: data_split has no such input; did you mean dataset?\n"
      "pipeline.yaml:4: cards.split.inputs.dataset: missing; data_split needs a table here\n"
      "pipeline.yaml:5: cards.other.inputs.dataset: must name a card's output as CARD.OUTPUT, such as "
      "load.dataset; found the text 'load'");
}

TEST(Document, RefusesOtherVersionsAndNone) {
  EXPECT_EQ(refusal_of("version: 3\ncards: { load: { type: data_load, config: { source: sample } } }\n"),
            "pipeline.yaml:1: version: 3 is unknown; this program reads the versions 1 to 2");
  EXPECT_THAT(refusal_of("cards: { load: { type: data_load, config: { source: sample } } }\n"),
              HasSubstr("version: missing, and there is no default"));
  EXPECT_THAT(refusal_of("version: 1\n"), HasSubstr("cards: missing"));
  EXPECT_THAT(refusal_of("version: 1\ncards: {}\n"), HasSubstr("cards: contains no cards"));
  EXPECT_THAT(refusal_of("[1, 2]"), HasSubstr("must be a map"));
}

TEST(Document, RefusesIdsThatCouldNotBePartOfAFileName) {
  const std::vector<std::string> wrong{"'../x'", "a.b", "''", "'-x'", "ä", std::string(65, 'a')};
  for (const std::string& id : wrong) {
    EXPECT_THAT(
        refusal_of("version: 1\ncards: { " + id + ": { type: data_load, config: { source: sample } } }\n"),
        HasSubstr("is not a valid id for a card"))
        << id;
  }
}

TEST(Document, RefusesMoreThanAThousandCards) {
  std::string text = "version: 1\ncards:\n";
  for (int i = 0; i <= 1000; ++i)
    text += "  c" + std::to_string(i) + ": { type: data_load, config: { source: sample } }\n";
  EXPECT_EQ(refusal_of(text), "pipeline.yaml:3: cards: contains 1001 cards; the maximum is 1000");
}

TEST(Document, ChecksRulesBetweenSettings) {
  const auto with_load = [](const std::string& settings) {
    return refusal_of("version: 1\ncards: { load: { type: data_load, config: { " + settings + " } } }\n");
  };
  EXPECT_THAT(with_load("source: csv"), HasSubstr("cards.load.config.path: missing"));
  EXPECT_THAT(with_load("source: url"), HasSubstr("cards.load.config.url: missing"));
  EXPECT_EQ(with_load("source: csv, path: houses.csv"), "");
  SmallPipeline pipeline;
  pipeline.split = "train_ratio: 0.8, test_ratio: 0.3";
  EXPECT_THAT(
      refusal_of(pipeline.text()),
      HasSubstr("cards.split.config.test_ratio: train_ratio 0.8 and test_ratio 0.3 add up to more than 1"));
  pipeline.split = "stratify_column: CHAS, group_column: RAD";
  EXPECT_THAT(refusal_of(pipeline.text()), HasSubstr("stratify_column and group_column are both set"));
  pipeline = {};
  pipeline.train = "target_column: MEDV, device: gpu";
  EXPECT_THAT(refusal_of(pipeline.text()), HasSubstr("cards.train.config.device: 'gpu' is not a device"));
  pipeline = {};
  pipeline.train = "target_column: MEDV, placement: window, preload_to_gpu: true";
  EXPECT_THAT(refusal_of(pipeline.text()),
              HasSubstr("cards.train.config.preload_to_gpu: preload_to_gpu is true, but placement window"));
  pipeline.train = "target_column: MEDV, placement: window, preload_to_gpu: false, gpu_memory_fraction: 1";
  EXPECT_EQ(refusal_of(pipeline.text()), "");
  pipeline.train = "target_column: MEDV, gpu_memory_fraction: 0";
  EXPECT_THAT(refusal_of(pipeline.text()), HasSubstr("cards.train.config.gpu_memory_fraction: the number 0"));
  pipeline = {};
  pipeline.train = "target_column: MEDV, feature_columns: [RM, MEDV]";
  EXPECT_THAT(refusal_of(pipeline.text()), HasSubstr("contains the target column MEDV"));
}

TEST(Document, RefusesNetworksThatCannotBe) {
  const auto with_model = [](const std::string& settings) {
    SmallPipeline pipeline;
    pipeline.model_card = "{ type: model_define_gpu, config: { " + settings + " } }";
    return refusal_of(pipeline.text());
  };
  EXPECT_THAT(with_model("hidden_layers: []"),
              HasSubstr("cards.model.config.hidden_layers: must not be empty"));
  EXPECT_THAT(with_model("hidden_layers: [64, 0]"),
              HasSubstr("cards.model.config.hidden_layers.1: the number 0"));
  EXPECT_THAT(with_model("hidden_layers: [-3]"),
              HasSubstr("cards.model.config.hidden_layers.0: the number -3"));
  EXPECT_THAT(with_model("activation: rulu"), HasSubstr("'rulu' is not a valid choice; did you mean relu?"));
  EXPECT_THAT(with_model("early_stopping_patience: 3"), HasSubstr("early_stopping_patience"));
  EXPECT_EQ(with_model("hidden_layers: [4]"), "");
  EXPECT_THAT(with_model("model_type: transformer, heads: 7"),
              HasSubstr("cards.model.config.heads: 7 heads do not divide hidden_size, which is 128"));
  EXPECT_EQ(with_model("model_type: transformer, heads: 4"), "");
}

TEST(Document, ChecksHyperparametersOfTheModelThatIsChosen) {
  SmallPipeline pipeline;
  pipeline.model_card =
      "{ type: model_define, config: { model_type: ridge, hyperparameters: { alhpa: 1 } } }";
  EXPECT_THAT(refusal_of(pipeline.text()),
              HasSubstr("cards.model.config.hyperparameters.alhpa: unknown setting; did you mean alpha?"));
  pipeline.model_card =
      "{ type: model_define, config: { model_type: linear_regression, hyperparameters: { alpha: 1 } } }";
  EXPECT_THAT(refusal_of(pipeline.text()), HasSubstr("hyperparameters.alpha: unknown setting"));
}

TEST(Document, GivesDeepNetworksMoreLayersWhenNoneAreGiven) {
  SmallPipeline pipeline;
  const auto layers = [&](const std::string& settings) {
    pipeline.model_card = "{ type: model_define_gpu, config: { " + settings + " } }";
    for (const Card& card : pipeline.document().cards) {
      if (card.id == "model") return config::to_json(*card.config.find("hidden_layers")).dump();
    }
    return std::string();
  };
  EXPECT_EQ(layers("model_type: neural_network"), "[64,32]");
  EXPECT_EQ(layers("model_type: deep_neural_network"), "[128,64,32,16]");
  EXPECT_EQ(layers("model_type: deep_neural_network, hidden_layers: [5]"), "[5]");
}

TEST(Document, ChecksTheLayout) {
  const std::string cards =
      "version: 1\ncards: { load: { type: data_load, config: { source: sample } } }\nlayout:\n";
  EXPECT_EQ(refusal_of(cards + "  load: [1.5, -2]\n"), "");
  EXPECT_EQ(refusal_of(cards + "  lod: [0, 0]\n"),
            "pipeline.yaml:4: layout.lod: no card has this id; did you mean load?");
  EXPECT_THAT(refusal_of(cards + "  load: [0]\n"), HasSubstr("must be a position such as [260, 0]"));
}

TEST(Document, WritesEveryDefaultAndReadsItBackAsTheSame) {
  SmallPipeline pipeline;
  pipeline.model_card = tiny_network;
  pipeline.train_keys = "    time_limit: 90\n";
  pipeline.more_cards = "layout: { load: [0, 0] }\n";
  const Document document = pipeline.document();
  const std::string yaml = document.to_yaml();
  EXPECT_THAT(yaml, HasSubstr("learning_rate: 0.001"));
  EXPECT_THAT(yaml, HasSubstr("checkpoint_seconds: 30"));
  EXPECT_THAT(yaml, HasSubstr("time_limit: 90"));
  EXPECT_EQ(document_of(yaml).to_yaml(), yaml);
}

TEST(Document, WritesPathsSoThatTheyAreFoundFromAnywhere) {
  SmallPipeline pipeline;
  pipeline.load = "source: csv, path: data/houses.csv";
  EXPECT_THAT(pipeline.document("/home/me").to_yaml(), HasSubstr("path: /home/me/data/houses.csv"));
}

TEST(Document, PutsCardsIntoAnOrderInWhichTheyCanRun) {
  const Document document = document_of(
      "version: 1\ncards:\n"
      "  evaluate: { type: evaluate, inputs: { trained_model: train.trained_model, test_dataset: "
      "split.test_dataset } }\n"
      "  train: { type: train, inputs: { train_dataset: split.train_dataset, model_spec: model.model_spec }, "
      "config: { "
      "target_column: y } }\n"
      "  model: { type: model_define }\n"
      "  split: { type: data_split, inputs: { dataset: load.dataset } }\n"
      "  load: { type: data_load, config: { source: sample } }\n");
  std::vector<std::string> ids;
  for (const Card& card : document.cards) ids.push_back(card.id);
  EXPECT_THAT(ids, testing::ElementsAre("model", "load", "split", "train", "evaluate"));
}

TEST(Document, NamesEveryCycle) {
  const std::string text =
      "version: 1\ncards:\n"
      "  a: { type: data_split, inputs: { dataset: c.train_dataset } }\n"
      "  b: { type: data_split, inputs: { dataset: a.train_dataset } }\n"
      "  c: { type: data_split, inputs: { dataset: b.test_dataset } }\n"
      "  d: { type: data_split, inputs: { dataset: c.test_dataset } }\n"
      "  e: { type: data_split, inputs: { dataset: e.test_dataset } }\n";
  EXPECT_EQ(refusal_of(text),
            "pipeline.yaml:3: cards.a: the cards feed each other in a cycle: a -> b -> c -> a\n"
            "pipeline.yaml:7: cards.e: the cards feed each other in a cycle: e -> e");
}

TEST(Document, IsCalledAfterItsFileWhenItHasNoName) {
  const TemporaryFolder folder;
  write_file(folder.path() / "houses.yaml",
             "version: 1\ncards: { load: { type: data_load, config: { source: sample } } }\n");
  EXPECT_EQ(load_pipeline(folder.path() / "houses.yaml").name, "houses");
}

TEST(Document, TakesAssignmentsBeforeItIsChecked) {
  const TemporaryFolder folder;
  write_file(folder.path() / "p.yaml", SmallPipeline().text());
  const Document document = load_pipeline(folder.path() / "p.yaml",
                                          {"cards.split.config.random_seed=7", "cards.train.time_limit=3"});
  EXPECT_THAT(document.to_yaml(), HasSubstr("random_seed: 7"));
  EXPECT_THROW(load_pipeline(folder.path() / "p.yaml", {"cards.split.config.train_ratio=7"}), Error);
}

TEST(Document, HasASchemaThatKnowsEveryCardAndSetting) {
  const nlohmann::json schema = document_schema();
  const nlohmann::json card = schema.at("properties").at("cards").at("additionalProperties");
  EXPECT_EQ(card.at("properties").at("type").at("enum").size(), card_types().size());
  EXPECT_EQ(card.at("allOf").size(), card_types().size());
  EXPECT_THAT(schema.dump(), HasSubstr("early_stopping_patience"));
  EXPECT_EQ(schema.at("additionalProperties"), false);
}

TEST(Document, HasAReferencePageWithEveryCardAndHyperparameter) {
  const std::string page = reference_page();
  for (const CardType& type : card_types()) {
    EXPECT_THAT(page, HasSubstr("\n## " + type.name + "\n"));
    for (const config::Field& field : type.describe().fields)
      EXPECT_THAT(page, HasSubstr("| `" + field.name + "` |"));
  }
  EXPECT_THAT(page, HasSubstr("Hyperparameters of `lasso_cv`"));
}

TEST(Document, NamesTheNearestCardToASettingOfNone) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "small.yaml";
  write_file(file, SmallPipeline().text());
  const auto refusal_to_set = [&](const std::string& assignment) -> std::string {
    try {
      load_pipeline(file, {assignment});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal_to_set("cards.splti.config.random_seed=3"),
            "--set cards.splti.config.random_seed: there is no card 'splti'; did you mean split? The cards "
            "are load, "
            "split, model, train, evaluate");
  EXPECT_THAT(refusal_to_set("cards.xyzzyx.type=train"), HasSubstr("no card 'xyzzyx'. The cards are load"));
  EXPECT_EQ(refusal_to_set("cards.split.config.random_seed=3"), "");
  EXPECT_EQ(refusal_to_set("cards.more={type: data_load, config: {source: sample}}"), "");
}

TEST(Document, UnderstandsNamesFromElsewhereWithANote) {
  SmallPipeline pipeline;
  pipeline.model_card = tiny_network;
  pipeline.train = "target_column: MEDV, use_amp: false, num_workers: 4, pin_memory: true";
  const Document document = pipeline.document();
  const config::Value& config = card_named(document, "train").config;
  EXPECT_EQ(*config.find("precision")->get_if<std::string>(), "fp32");
  EXPECT_EQ(config.find("num_workers"), nullptr);
  ASSERT_EQ(document.notes.size(), 3U);
  EXPECT_THAT(document.notes[0], HasSubstr("cards.train.config.use_amp: called precision here"));
  EXPECT_THAT(document.notes[1], HasSubstr("num_workers: there is nothing to set"));
  pipeline.model_card = "{ type: model_define_gpu, config: { model_type: lstm, hidden_dim: 96 } }";
  const Document other = pipeline.document();
  EXPECT_EQ(*card_named(other, "model").config.find("hidden_size")->get_if<std::int64_t>(), 96);
  EXPECT_THAT(other.notes[0], HasSubstr("cards.model.config.hidden_dim: called hidden_size here"));
  pipeline.train = "target_column: MEDV, use_amp: 3";
  EXPECT_THAT(refusal_of(pipeline.text()), HasSubstr("cards.train.config.use_amp: must be"));
}

TEST(Document, TakesABatchThatIsToBeChosen) {
  SmallPipeline pipeline;
  pipeline.model_card = "{ type: model_define_gpu, config: { batch_size: auto } }";
  const Document document = pipeline.document();
  EXPECT_EQ(*card_named(document, "model").config.find("batch_size")->get_if<std::string>(), "auto");
  EXPECT_THAT(document.to_yaml(), HasSubstr("batch_size: auto"));
  EXPECT_EQ(document_of(document.to_yaml()).to_yaml(), document.to_yaml());
}

}  // namespace
}  // namespace stoker
