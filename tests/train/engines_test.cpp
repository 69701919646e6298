#include "train/loop/engines.h"

#include "expect_error.h"
#include "scripted_engine.h"

namespace stoker {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::unique_ptr<Engine> make_scripted(const EngineRequest&) {
  return std::make_unique<test::ScriptedEngine>(test::ScriptedEngine::Script{});
}

const std::array<EngineMaker, 2> makers{
    EngineMaker{"graph",
                [](const EngineRequest& request) {
                  return std::string(request.device.is_cuda() ? "" : "needs a GPU");
                },
                make_scripted},
    EngineMaker{
        "eager",
        [](const EngineRequest& request) { return std::string(request.batch_size > 0 ? "" : "no batch"); },
        make_scripted}};

EngineRequest on(Device device) {
  EngineRequest request;
  request.device = device;
  return request;
}

TEST(EngineChoice, AutoTakesTheFirstThatCan) {
  EXPECT_EQ(choose_engine(makers, EngineChoice::automatic, std::nullopt, on(Device::cpu())).name, "eager");
  EXPECT_EQ(choose_engine(makers, EngineChoice::automatic, std::nullopt, on(Device::cuda(0))).name, "graph");
  EXPECT_EQ(choose_engine(makers, EngineChoice::eager, std::nullopt, on(Device::cuda(0))).name, "eager");
}

TEST(EngineChoice, ANamedOneThatCannotIsRefusedWithItsReason) {
  EXPECT_THAT(
      test::error_of(ExitCode::wrong_request,
                     [] { choose_engine(makers, EngineChoice::graph, std::nullopt, on(Device::cpu())); }),
      HasSubstr("engine graph: needs a GPU"));
}

TEST(EngineChoice, WhenNoneCanEveryReasonIsSaid) {
  EngineRequest request = on(Device::cpu());
  request.batch_size = 0;
  EXPECT_THAT(test::error_of(ExitCode::wrong_request,
                             [&] { choose_engine(makers, EngineChoice::automatic, std::nullopt, request); }),
              AllOf(HasSubstr("graph: needs a GPU"), HasSubstr("eager: no batch")));
}

TEST(EngineChoice, AResumedRunKeepsTheEngineItBeganWith) {
  EXPECT_EQ(choose_engine(makers, EngineChoice::automatic, "eager", on(Device::cuda(0))).name, "eager");
  EXPECT_THAT(
      test::error_of(ExitCode::wrong_request,
                     [] { choose_engine(makers, EngineChoice::graph, "eager", on(Device::cuda(0))); }),
      AllOf(HasSubstr("engine graph was requested"), HasSubstr("started with engine eager")));
  EXPECT_THAT(
      test::error_of(ExitCode::wrong_request,
                     [] { choose_engine(makers, EngineChoice::automatic, "graph", on(Device::cpu())); }),
      HasSubstr("needs a GPU"));
  EXPECT_THAT(
      test::error_of(ExitCode::wrong_request,
                     [] { choose_engine(makers, EngineChoice::automatic, "fused", on(Device::cpu())); }),
      AllOf(HasSubstr("no engine 'fused'"), HasSubstr("graph, eager")));
}

TEST(EngineChoice, AutoPassesOverOneThatIsSlowerAlone) {
  EngineMaker fast = makers[1], slow = makers[1];
  fast.name = "fast";
  slow.name = "slow";
  slow.slower_alone = [](const EngineRequest& request) {
    return std::string(request.precision == Precision::fp32 ? "fast is faster" : "");
  };
  const std::array both{slow, fast}, one{slow, makers[0]};
  const auto name = [](std::span<const EngineMaker> from, EngineRequest request, bool is_alone = true) {
    return choose_engine(from, EngineChoice::automatic, std::nullopt, request, is_alone).name;
  };
  EngineRequest fp32 = on(Device::cpu());
  fp32.precision = Precision::fp32;
  EXPECT_EQ(name(both, on(Device::cpu())), "slow");
  EXPECT_EQ(name(both, fp32), "fast");
  EXPECT_EQ(name(both, fp32, false), "slow");  // many at once are faster
  EXPECT_EQ(name(one, fp32), "slow");          // the other cannot
}

TEST(EngineChoice, TriesTheFusedEngineFirst) {
  std::vector<std::string_view> names;
  for (const EngineMaker& maker : engines()) names.push_back(maker.name);
  EXPECT_THAT(names, testing::ElementsAre("fused", "graph", "eager"));
}

}  // namespace
}  // namespace stoker
