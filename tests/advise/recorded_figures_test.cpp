// What was measured on this machine decides for `auto`, as long as it is whole and of the same devices.
#include "train/choose/recorded_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "advise/own_cache.h"
#include "base/files/files.h"
#include "base/files/user_cache.h"
#include "device/device.h"

namespace stoker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A cache folder of its own.
class RecordedFigures : public testing::Test {
 protected:
  std::filesystem::path file() const { return *user_cache("figures") / "key.json"; }

 private:
  TemporaryFolder folder_;
  test::OwnCache cache_{folder_.path()};
};

StepFigures on_cpu(const std::string& engine, double step_seconds) {
  return {"cpu", cpu_model(), engine, step_seconds, 0.5};
}

std::vector<std::string> engines_in(const std::vector<StepFigures>& figures) {
  std::vector<std::string> names;
  for (const StepFigures& each : figures) names.push_back(each.engine);
  return names;
}

TEST_F(RecordedFigures, ComeBackAndReplaceThoseOfTheSameDevice) {
  EXPECT_THAT(recorded_figures("key", false), IsEmpty());
  record_figures("key", std::vector{on_cpu("fused", 0.001), on_cpu("eager", 0.002)});
  EXPECT_THAT(engines_in(recorded_figures("key", false)), ElementsAre("fused", "eager"));
  record_figures("key", std::vector{on_cpu("eager", 0.003)});
  const std::vector<StepFigures> figures = recorded_figures("key", false);
  ASSERT_EQ(figures.size(), 1U);
  EXPECT_EQ(figures.front().step_seconds, 0.003);
  EXPECT_EQ(figures.front().ready_seconds, 0.5);
}

TEST_F(RecordedFigures, OfAnotherDeviceAreNotHeeded) {
  StepFigures other = on_cpu("fused", 0.001);
  other.model = "another processor";
  record_figures("key", std::vector{other, StepFigures{"cuda:7", "a GPU", "fused", 0.001, 0}});
  EXPECT_THAT(recorded_figures("key", false), IsEmpty());
}

TEST_F(RecordedFigures, ThatAreDamagedAreNone) {
  record_figures("key", std::vector{on_cpu("fused", 0.001)});
  const std::string whole = read_file(file(), 1 << 20);
  const std::string of_later = R"({"version": 99, "figures": []})";
  const std::string negative = R"({"version": 3, "figures": [{"device": "cpu", "model": ")" + cpu_model() +
                               R"(", "engine": "fused", "step_seconds": -1, "ready_seconds": 0}]})";
  for (const std::string& text : {std::string(), whole.substr(0, whole.size() / 2), std::string("[]"),
                                  of_later, negative, std::string("{\"version\": \"1\"}")}) {
    write_file(file(), text);
    EXPECT_THAT(recorded_figures("key", false), IsEmpty()) << text;
  }
  write_file(file(), whole);
  EXPECT_EQ(recorded_figures("key", false).size(), 1U);
}

std::vector<StepFigures> both_devices(double cpu_step, double gpu_step, double gpu_ready) {
  return {{"cpu", "a CPU", "fused", cpu_step, 0}, {"cuda:0", "a GPU", "fused", gpu_step, gpu_ready}};
}

TEST(DeviceByFigures, IsTheCpuWhereAGpuDoesNotPayAndIsSaid) {
  std::string said;
  const Notes notes = [&](Severity, const std::string& message) { said += message; };
  // 100 steps: 0.1 s against 1 s and 0.01 s.
  const std::vector<StepFigures> figures = both_devices(0.001, 0.0001, 1);
  EXPECT_EQ(device_by_figures(Device::cuda(0), figures, 100, notes), Device::cpu());
  EXPECT_THAT(said, HasSubstr("training on the CPU, although there is a GPU"));
  said.clear();
  EXPECT_EQ(device_by_figures(Device::cuda(0), figures, 100'000, notes), Device::cuda(0));
  EXPECT_EQ(said, "");
}

TEST(DeviceByFigures, StaysWhatAutoHasWhereOneIsNotKnown) {
  const std::vector<StepFigures> cpu_alone{{"cpu", "a CPU", "fused", 1e-6, 0}};
  EXPECT_EQ(device_by_figures(Device::cuda(0), cpu_alone, 100, no_notes()), Device::cuda(0));
  EXPECT_EQ(device_by_figures(Device::cpu(), both_devices(1, 1e-6, 0), 100, no_notes()), Device::cpu());
}

TEST(GpuByFigures, IsFasterWhereThatPays) {
  const std::vector<StepFigures> figures = both_devices(0.001, 0.0001, 1);
  EXPECT_FALSE(gpu_by_figures(Device::cuda(0), figures, 100).is_faster);
  EXPECT_TRUE(gpu_by_figures(Device::cuda(0), figures, 100'000).is_faster);
  EXPECT_EQ(gpu_by_figures(Device::cuda(0), figures, 100'000).told,
            "as measured on this machine, this training takes 11.0 s there and 1 min 40 s on the CPU");
  // Nor where it is faster by a little, or nothing is known of one of them.
  EXPECT_FALSE(gpu_by_figures(Device::cuda(0), both_devices(0.001, 0.00095, 0), 100).is_faster);
  for (const StepFigures& alone : figures) {
    const GpuByFigures found = gpu_by_figures(Device::cuda(0), std::vector{alone}, 100'000);
    EXPECT_FALSE(found.is_faster);
    EXPECT_EQ(found.told, "");
  }
}

// Who takes it says so: until then it may be refused.
TEST(EngineByFigures, IsTheFasterOneOfThoseThatAreKnown) {
  const std::vector<StepFigures> figures{{"cpu", "a CPU", "fused", 0.002, 0},
                                         {"cpu", "a CPU", "eager", 0.001, 2}};
  const auto faster = engine_by_figures(Device::cpu(), "fused", figures, 10'000);
  ASSERT_TRUE(faster);
  EXPECT_EQ(faster->name, "eager");
  EXPECT_THAT(faster->told, HasSubstr("engine eager: as measured on this machine"));
  EXPECT_FALSE(engine_by_figures(Device::cpu(), "fused", figures, 100));
  EXPECT_FALSE(engine_by_figures(Device::cpu(), "eager", figures, 10'000));
  EXPECT_FALSE(engine_by_figures(Device::cpu(), "graph", figures, 10'000));
}

TEST(FiguresKey, DependsOnWhatDecidesTheTimeOfAStep) {
  EngineRequest request;
  request.network.family = "neural_network";
  const std::string key = figures_key(request);
  EngineRequest same = request;
  same.seed = 7;
  same.device = Device::cuda(0);
  EXPECT_EQ(figures_key(same), key);
  EngineRequest other = request;
  other.batch_size = 64;
  EXPECT_NE(figures_key(other), key);
  other = request;
  other.network.outputs = 3;
  EXPECT_NE(figures_key(other), key);
  other = request;
  other.precision = Precision::bf16;
  EXPECT_NE(figures_key(other), key);
}

}  // namespace
}  // namespace stoker
