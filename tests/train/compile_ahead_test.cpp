#include "train/group/compile_ahead.h"

#include <atomic>
#include <chrono>
#include <stdexcept>

#include <gtest/gtest.h>

#include "patience.h"
#include "tables.h"

namespace stoker {
namespace {

std::vector<std::vector<EngineRequest>> groups_of(std::size_t count) {
  std::vector<std::vector<EngineRequest>> groups;
  for (std::size_t i = 0; i < count; ++i) groups.emplace_back(i + 1);
  return groups;
}

std::atomic<std::int64_t> compiled_models;
std::atomic<int> begun;
std::atomic<int> given_up;

TEST(GroupKernelsAhead, AreAllCompiledWhileTheOwnerGoesOn) {
  compiled_models = 0;
  const GroupKernelsAhead ahead(groups_of(9), [](std::span<const EngineRequest> group, const StopSignal&) {
    compiled_models += static_cast<std::int64_t>(group.size());
    if (group.size() == 2) throw std::runtime_error("one that cannot be compiled hinders no other");
  });
  EXPECT_TRUE(test::comes_true([] { return compiled_models == 45; })) << compiled_models;
}

TEST(CompileAhead, IsForAllMembersOfAnEnsembleTogether) {
  const Table table = test::sample(SampleName::friedman, 50);
  FitRequest request = test::request_for(table, test::small_network());
  const auto compiled_for = [&] {
    compiled_models = 0;
    compile_ahead(request, StopSignal{}, [](std::span<const EngineRequest> group, const StopSignal&) {
      compiled_models += static_cast<std::int64_t>(group.size());
    });
    return compiled_models.load();
  };
  EXPECT_EQ(compiled_for(), 1);
  request.config.ensemble = {4, 2};
  EXPECT_EQ(compiled_for(), 8);
  request.spec.training.early_stopping_metric = "mae";
  EXPECT_EQ(compiled_for(), 1) << "judged by a metric, each trains alone";
}

TEST(GroupKernelsAhead, AreGivenUpWithTheirOwner) {
  begun = given_up = 0;
  {
    const GroupKernelsAhead ahead(groups_of(50), [](std::span<const EngineRequest>, const StopSignal& stop) {
      ++begun;
      if (test::comes_true([&] { return stop.reason() != StopReason::none; })) ++given_up;
    });
    EXPECT_TRUE(test::comes_true([] { return begun > 0; }));
  }
  EXPECT_EQ(begun, given_up);
  EXPECT_LT(begun, 50);
}

}  // namespace
}  // namespace stoker
