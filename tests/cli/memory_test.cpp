// What a run takes of the machine's memory, as its own record says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

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

// Of this process and those that it starts; `ulimit -v`.
class AddressLimit {
 public:
  explicit AddressLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_AS, &before_);
    const rlimit lowered{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_AS, &lowered);
  }
  AddressLimit(const AddressLimit&) = delete;
  AddressLimit& operator=(const AddressLimit&) = delete;
  ~AddressLimit() { ::setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

// The network takes about 300 MB and the program about 130 MiB of addresses. A reservation of 1 GiB fits next
// to the program under these limits, and leaves too little for the network.
TEST(Memory, LimitedByUlimitIsLeftToTheTraining) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take memory of their own";
#endif
  const Workplace place;
  write_table(place, 1000);
  ::setenv("STOKER_THREADS", "1", 1);
  ::setenv("MALLOC_ARENA_MAX", "2", 1);
  const auto train = [&](rlim_t megabytes) {
    const AddressLimit limit(megabytes << 20);
    return place.stoker({"train", "table.csv", "--target", "y", "--model", "neural_network",
                         "--hidden-layers", "3072,3072", "--epochs", "1", "--ensemble-folds", "0", "--device",
                         "cpu"});
  };
  for (const rlim_t megabytes : {1160, 1200}) {
    const Finished finished = train(megabytes);
    EXPECT_EQ(finished.code, 0) << megabytes << " MiB: " << finished.errors;
  }
  ::unsetenv("STOKER_THREADS");
  ::unsetenv("MALLOC_ARENA_MAX");
}

}  // namespace
}  // namespace stoker::test
