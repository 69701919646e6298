#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "config/value.h"
#include "kernels/covariance.h"
#include "kernels/place.h"
#include "model/nodes/node_graph.h"

// What nodes should give, made by tests/reference/nodes.py with scikit-learn, SciPy, NumPy and torch's
// autograd.
namespace stoker::nodes {
namespace {

using nlohmann::json;

const json& node_cases() {
  static const json cases = [] {
    std::ifstream file(STOKER_SOURCE_DIR "/tests/reference/nodes.json");
    return json::parse(file);
  }();
  return cases;
}

template <class T>
Array array_with(const json& packed) {
  const auto values = packed["values"].get<std::vector<T>>();
  return Array::from<T>(values, packed["shape"].get<Shape>());
}

Array unpacked(const json& packed) {
  if (packed["type"] == "uint8") return array_with<std::uint8_t>(packed);
  if (packed["type"] == "int32") return array_with<std::int32_t>(packed);
  return array_with<float>(packed);
}

void expect_near(const Array& found, const json& packed, double tolerance, const std::string& what) {
  SCOPED_TRACE(what);
  ASSERT_EQ(found.shape(), packed["shape"].get<Shape>());
  const Array expected = unpacked(packed);
  ASSERT_EQ(found.type(), expected.type());
  if (found.type() != DType::float32) {
    EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.bytes()), 0);
    return;
  }
  double size = 0;
  for (const float each : expected.as<float>()) size = std::max(size, std::abs(static_cast<double>(each)));
  for (std::size_t i = 0; i < expected.as<float>().size(); ++i)
    EXPECT_NEAR(found.as<float>()[i], expected.as<float>()[i], tolerance * std::max(size, 1e-3)) << i;
}

class NodeCase : public testing::TestWithParam<std::size_t> {
 protected:
  const json& given() const { return node_cases()[GetParam()]; }

  std::unique_ptr<Node> node() const {
    const NodeType* type = find_node_type(given()["type"].get<std::string>());
    if (type == nullptr) throw std::runtime_error("no such type");
    return type->make(config::from_json(given()["settings"]));
  }

  Values values(const char* key) const {
    Values result;
    const json& all = given()[key];
    for (const auto& [name, packed] : all.items()) result[name] = unpacked(packed);
    return result;
  }

  Ports connected(const Node& of, const Values& inputs) const {
    Ports ports;
    for (const Port& port : of.inputs()) {
      const Array* value = value_if(inputs, port.name);
      if (value == nullptr) continue;
      ports.push_back(port);
      ports.back().shape = value->shape();
    }
    return ports;
  }

  NamedArrays state() const {
    NamedArrays result;
    const json& all = given()["state"];
    for (const auto& [name, packed] : all.items()) result.push_back({name, unpacked(packed)});
    return result;
  }

  // What it makes of its first input, held against the state of the case.
  NamedArrays learned(const Node& of, const Values& inputs) const {
    const Array& first = value_at(inputs, of.inputs()[0].name);
    const std::int64_t channels = first.shape().back();
    const kernels::StatisticsWork work{first.as<float>().data(), nullptr, first.size() / channels, channels,
                                       true};
    const kernels::Statistics statistics =
        kernels::covariance(work, kernels::BadPixels::refuse, {Device::cpu(), nullptr});
    LabelledPixels labelled{{first.as<float>().begin(), first.as<float>().end()}, {}, channels};
    if (const Array* mask = value_if(inputs, "mask"))
      labelled.marks.assign(mask->as<std::uint8_t>().begin(), mask->as<std::uint8_t>().end());
    Known known;
    known.statistics = &statistics;
    known.labelled = &labelled;
    NamedArrays found = of.begin(connected(of, inputs), known);
    const json& all = given()["state"];
    for (const auto& [name, packed] : all.items())
      expect_near(find_array(found, name), packed, given()["tolerance"], "state " + name);
    return found;
  }

  Stage stage() const {
    const std::string name = given()["stage"];
    return name == "train" ? Stage::train : name == "val" ? Stage::val : Stage::inference;
  }
};

TEST_P(NodeCase, GivesWhatTheReferenceGives) {
  const std::unique_ptr<Node> of = node();
  const Values inputs = values("inputs");
  const NamedArrays with = given()["learns"] ? learned(*of, inputs) : state();
  const Values outputs = of->forward({inputs, with, stage()});
  const double tolerance = given()["tolerance"];
  const json& expected = given()["outputs"];
  for (const auto& [name, packed] : expected.items())
    expect_near(value_at(outputs, name), packed, tolerance, "output " + name);
  const Ports told = of->outputs(connected(*of, inputs));
  for (const Port& port : told) {
    SCOPED_TRACE(port.name);
    const Array& output = value_at(outputs, port.name);
    EXPECT_EQ(output.type(), port.type);
    ASSERT_EQ(output.shape().size(), port.shape.size());
    for (std::size_t i = 0; i < port.shape.size(); ++i) {
      EXPECT_TRUE(port.shape[i] < 0 || output.shape()[i] == port.shape[i]) << i;
    }
  }
  if (given()["gradients"].empty()) return;
  const Values gradients = values("gradients");
  const Gradients back = of->backward({inputs, with, outputs, gradients});
  const json& of_inputs = given()["input_gradients"];
  for (const auto& [name, packed] : of_inputs.items())
    expect_near(value_at(back.inputs, name), packed, tolerance, "gradient of input " + name);
  const json& of_state = given()["state_gradients"];
  for (const auto& [name, packed] : of_state.items()) {
    expect_near(find_array(back.state, name), packed, tolerance, "gradient of state " + name);
    const std::vector<std::string> trainable = of->trainable();
    EXPECT_NE(std::ranges::find(trainable, name), trainable.end()) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Nodes, NodeCase, testing::Range<std::size_t>(0, 52), [](const auto& each) {
  std::string name = node_cases()[each.param]["name"];
  for (char& letter : name)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  return name;
});

TEST(NodeTypes, AllHaveACase) {
  ASSERT_EQ(node_cases().size(), 52);
  for (const NodeType& type : node_types()) {
    bool has_case = type.kind == NodeKind::data;
    for (const json& each : node_cases()) has_case = has_case || each["type"] == type.name;
    EXPECT_TRUE(has_case) << type.name;
  }
}

TEST(NodeTypes, HaveTheirSettingsInTheDocumentation) {
  std::ifstream file(STOKER_SOURCE_DIR "/docs/nodes.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::size_t settings = page.find("\n## Settings\n");
  ASSERT_NE(settings, std::string::npos);
  const std::string expected = "\n## Settings\n" + node_reference();
  if (page.substr(settings) == expected) return;
  std::ofstream(STOKER_BINARY_DIR "/nodes-settings.md") << expected.substr(1);
  FAIL() << "put " STOKER_BINARY_DIR "/nodes-settings.md in place of the last section of docs/nodes.md";
}

}  // namespace
}  // namespace stoker::nodes
