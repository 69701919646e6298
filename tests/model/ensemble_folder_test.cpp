#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/example_models.h"
#include "model/fixtures.h"
#include "model/safetensors.h"

// The folder of a model that consists of several.
namespace stoker {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
namespace fs = std::filesystem;

Model ensemble(Task task) {
  Model whole = network_model(task);
  whole.parameters.clear();
  const std::size_t width = task == Task::regression ? 1 : whole.preparation.classes().size();
  for (std::uint64_t i = 0; i < 3; ++i) {
    Model member = network_model(task);
    member.parameters = initial_parameters(member.network, 100 + i);
    member.held_back = {{static_cast<std::int64_t>(i), 5}, {0, 1}, std::vector<double>(2 * width, 0.25)};
    whole.members.push_back(member);
  }
  return whole;
}

class EnsembleFolder : public ::testing::Test {
 protected:
  void SetUp() override { save_model(ensemble(Task::regression), folder()); }
  fs::path folder() const { return temporary_.path() / "model"; }
  json description() const { return json::parse(read_file(folder() / "model.json", 1 << 20)); }
  void describe(const json& text) const { write_file(folder() / "model.json", text.dump()); }
  std::string refusal_to_load() const {
    return refusal([&] { load_model(folder()); });
  }
  // Changes the arrays of a file.
  void rewrite(const char* file, const std::function<void(NamedArrays&)>& change) const {
    NamedArrays arrays = read_safetensors(folder() / file);
    change(arrays);
    write_safetensors(folder() / file, arrays);
  }

