#include <bit>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fused/cuda/choose_plan.h"
#include "fused/cuda/epoch_sums.h"
#include "fused/cuda/flat.h"
#include "fused/cuda/moments.h"
#include "fused/reshaped.h"

// The state of a model of the fused CUDA engine goes from any plan to any other that can train the model. The
// plans are made for GPUs of several kinds, none of which needs to be here.
namespace stoker::fused {
namespace {

constexpr Gpu h200{90, 132, 232'448, true};
constexpr Gpu half_an_h200{90, 66, 232'448, true};
constexpr Gpu a100{80, 108, 166'912, true};
constexpr Gpu rtx_4090{89, 128, 101'376, true};
constexpr Gpu rtx_5090{120, 170, 101'376, true};

struct Layout {
  std::string name;
  Plan plan;
  Spread spread;

  std::size_t sums() const { return static_cast<std::size_t>(spread.sums(plan)); }
};

EngineRequest request_of(std::int64_t inputs, std::vector<std::int64_t> hidden, std::int64_t batch) {
  EngineRequest request;
  request.network = mlp_network({inputs, std::move(hidden), 1, Activation::relu, 0.2});
  request.batch_size = batch;
  return request;
}

EngineRequest clipped(EngineRequest request) {
  request.optimizer.max_grad_norm = 1;
  return request;
}

std::string name_of(const Plan& plan, const Spread& spread) {
  return fmt::format("team {} crowd {}x{} clips {} duet {} pitch {} clusters {} passes {}", plan.team,
                     plan.crowd.blocks, plan.crowd.tiles, plan.crowd.clips, plan.duet > 0, plan.pitch,
                     spread.clusters, spread.passes);
}

// Every way in which the request is trained: on several GPUs, alone or beside a model that clips, with fp16
// and with fp32 operands, with room for few clusters and for many.
std::vector<Layout> layouts_of(const EngineRequest& request) {
  std::vector<Layout> all;
  std::set<std::string> known;
  const auto add = [&](const Plan& plan, const Spread& spread) {
    const std::string name = name_of(plan, spread);
    if (known.insert(name).second) all.push_back({name, plan, spread});
  };
  const std::vector<EngineRequest> with_neighbour{request, clipped(request)};
  for (const Gpu& gpu : {h200, half_an_h200, a100, rtx_4090, rtx_5090}) {
    for (const EngineRequest& each : {request, widest_of(with_neighbour)}) {
      std::string why_not;
      if (const std::optional<Plan> plan = plan_for(each, gpu, why_not))
        for (const int clusters : {1, 3, 8}) add(*plan, spread_of(*plan, clusters, each.batch_size));
      if (const std::optional<Plan> plain = plain_plan_for(each, gpu, why_not))
        add(*plain, plain_spread_of(each.batch_size));
    }
  }
  return all;
}

const std::vector<std::int64_t> batches{1, 7, 32, 33, 64, 100, 128, 500, 512, 1000, 4096, 9000};

std::vector<EngineRequest> requests_of_all_kinds(const std::vector<std::int64_t>& of_batches = batches) {
  std::vector<EngineRequest> all;
  for (const std::int64_t batch : of_batches) {
    all.push_back(request_of(13, {128, 64, 32}, batch));
    all.push_back(request_of(20, {128, 64, 32}, batch));
    all.push_back(request_of(6, {33, 17}, batch));
    all.push_back(request_of(40, {128, 96, 32}, batch));
    all.push_back(request_of(33, {999, 301, 17}, batch));
    all.push_back(request_of(8, {24}, batch));
    all.back().loss().kind = Loss::cross_entropy;
    test::reshape(all.back(), [&](MlpShape& shape) { shape.outputs = 5; });
  }
  return all;
}

// What the kernel of a layout would hold: a different number for each parameter, and padding that must not
// count.
std::vector<float> flat_numbers(const Layout& layout, const NamedArrays& arrays) {
  std::vector<float> flat(static_cast<std::size_t>(layout.plan.parameters()), 12'345.0F);
  to_flat(layout.plan, arrays, "first_moment.", flat);
  return flat;
}

NamedArrays numbers_of(const Network& network) {
  NamedArrays arrays;
  float next = 0.5F;
  for (NamedArray& each : initial_parameters(network, 3)) {
    for (float& value : each.array.as<float>()) value = next += 1.0F;
    arrays.push_back({"first_moment." + each.name, each.array});
  }
  return arrays;
}

bool same_numbers(const NamedArrays& one, const NamedArrays& other) {
  if (one.size() != other.size()) return false;
  for (const NamedArray& each : one) {
    const auto expected = each.array.as<float>(), actual = find_array(other, each.name).as<float>();
    if (!std::equal(expected.begin(), expected.end(), actual.begin(), actual.end())) return false;
  }
  return true;
}

// Losses of an unfinished epoch as the kernel adds them up: only places of the batch have any.
std::vector<double> losses_in(const Layout& layout, std::int64_t batch) {
  std::vector<double> sums(layout.sums(), 0.0);
  for (std::int64_t place = 0; place < batch; ++place)
    sums.at(static_cast<std::size_t>(layout.spread.sum_of(place))) += 1.0 / static_cast<double>(place + 3);
  return sums;
}

double total(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

TEST(FusedState, GoesFromEveryPlanToEveryOtherOfItsNetwork) {
  for (const EngineRequest& request : requests_of_all_kinds({32, 100})) {
    const std::vector<Layout> layouts = layouts_of(request);
    const NamedArrays numbers = numbers_of(request.network);
    for (const Layout& from : layouts) {
      NamedArrays saved;
      append_from_flat(from.plan, flat_numbers(from, numbers).data(), "first_moment.", saved);
      for (const Layout& to : layouts) {
        NamedArrays back;
        append_from_flat(to.plan, flat_numbers(to, saved).data(), "first_moment.", back);
        ASSERT_TRUE(same_numbers(numbers, back)) << from.name << " -> " << to.name;
      }
    }
  }
}

TEST(FusedState, TakesTheLossesOfAnUnfinishedEpochFromPlanToPlan) {
  for (const EngineRequest& request : requests_of_all_kinds()) {
    const std::vector<Layout> layouts = layouts_of(request);
    for (const Layout& from : layouts) {
      const std::vector<double> losses = losses_in(from, request.batch_size);
      const std::vector<double> saved = sums_by_place(from.spread, losses, request.batch_size);
      ASSERT_EQ(static_cast<std::int64_t>(saved.size()), request.batch_size) << from.name;
      for (const Layout& to : layouts) {
        const std::vector<double> restored = sums_to_go_on(to.spread, saved, to.sums());
        ASSERT_NEAR(total(restored), total(losses), 1e-12 * total(losses)) << from.name << " -> " << to.name;
      }
    }
  }
}

TEST(FusedState, GetsTheVeryBitsBackInTheSamePlan) {
  for (const EngineRequest& request : requests_of_all_kinds()) {
    for (const Layout& layout : layouts_of(request)) {
      const std::vector<double> losses = losses_in(layout, request.batch_size);
      const std::vector<double> saved = sums_by_place(layout.spread, losses, request.batch_size);
      const std::vector<double> restored = sums_to_go_on(layout.spread, saved, layout.sums());
      for (std::size_t i = 0; i < losses.size(); ++i)
        ASSERT_EQ(std::bit_cast<std::uint64_t>(losses[i]), std::bit_cast<std::uint64_t>(restored[i]))
            << layout.name << " sum " << i;
    }
  }
}

// The pair that a sweep with halving met: a group with and without clipping, and a survivor alone.
TEST(FusedState, FitsBothPlansOfAModelThatIsClippedOnlyByItsNeighbours) {
  const EngineRequest alone = request_of(20, {128, 64, 32}, 32);
  const std::vector<EngineRequest> group{alone, clipped(alone)};
  std::string why_not;
  const std::optional<Plan> own = plan_for(alone, h200, why_not);
  const std::optional<Plan> shared = plan_for(widest_of(group), h200, why_not);
  ASSERT_TRUE(own && shared) << why_not;
  const Spread own_spread = spread_of(*own, 8, 32), shared_spread = spread_of(*shared, 8, 32);
  ASSERT_NE(own_spread.sums(*own), shared_spread.sums(*shared));
  const std::vector<double> losses(static_cast<std::size_t>(shared_spread.sums(*shared)), 0.25);
  const std::vector<double> saved = sums_by_place(shared_spread, losses, 32);
  EXPECT_EQ(saved.size(), 32U);
  EXPECT_EQ(sums_to_go_on(own_spread, saved, static_cast<std::size_t>(own_spread.sums(*own))), saved);
}

// The plans above are of every kind that there is.
TEST(FusedState, KnowsPlansOfABlockADuetATeamAndACrowd) {
  std::set<std::string> kinds;
  for (const EngineRequest& request : requests_of_all_kinds()) {
    for (const Layout& layout : layouts_of(request)) {
      const Plan& plan = layout.plan;
      kinds.insert(plan.crowd.blocks > 0 ? "crowd"
                   : plan.duet > 0       ? "duet"
                   : plan.team > 0       ? "team"
                                         : "block");
      if (layout.spread.clusters > 1) kinds.insert("clusters");
      if (layout.spread.passes > 1) kinds.insert(plan.team > 0 ? "passes of a team" : "passes of a block");
    }
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"block", "clusters", "crowd", "duet", "passes of a block",
                                          "passes of a team", "team"}));
}

TEST(FusedMoments, GoToAnotherLossScaleAndBack) {
  for (const Optimizer kind : {Optimizer::adam, Optimizer::adamw, Optimizer::sgd}) {
    OptimizerSettings settings;
    settings.kind = kind;
    const auto start = static_cast<float>(initial_second_moment(settings, loss_scale(0)));
    const Moments begun{{0.5F, -2.0F, 0.0F}, {start + 3.0F, start + 40.0F, start}};
    Moments moments = begun;
    rescale(moments, settings, 0, 1);
    const double factor = kind == Optimizer::sgd ? 1 : loss_scale(1) / loss_scale(0);
    EXPECT_FLOAT_EQ(moments.first[1], static_cast<float>(-2 * factor));
    rescale(moments, settings, 1, 0);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_FLOAT_EQ(moments.first[i], begun.first[i]);
      EXPECT_NEAR(moments.second[i], begun.second[i], 1e-6 * (1 + begun.second[i]));
    }
  }
}

// What Adam itself would have: without the scale, its epsilon, and what the kernels leave undivided.
TEST(FusedMoments, BecomeThoseOfThePlainKernelWhateverTheirScale) {
  const OptimizerSettings settings;
  for (const int lowered : {0, 1, 2}) {
    const double scale = loss_scale(lowered);
    const double offset = initial_second_moment(settings, scale);
    Moments moments{{static_cast<float>(0.25 * scale / (1 - settings.beta1))},
                    {static_cast<float>(9 * scale * scale / (1 - settings.beta2) + offset)}};
    make_plain(moments, settings, lowered);
    EXPECT_NEAR(moments.first[0], 0.25, 1e-6);
    EXPECT_NEAR(moments.second[0], 9, 1e-4);
  }
}

}  // namespace
}  // namespace stoker::fused
