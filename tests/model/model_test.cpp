#include "model/model.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/example_models.h"
#include "model/fixtures.h"
#include "model/safetensors.h"

namespace stoker {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
namespace fs = std::filesystem;

// What a model computes of the rows, before it is brought to real units.
Array outputs_of(const Model& model, const Table& table) {
  const Family& family = family_of(model.network);
  const Dataset data = model.preparation.apply(table, family.type(), false);
  return family.outputs(model.network, model.parameters, data, 0, data.rows());
}

bool are_same(const Array& one, const Array& other) {
  return one.shape() == other.shape() && one.bytes() == other.bytes() &&
         std::memcmp(one.data(), other.data(), one.bytes()) == 0;
}

class ModelFolder : public ::testing::Test {
 protected:
  fs::path folder() const { return temporary_.path() / "model"; }
  json description() const { return json::parse(read_file(folder() / "model.json", 1 << 20)); }
  void describe(const json& text) const { write_file(folder() / "model.json", text.dump()); }
  std::string refusal_to_load() const {
    return refusal([&] { load_model(folder()); });
  }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& entry : fs::directory_iterator(temporary_.path()))
      result.push_back(entry.path().filename());
    return result;
  }

  TemporaryFolder temporary_;
};

TEST_F(ModelFolder, HoldsAllThatAPredictionNeeds) {
  const Table table = houses();
  for (const Model& model : {linear_model(), network_model(Task::regression), network_model(Task::binary),
                             network_model(Task::multiclass)}) {
    SCOPED_TRACE(model.type());
    save_model(model, folder());
    const Model loaded = load_model(folder());
    EXPECT_EQ(loaded.type(), model.type());
    EXPECT_EQ(loaded.alpha, model.alpha);
    EXPECT_EQ(to_json(loaded.network).at("inputs"), to_json(model.network).at("inputs"));
    EXPECT_EQ(loaded.network.outputs, model.network.outputs);
    EXPECT_TRUE(are_same(outputs_of(loaded, table), outputs_of(model, table)));
    EXPECT_EQ(loaded.preparation.target_scale(), model.preparation.target_scale());
    EXPECT_EQ(loaded.preparation.target_shift(), model.preparation.target_shift());
    EXPECT_EQ(loaded.preparation.classes(), model.preparation.classes());
  }
  EXPECT_THAT(names(), UnorderedElementsAre("model"));
}

TEST_F(ModelFolder, IsNotTouchedWhenTheModelDoesNotFitItself) {
  save_model(linear_model(), folder());
  Model wrong = linear_model();
  wrong.parameters.pop_back();
  EXPECT_THAT(refusal([&] { save_model(wrong, folder()); }), HasSubstr("no 'intercept'"));
  EXPECT_NO_THROW(load_model(folder()));
  EXPECT_THAT(names(), UnorderedElementsAre("model"));
}

TEST_F(ModelFolder, ThatIsReplacedWhileItIsReadGivesTheOldModelOrTheNewOne) {
  const auto save = [this](double number) {
    Model model = linear_model();
    model.alpha = number;
    model.parameters[1].array = Array::from<double>(std::vector<double>{number}, {1});
    save_model(model, folder());
  };
  save(1);
  std::future<void> writer = std::async(std::launch::async, [&] {
    for (int i = 0; i < 40; ++i) save(1 + i % 2);
  });
  int mixed = 0;
  while (writer.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    const Model model = load_model(folder());
    if (model.alpha != model.parameters[1].array.as<double>()[0]) ++mixed;
  }
  EXPECT_EQ(mixed, 0);
}

TEST_F(ModelFolder, WithAMissingFileIsRefusedByItsName) {
  EXPECT_THAT(refusal_to_load(), HasSubstr("model.json is missing"));
  save_model(linear_model(), folder());
  fs::remove(folder() / "model.safetensors");
  EXPECT_THAT(refusal_to_load(), HasSubstr("model.safetensors is missing"));
}

