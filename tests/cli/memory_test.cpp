// What a run takes of the machine's memory, as its own record says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace stoker::test {
namespace {

using nlohmann::json;

double peak_bytes(const Workplace& place, int rows) {
  const Finished finished =
      place.stoker({"train", "sample:boston_housing", "--sample-rows", std::to_string(rows), "--target",
                    "MEDV", "--model", "linear_regression", "--quiet"});
  EXPECT_EQ(finished.code, 0) << finished.errors;
  return json::parse(place.stoker({"runs", "show", "latest", "--json"}).output)["peak_memory_bytes"];
}

// The table is twice as large in doubles as the float32 numbers that are trained on, and is written to the cache
// once; held whole by every card, it would be at six times and more.
TEST(Memory, OfARunIsNoMultipleOfItsTable) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take memory of their own";
#endif
  const Workplace place;
  constexpr int rows = 700'000;
  constexpr double tensor_bytes = 4.0 * rows * 14;
  const double beside = peak_bytes(place, 1000);
  EXPECT_LT((peak_bytes(place, rows) - beside) / tensor_bytes, 5);
}

}  // namespace
}  // namespace stoker::test
