#include "predict/measure/expert_usage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stoker {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// As the router of a mixture was found on Fashion-MNIST without a loss that balances it.
TEST(ExpertUsage, ExpertsWithoutRowsAreAWarning) {
  EXPECT_THAT(unused_experts_warning({48'917, 43'593, 0, 29'227, 169, 49'458, 0, 20'204}, 0),
              AllOf(HasSubstr("of 8 experts, the router leaves 2 without rows and 1 with less than 1 %"),
                    HasSubstr("48,917, 43,593, 0, 29,227, 169"), HasSubstr("load_balance (0 here)")));
}

TEST(ExpertUsage, ExpertsThatAllReceiveRowsAreNoWarning) {
  EXPECT_EQ(unused_experts_warning({24'000, 25'000, 23'000, 300}, 0.01), "");
  EXPECT_EQ(unused_experts_warning(std::vector<std::int64_t>{}, 0.01), "");
}

}  // namespace
}  // namespace stoker