TEST_F(ModelFolder, WithATruncatedFileIsRefused) {
  save_model(linear_model(), folder());
  const std::string whole = read_file(folder() / "model.json", 1 << 20);
  write_file(folder() / "model.json", whole.substr(0, whole.size() / 2));
  EXPECT_THAT(refusal_to_load(), HasSubstr("model.json is not a Stoker model"));
  write_file(folder() / "model.json", whole);
  fs::resize_file(folder() / "model.safetensors", fs::file_size(folder() / "model.safetensors") - 1);
  EXPECT_THAT(refusal_to_load(), HasSubstr("model.safetensors is not a valid safetensors file"));
}

TEST_F(ModelFolder, OfAnotherProgramOrVersionIsRefused) {
  save_model(linear_model(), folder());
  const json whole = description();
  describe(json::array());
  EXPECT_THAT(refusal_to_load(), HasSubstr("does not describe a Stoker model"));
  json changed = whole;
  changed["version"] = 7;
  describe(changed);
  EXPECT_THAT(refusal_to_load(), HasSubstr("version 7"));
  for (const char* key : {"type", "task", "preparation", "version", "network"}) {
    changed = whole;
    changed.erase(key);
    describe(changed);
    EXPECT_THAT(refusal_to_load(), HasSubstr("model.json")) << key;
    changed[key] = json::array({1});
    describe(changed);
    EXPECT_THAT(refusal_to_load(), HasSubstr("model.json")) << key;
  }
  changed = whole;
  changed["alpha"] = "much";
  describe(changed);
  EXPECT_THAT(refusal_to_load(), HasSubstr("model.json"));
}

// Parsed they would take a hundred times their text and more.
// Numbers as they can be written and no type holds, in each place where there is a number.
TEST_F(ModelFolder, WithAnOddNumberInAnyPlaceIsReadOrRejectedByName) {
  for (const Model& model :
       {linear_model(), network_model(Task::regression), network_model(Task::multiclass)}) {
    save_model(model, folder());
    const json written = description();
    const json flat = written.flatten();
    for (const auto& [path, value] : flat.items()) {
      if (!value.is_number()) continue;
      json marked = written;
      marked[json::json_pointer(path)] = "HERE";
      const std::string text = marked.dump();
      for (const char* number : {"1e999", "-1e999", "1e300", "-1e300", "18446744073709551615",
                                 "9223372036854775807", "-9223372036854775808", "0.5", "-1"}) {
        std::string odd = text;
        odd.replace(odd.find("\"HERE\""), 6, number);
        write_file(folder() / "model.json", odd);
        const std::string words = refusal_to_load();
        EXPECT_TRUE(words.empty() || words.find("model.json") != std::string::npos ||
                    words.find("model.safetensors") != std::string::npos)
            << path << " " << number << ": " << words;
        EXPECT_THAT(words, testing::Not(HasSubstr("json.exception"))) << path << " " << number;
      }
    }
  }
}

TEST_F(ModelFolder, OfFarMoreValuesThanAModelHasIsRefusedWithoutBuildingThem) {
  save_model(linear_model(), folder());
  for (const char* part : {"{\"\":0},", "[],", "\"\","}) {
    std::string text = "{\"format\": \"stoker-model\", \"rest\": [";
    while (text.size() < std::size_t{24} << 20) text += part;
    write_file(folder() / "model.json", text + "0]}");
    EXPECT_THAT(refusal_to_load(),
                AllOf(HasSubstr("model.json cannot be used"), HasSubstr("it contains more than")));
  }
}

TEST_F(ModelFolder, OfMoreLayersThanAnyNetworkHasIsRefused) {
  save_model(network_model(Task::regression), folder());
  json text = description();
  text["network"]["settings"]["hidden_layers"] = std::vector<int>(200'000, 1);
  describe(text);
  EXPECT_THAT(refusal_to_load(), HasSubstr("200000 hidden layers"));
}

TEST_F(ModelFolder, WithColumnsToEmbedThatItsNetworkDoesNotEmbedIsRefused) {
  for (const Model& model : {linear_model(), network_model(Task::regression)}) {
    save_model(model, folder());
    json text = description();
    text["preparation"]["columns"][0]["apart"] = true;
    text["network"]["inputs"] =
        json::parse(R"([{"name": "numbers", "role": "features", "type": "float32", "shape": [1]},
                        {"name": "features", "role": "features", "type": "float32", "shape": [1]}])");
    describe(text);
    EXPECT_THAT(refusal_to_load(), HasSubstr("is to be embedded, which its network does not do"));
  }
}