  TemporaryFolder temporary_;
};

TEST_F(EnsembleFolder, HoldsEveryMember) {
  for (const Task task : {Task::regression, Task::binary, Task::multiclass}) {
    const Model saved = ensemble(task);
    save_model(saved, folder());
    const Model loaded = load_model(folder());
    ASSERT_EQ(loaded.members.size(), 3U);
    EXPECT_TRUE(loaded.parameters.empty());
    EXPECT_EQ(parameter_count(loaded), 3 * parameter_count(saved.network));
    for (std::size_t i = 0; i < 3; ++i) {
      const NamedArrays& before = saved.members[i].parameters;
      const NamedArrays& after = loaded.members[i].parameters;
      ASSERT_EQ(before.size(), after.size());
      for (const NamedArray& each : before) {
        const auto found = find_array(after, each.name).as<float>();
        const auto expected = each.array.as<float>();
        EXPECT_TRUE(std::equal(found.begin(), found.end(), expected.begin(), expected.end())) << each.name;
      }
      EXPECT_EQ(loaded.members[i].held_back.rows, saved.members[i].held_back.rows);
      EXPECT_EQ(loaded.members[i].held_back.actual, saved.members[i].held_back.actual);
      EXPECT_EQ(loaded.members[i].held_back.predicted, saved.members[i].held_back.predicted);
    }
  }
}

TEST_F(EnsembleFolder, SaysWhichVersionItIs) {
  EXPECT_EQ(description().at("version"), 3);
  Model deciding = ensemble(Task::binary);
  deciding.decision.threshold = 0.25;
  save_model(deciding, folder());
  EXPECT_EQ(description().at("version"), 4) << "programs that know no decision must not read it";
  EXPECT_EQ(load_model(folder()).decision, deciding.decision);
  EXPECT_EQ(load_model(folder()).members.size(), 3U);
  save_model(network_model(Task::regression), folder());
  EXPECT_EQ(description().at("version"), 2);
  EXPECT_FALSE(description().contains("members"));
  EXPECT_FALSE(fs::exists(folder() / "out_of_fold.safetensors"));
}

TEST_F(EnsembleFolder, IsRefusedWithADecisionThatIsNone) {
  Model deciding = ensemble(Task::binary);
  deciding.decision = {.temperature = 1.5, .threshold = 0.25};
  save_model(deciding, folder());
  const json right = description();
  const auto with = [&](const char* name, const json& value) {
    json wrong = right;
    wrong["decision"][name] = value;
    describe(wrong);
    return refusal_to_load();
  };
  for (const double temperature : {0.0, -1.0, 0.049, 20.1, 1e300})
    EXPECT_THAT(with("temperature", temperature), HasSubstr("temperature of"));
  for (const double threshold : {0.0, 1.0, -0.1, 7.0})
    EXPECT_THAT(with("threshold", threshold), HasSubstr("between 0 and 1"));
  EXPECT_THAT(with("temperature", "warm"), HasSubstr("missing or of the wrong type"));
  EXPECT_THAT(with("threshold", nullptr), HasSubstr("missing or of the wrong type"));
  json wrong = right;
  wrong.erase("decision");
  describe(wrong);
  EXPECT_THAT(refusal_to_load(), HasSubstr("missing or of the wrong type"));
  wrong["decision"] = json::array({1, 2});
  describe(wrong);
  EXPECT_THAT(refusal_to_load(), HasSubstr("missing or of the wrong type"));

  Model strange = ensemble(Task::multiclass);
  strange.decision.threshold = 0.25;
  EXPECT_THAT(refusal([&] { save_model(strange, folder()); }), HasSubstr("for two classes"));
  strange = ensemble(Task::regression);
  strange.decision.temperature = 2;
  EXPECT_THAT(refusal([&] { save_model(strange, folder()); }), HasSubstr("predicts numbers"));
  strange = ensemble(Task::binary);
  strange.members[1].decision.temperature = 2;
  EXPECT_THAT(refusal([&] { save_model(strange, folder()); }), HasSubstr("member 2 decides by itself"));
}

TEST_F(EnsembleFolder, KeepsTheQuantileThatItWasTrainedFor) {
  Model model = ensemble(Task::regression);
  model.quantile = 0.9;
  save_model(model, folder());
  EXPECT_EQ(load_model(folder()).quantile, 0.9);
  EXPECT_EQ(description().at("version"), 3) << "it predicts the same without knowing";
  for (const json& wrong : {json(0), json(1), json(-0.5), json(1e300)}) {
    json changed = description();
    changed["quantile"] = wrong;
    describe(changed);
    EXPECT_THAT(refusal_to_load(), HasSubstr("which there is not"));
  }
  json changed = description();
  changed["quantile"] = "upper";
  describe(changed);
  EXPECT_THAT(refusal_to_load(), HasSubstr("wrong type"));
  Model classes = ensemble(Task::binary);
  classes.quantile = 0.5;
  EXPECT_THAT(refusal([&] { save_model(classes, folder()); }), HasSubstr("which there is not"));
}

TEST_F(EnsembleFolder, OfOneNetworkHoldsItsValidationRows) {
  Model model = network_model(Task::regression);
  model.held_back = {{2, 5}, {1.5, 2.5}, {1.25, 2}};
  save_model(model, folder());
  EXPECT_EQ(description().at("version"), 2) << "other programs need not know of them";
  const HeldBackRows loaded = load_model(folder()).held_back;
  EXPECT_EQ(loaded.rows, model.held_back.rows);
  EXPECT_EQ(loaded.actual, model.held_back.actual);
  EXPECT_EQ(loaded.predicted, model.held_back.predicted);
  rewrite("validation.safetensors", [](NamedArrays& arrays) {
    arrays.front().array = Array::from<std::int64_t>(std::vector<std::int64_t>{5, 2}, {2});
  });
  EXPECT_THAT(refusal_to_load(), HasSubstr("validation.safetensors cannot be used"));
  fs::remove(folder() / "validation.safetensors");
  EXPECT_THAT(refusal_to_load(), HasSubstr("validation.safetensors is missing"));
}

TEST_F(EnsembleFolder, IsRefusedWithMembersThatAreNone) {
  const json right = description();
  json wrong = right;
  wrong["members"] = json::array();
  describe(wrong);
  EXPECT_THAT(refusal_to_load(), HasSubstr("not a list of 1 to 1000"));
  wrong["members"] = json::array();
  for (int i = 0; i < 1001; ++i) wrong["members"].push_back(right["members"][0]);
  describe(wrong);
  EXPECT_THAT(refusal_to_load(), HasSubstr("not a list of 1 to 1000"));
  wrong["members"] = 7;
  describe(wrong);
  EXPECT_THAT(refusal_to_load(), HasSubstr("not a list"));
  wrong.erase("members");
  describe(wrong);
  EXPECT_THAT(refusal_to_load(), HasSubstr("missing or of the wrong type"));
  wrong = right;
  wrong["members"].erase(1);
  describe(wrong);
  EXPECT_THAT(refusal_to_load(), HasSubstr("belongs to none of 2 members"));
  wrong = right;
  wrong["members"].push_back(right["members"][0]);
  describe(wrong);
  EXPECT_THAT(refusal_to_load(), HasSubstr("it has no '"));
  wrong["version"] = 2;  // a single model, whose weights are not there
  describe(wrong);
  EXPECT_THAT(refusal_to_load(), HasSubstr("it has no '"));
}

TEST_F(EnsembleFolder, IsRefusedWhenMembersAreNotAboutTheSame) {
  json wrong = description();
  wrong["members"][1]["preparation"]["target"]["name"] = "cost";
  describe(wrong);
  EXPECT_THAT(refusal_to_load(), HasSubstr("member 2 predicts something else"));
  save_model(ensemble(Task::multiclass), folder());
  wrong = description();
  wrong["members"][2]["preparation"]["target"]["classes"] = {"flat", "hut", "villa"};
  describe(wrong);
  EXPECT_THAT(refusal_to_load(), HasSubstr("member 3 has other classes"));
  Model mixed = ensemble(Task::regression);
  mixed.weights = {0.5, 0.5};
  EXPECT_THAT(refusal([&] { save_model(mixed, folder()); }), HasSubstr("2 weights for 3 members"));
  mixed.weights = {0.5, 0.75, -0.25};
  EXPECT_THAT(refusal([&] { save_model(mixed, folder()); }), HasSubstr("the weight -0.25"));
  mixed.weights = {0.5, 0.5, 0.5};
  EXPECT_THAT(refusal([&] { save_model(mixed, folder()); }), HasSubstr("add up to 1.5, not 1"));
  mixed = ensemble(Task::regression);
  mixed.members[0].members.push_back(mixed.members[1]);
  EXPECT_THAT(refusal([&] { save_model(mixed, folder()); }), HasSubstr("member 1 is an ensemble itself"));
}

TEST_F(EnsembleFolder, IsRefusedWithWeightsOfNobody) {
  for (const char* name :
       {"members.3.x", "members.-1.x", "members.", "members.1", "weight", "members.99999999999999999999.x"}) {
    rewrite("model.safetensors", [&](NamedArrays& arrays) {
      arrays.push_back({name, Array::from<float>(std::vector<float>{1}, {1})});
    });
    EXPECT_THAT(refusal_to_load(), HasSubstr("belongs to none of 3 members")) << name;
    save_model(ensemble(Task::regression), folder());
  }
  rewrite("model.safetensors", [](NamedArrays& arrays) {
    arrays.push_back({"members.01." + arrays[0].name.substr(10), arrays[0].array});
  });
  EXPECT_THAT(refusal_to_load(), HasSubstr("arrays, but the model needs"));
}

TEST_F(EnsembleFolder, IsRefusedWithHeldBackRowsThatDoNotFit) {
  const auto with = [&](const std::string& name, const Array& array) {
    save_model(ensemble(Task::multiclass), folder());
    rewrite("out_of_fold.safetensors", [&](NamedArrays& arrays) {
      for (NamedArray& each : arrays)
        if (each.name == name) each.array = array;
    });
    return refusal_to_load();
  };
  const auto numbers = [](const std::vector<double>& values) {
    return Array::from<double>(values, {static_cast<std::int64_t>(values.size())});
  };
  const auto rows = [](const std::vector<std::int64_t>& values) {
    return Array::from<std::int64_t>(values, {static_cast<std::int64_t>(values.size())});
  };
  EXPECT_THAT(with("members.0.actual", numbers({1, 2, 0})), HasSubstr("differ in number"));
  EXPECT_THAT(with("members.0.actual", numbers({1, 3})), HasSubstr("class that the model does not have"));
  EXPECT_THAT(with("members.0.actual", numbers({1, -1})), HasSubstr("class that the model does not have"));
  EXPECT_THAT(with("members.0.actual", numbers({1, 0.5})), HasSubstr("class that the model does not have"));
  EXPECT_THAT(with("members.1.rows", rows({4, 4})), HasSubstr("not in order"));
  EXPECT_THAT(with("members.1.rows", rows({-4, 4})), HasSubstr("negative"));
  EXPECT_THAT(with("members.1.rows", numbers({1, 2})), HasSubstr("type"));
  EXPECT_THAT(with("members.2.predicted", numbers({0, 0, 0, 0, 0, std::nan("")})),
              HasSubstr("something other than numbers"));
  rewrite("out_of_fold.safetensors", [](NamedArrays& arrays) { arrays.pop_back(); });
  EXPECT_THAT(refusal_to_load(), HasSubstr("it has no 'predicted'"));
  fs::remove(folder() / "out_of_fold.safetensors");
  EXPECT_THAT(refusal_to_load(), HasSubstr("out_of_fold.safetensors is missing"));
}

}  // namespace
}  // namespace stoker
