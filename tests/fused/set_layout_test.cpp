#include <numeric>

#include <gtest/gtest.h>

#include "base/error.h"
#include "fused/cuda/sets/flat.h"
#include "fused/cuda/sets/layout.h"
#include "fused/cuda/sets/plan.h"
#include "model/family.h"
#include "torch/reception_case.h"

// How the kernels over sets lay a network over a cluster; what a GPU would compute with it is held against
// another engine in tests/torch.
namespace stoker {
namespace {

using test::ReceptionCase;

const fused::Gpu h200{90, 132, 232'448, true};

// The GPU is given, so that the rows may lie where this machine has memory.
std::string refusal_for(const EngineRequest& request, const fused::Gpu& gpu = h200) {
  std::string why_not;
  fused::sets::sizes_for(request, gpu, why_not);
  return why_not;
}

TEST(SetLayout, GivesEveryParameterAPlaceOfItsOwn) {
  for (const fused::sets::Sizes sizes : {fused::sets::Sizes{10, 6, 3}, {16, 16, 4}, {1, 1, 2}}) {
    ReceptionCase each;
    each.members = sizes.members;
    each.columns = sizes.columns;
    each.targets = sizes.outputs - 1;
    NamedArrays numbered = test::reception_request_of(each).initial_parameters;
    float next = 1;
    for (NamedArray& array : numbered)
      for (float& value : array.array.as<float>()) value = next++;
    std::vector<float> flat(fused::sets::parameters, 0.0F);
    fused::sets::to_flat(sizes, numbered, "", flat);
    NamedArrays back;
    fused::sets::append_from_flat(sizes, flat, "", back);
    ASSERT_EQ(back.size(), numbered.size());
    for (std::size_t i = 0; i < back.size(); ++i) {
      EXPECT_EQ(back[i].name, numbered[i].name);
      EXPECT_TRUE(std::ranges::equal(back[i].array.as<float>(), numbered[i].array.as<float>()));
    }
    std::vector<float> filled;
    std::ranges::copy_if(flat, std::back_inserter(filled), [](float value) { return value != 0; });
    std::ranges::sort(filled);
    ASSERT_EQ(filled.size(), static_cast<std::size_t>(next) - 1);
    for (std::size_t i = 0; i < filled.size(); ++i) ASSERT_EQ(filled[i], static_cast<float>(i + 1));
  }
}

TEST(SetLayout, HasOneWarpForTheGradientsOfEveryTile) {
  std::vector<int> makers(fused::sets::tiles, 0);
  std::vector<int> bias_makers(fused::sets::vectors, 0);
  for (int warp = 0; warp < fused::warps; ++warp)
    for (const fused::sets::Unit unit : {fused::sets::unit_of(warp), fused::sets::head_unit_of(warp)}) {
      for (int i = 0; i < unit.count; ++i) ++makers.at(static_cast<std::size_t>(unit.tile() + i));
      if (unit.column != 0) continue;
      for (int i = 0; i < 16; ++i)
        ++bias_makers.at(static_cast<std::size_t>(fused::sets::bias_of(unit.part) + unit.row * 16 + i));
    }
  EXPECT_TRUE(std::ranges::all_of(makers, [](int count) { return count == 1; }));
  for (int i = 0; i < fused::sets::vectors; ++i) {
    const bool is_bias =
        i < fused::sets::norm_weight || (i >= fused::sets::head_bias && i < fused::sets::output_weight);
    EXPECT_EQ(bias_makers[static_cast<std::size_t>(i)], is_bias ? 1 : 0) << i;
  }
}

TEST(SetLayout, FitsAMultiprocessorForEveryNumberOfReceivers) {
  for (int members = 1; members <= fused::sets::most_members; ++members) {
    const fused::sets::Sizes sizes{members, 16, 4};
    EXPECT_LE(fused::sets::shared_bytes(sizes), fused::sets::most_shared_bytes) << members;
    EXPECT_GE(sizes.slots(), members);
    EXPECT_EQ(sizes.tokens() % 16, 0) << members;
  }
}

TEST(SetLayout, RefusesParametersOfAnotherNetwork) {
  ReceptionCase each;
  each.columns = 5;
  std::vector<float> flat(fused::sets::parameters, 0.0F);
  EXPECT_THROW(
      fused::sets::to_flat({10, 6, 3}, test::reception_request_of(each).initial_parameters, "", flat), Error);
}

TEST(SetRefusal, TakesWhatItIsMadeFor) {
  EXPECT_EQ(refusal_for(test::reception_request_of({})), "");
  ReceptionCase most;
  most.members = most.columns = 16;
  most.targets = 3;
  most.batch = 1000;
  EXPECT_EQ(refusal_for(test::reception_request_of(most)), "");
}

TEST(SetRefusal, SaysWhatItDoesNotHave) {
  const auto refusal_with = [](auto&& change) {
    EngineRequest request = test::reception_request_of({});
    change(request);
    return refusal_for(request);
  };
  EXPECT_EQ(refusal_with([](EngineRequest& request) {
              TriangulationSettings settings;
              settings.width = 64;
              request.network.settings = config::write(settings);
            }),
            "layers of 64 and 64, 4 heads and a head of 64; on a GPU it has 64 and 32, 4 heads and 64");
  EXPECT_EQ(refusal_with([](EngineRequest& request) { request.precision = Precision::fp32; }),
            "its operands of sets are fp16, not fp32");
  EXPECT_EQ(refusal_with([](EngineRequest& request) { request.optimizer.kind = Optimizer::lion; }),
            "it does not have the optimizer lion");
  EXPECT_EQ(refusal_with([](EngineRequest& request) { request.batch_size = 100'000; }),
            "batches of 100000 rows; it supports up to 65536");
  ReceptionCase large;
  large.members = 17;
  EXPECT_EQ(refusal_for(test::reception_request_of(large)), "sets of 17 receivers; it supports up to 16");
  large = {};
  large.columns = 17;
  EXPECT_EQ(refusal_for(test::reception_request_of(large)), "receivers of 17 columns; it supports up to 16");
  large = {};
  large.targets = 4;
  EXPECT_EQ(refusal_for(test::reception_request_of(large)), "4 targets; it supports up to 3");
}

TEST(SetRefusal, NeedsAGpuWithClustersAndTheirMemory) {
  const EngineRequest request = test::reception_request_of({});
  EXPECT_EQ(refusal_for(request, {86, 82, 101'376, true}),
            "it needs clusters of blocks, from compute capability 9.0 on, but this GPU has 8.6");
  EXPECT_EQ(refusal_for(request, {120, 170, 101'376, true}),
            "the values of its rows do not fit into a multiprocessor's memory");
}

}  // namespace
}  // namespace stoker