TEST_F(ModelFolder, OfANetworkHasNoPenaltyAndIsReadWithTheZeroOfEarlierVersions) {
  save_model(network_model(Task::regression), folder());
  EXPECT_FALSE(description().contains("alpha"));
  json earlier = description();
  earlier["alpha"] = 0.0;
  describe(earlier);
  EXPECT_FALSE(load_model(folder()).alpha);
}

TEST_F(ModelFolder, WithAWeightThatIsNoNumberIsRefused) {
  for (const double value : {std::nan(""), static_cast<double>(INFINITY)}) {
    Model linear = linear_model();
    linear.parameters.front().array.as<double>()[1] = value;
    save_model(linear, folder());
    EXPECT_THAT(refusal_to_load(), AllOf(HasSubstr("model.safetensors"), HasSubstr("'coefficients' contains"),
                                         HasSubstr("train the model again")));
    Model network = network_model(Task::multiclass);
    network.parameters.back().array.as<float>()[2] = static_cast<float>(value);
    save_model(network, folder());
    EXPECT_THAT(refusal_to_load(), HasSubstr("'layers.1.bias' contains"));
  }
}

TEST_F(ModelFolder, WhoseFilesDoNotFitEachOtherIsRefused) {
  save_model(network_model(Task::multiclass), folder());
  const json whole = description();
  const auto with_network = [&](const char* key, const json& value) {
    json changed = whole;
    changed["network"][key] = value;
    describe(changed);
    return refusal_to_load();
  };
  const auto with_setting = [&](const char* key, const json& value) {
    json settings = whole["network"]["settings"];
    settings[key] = value;
    return with_network("settings", settings);
  };
  json inputs = whole["network"]["inputs"];
  inputs[0]["shape"] = {5};
  EXPECT_THAT(with_network("inputs", inputs), HasSubstr("5 inputs"));
  inputs[0]["shape"] = {1'000'000'000, 1'000'000'000, 1'000'000'000};
  EXPECT_THAT(with_network("inputs", inputs), HasSubstr("does not have a valid shape"));
  EXPECT_THAT(with_network("outputs", 1), HasSubstr("outputs"));
  EXPECT_THAT(with_network("family", "ridge"),
              HasSubstr("'neural_network', but its network is of type 'ridge'"));
  EXPECT_THAT(with_setting("hidden_layers", {7}), HasSubstr("does not have the shape and type"));
  EXPECT_THAT(with_setting("hidden_layers", {-3}), HasSubstr("model"));
  EXPECT_THAT(with_setting("hidden_layers", {4, 4}), HasSubstr("layers.1.weight"));
  EXPECT_THAT(with_setting("activation", "swish"), HasSubstr("swish"));
  EXPECT_THAT(with_setting("wings", 2), HasSubstr("wings"));
  json changed = whole;
  changed["type"] = "crystal_ball";
  describe(changed);
  EXPECT_THAT(refusal_to_load(), HasSubstr("does not know the model 'crystal_ball'"));
  describe(whole);
  NamedArrays parameters = network_model(Task::multiclass).parameters;
  parameters.push_back({"extra", Array(DType::float32, {1})});
  write_safetensors(folder() / "model.safetensors", parameters);
  EXPECT_THAT(refusal_to_load(), HasSubstr("5 arrays"));
}

// As the first version described a network and a linear model.
TEST_F(ModelFolder, OfVersion1IsRead) {
  for (const Model& model : {network_model(Task::multiclass), linear_model()}) {
    save_model(model, folder());
    json text = description();
    text["version"] = 1;
    text.erase("network");
    if (model.type() == "neural_network")
      text["network"] = {
          {"inputs", 2}, {"hidden_layers", {4}}, {"outputs", 3}, {"activation", "tanh"}, {"dropout", 0.1}};
    describe(text);
    const Table table = houses();
    EXPECT_TRUE(are_same(outputs_of(load_model(folder()), table), outputs_of(model, table)));
    json changed = text;
    if (changed.contains("network")) {
      changed.erase("network");
    } else {
      changed["network"] = {{"inputs", 2}};
    }
    describe(changed);
    EXPECT_THAT(refusal_to_load(), HasSubstr("a network"));
  }
}

}  // namespace
}  // namespace stoker
