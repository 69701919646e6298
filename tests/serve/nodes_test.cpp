// Graphs of nodes: what the service tells of their types, and of the nodes of a document.
#include <fstream>
#include <iterator>
#include <map>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/running_service.h"

namespace stoker::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string example_text(const std::string& name) {
  std::ifstream file(std::string(STOKER_EXAMPLES) + "/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string replaced(std::string text, const std::string& old, const std::string& by) {
  const std::size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return text.replace(at, old.size(), by);
}

class ServiceNodes : public testing::Test {
 protected:
  static void SetUpTestSuite() { service_ = std::make_unique<RunningService>(); }
  static void TearDownTestSuite() { service_.reset(); }

  static json checked(const std::string& content) {
    return service_->post("/api/documents/validate", {{"content", content}}).json();
  }

  static std::unique_ptr<RunningService> service_;
};
std::unique_ptr<RunningService> ServiceNodes::service_;

TEST_F(ServiceNodes, OfEveryTypeHavePortsSettingsAndHelp) {
  const json answer = service_->get("/api/nodes").json();
  EXPECT_EQ(answer["model_type"], "node_graph");
  std::map<std::string, json> named;
  for (const json& type : answer["nodes"]) {
    EXPECT_FALSE(type["outputs"].empty()) << type["name"];
    EXPECT_NE(type["help"], "") << type["name"];
    for (const json& name : type["order"])
      EXPECT_TRUE(type["settings"]["properties"].contains(name)) << type["name"] << name;
    named[type["name"]] = type;
  }
  EXPECT_EQ(named.size(), 32U);
  const json pca = named["TrainablePCA"];
  EXPECT_EQ(pca["kind"], "statistical");
  EXPECT_EQ(pca["trains"], true);
  EXPECT_EQ(named["BinaryDecider"]["trains"], false);
  EXPECT_EQ(pca["inputs"][0]["name"], "data");
  EXPECT_EQ(pca["inputs"][0]["type"], "float32");
  EXPECT_EQ(pca["inputs"][0]["shape"], json({-1, -1, -1, -1}));
  EXPECT_TRUE(pca["settings"]["properties"].contains("n_components"));
  EXPECT_EQ(named["AnomalyDetectionMetrics"]["inputs"][2]["required"], false);
  EXPECT_EQ(named["BinaryDecider"]["outputs"][0]["type"], "uint8");
}

TEST_F(ServiceNodes, OfADocumentHaveTheShapesThatFollowFromTheirSettings) {
  const json answer = checked(example_text("spectral_stress.yaml"));
  ASSERT_EQ(answer["valid"], true) << answer;
  const json graph = answer["graphs"]["model"];
  EXPECT_EQ(graph.size(), 10U);
  EXPECT_EQ(graph["first_pca"]["outputs"][0]["shape"], json({-1, -1, -1, 20}));
  EXPECT_EQ(graph["second_pca"]["inputs"][0]["shape"], json({-1, -1, -1, 20}));
  EXPECT_EQ(graph["second_pca"]["outputs"][0]["shape"], json({-1, -1, -1, 10}));
  EXPECT_EQ(checked(example_text("boston_housing.yaml"))["graphs"], json::object());
}

// The page finds by these paths which node and which port a sentence belongs to.
TEST_F(ServiceNodes, SayWhereInTheListsSomethingIsWrong) {
  const std::string sound = example_text("spectral_stress.yaml");
  const auto problem = [&](const std::string& old, const std::string& by) {
    const json answer = checked(replaced(sound, old, by));
    EXPECT_EQ(answer["problems"].size(), 1U) << answer;
    return answer["problems"].empty() ? json() : answer["problems"][0];
  };
  json found = problem("threshold: 0.5", "treshold: 0.5");
  EXPECT_EQ(found["path"], "cards.model.config.nodes.6.treshold");
  EXPECT_THAT(found["message"].get<std::string>(), HasSubstr("did you mean threshold"));
  found = problem("target: rx.data", "target: rx.dat");
  EXPECT_EQ(found["path"], "cards.model.config.connections.3");
  EXPECT_THAT(found["message"].get<std::string>(), HasSubstr("did you mean data"));
  found = problem("source: data.mask, target: metrics.targets", "source: data.cube, target: metrics.targets");
  EXPECT_EQ(found["path"], "cards.model.config.connections.10");
  EXPECT_THAT(found["message"].get<std::string>(), HasSubstr("but metrics.targets takes uint8"));
}

TEST_F(ServiceNodes, OfCuvisAreUpgradedToADocumentWithCards) {
  const std::string graph = R"(metadata: { name: little }
nodes:
- { name: data, class_name: cuvis_ai.node.data.CubeDataNode }
- { name: rx, class_name: cuvis_ai.anomaly.rx_detector.RXGlobal, hparams: { eps: 1.0e-6 } }
- { name: monitor, class_name: cuvis_ai.node.monitor.TensorBoardMonitorNode }
connections:
- { source: data.outputs.cube, target: rx.inputs.data }
)";
  const auto upgraded = [](const std::string& content) {
    return service_->post("/api/documents/upgrade", {{"content", content}});
  };
  const HttpAnswer answer = upgraded(graph);
  ASSERT_EQ(answer.status, 200) << answer.body;
  const std::string content = answer.json()["content"];
  EXPECT_THAT(content, HasSubstr("model_type: node_graph"));
  EXPECT_THAT(answer.json()["notes"].dump(),
              AllOf(HasSubstr("which cubes are trained on is not said"), HasSubstr("monitor is left out")));
  EXPECT_THAT(content, Not(HasSubstr("monitor")));
  const HttpAnswer whole = upgraded(graph + "data: { path: uploads/cubes, num_workers: 4 }\n");
  const json document = checked(whole.json()["content"]);
  EXPECT_EQ(document["problems"], json::array()) << document;
  EXPECT_THAT(whole.json()["notes"].dump(), HasSubstr("data.num_workers: means nothing here"));
  EXPECT_EQ(document["graphs"]["model"].size(), 2U) << document;
  const HttpAnswer elsewhere = upgraded("pipeline: graphs/rx.yaml\n");
  EXPECT_EQ(elsewhere.status, 422);
  EXPECT_THAT(elsewhere.body, HasSubstr("must be a graph with a list of nodes"));
  EXPECT_EQ(upgraded(example_text("boston_housing.yaml")).status, 422);
}

}  // namespace
}  // namespace stoker::test
