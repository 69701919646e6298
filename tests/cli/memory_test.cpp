// What a run takes of the machine's memory, as its own record says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace stoker::test {
namespace {

using nlohmann::json;

constexpr int columns = 14;

// Numbers of many digits, the same thousand rows over and over.
void write_table(const Workplace& place, int rows) {
  std::string header = "y";
  for (int c = 1; c < columns; ++c) header += ",x" + std::to_string(c);
  std::string thousand;
  for (int row = 0; row < 1000; ++row) {
    for (int c = 0; c < columns; ++c)
      thousand += (c == 0 ? "" : ",") + std::to_string((row * 7919 + c * 104729) % 100'003 * 0.001);
    thousand += '\n';
  }
  std::string text = header + '\n';
  for (int row = 0; row < rows; row += 1000) text += thousand;
  place.write("table.csv", text);
}

double peak_bytes(const Workplace& place, int rows) {
  write_table(place, rows);
  const Finished finished =
      place.stoker({"train", "table.csv", "--target", "y", "--model", "linear_regression", "--quiet"});
  EXPECT_EQ(finished.code, 0) << finished.errors;
  return json::parse(place.stoker({"runs", "show", "latest", "--json"}).output)["peak_memory_bytes"];
}

// The table is twice as large in doubles as the float32 numbers that are trained on, and is held whole only
// while it is read. What the blocks of text take on the way is the same for a table of any size: with 16
// cores half as much as this table.
TEST(Memory, OfARunIsNoMultipleOfItsTable) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take memory of their own";
#endif
  const Workplace place;
  constexpr int rows = 700'000;  // a smaller table is held in memory throughout
  constexpr double tensor_bytes = 4.0 * rows * columns;
  const double beside = peak_bytes(place, 1000);
  EXPECT_LT((peak_bytes(place, rows) - beside) / tensor_bytes, 4);
}

}  // namespace
}  // namespace stoker::test
