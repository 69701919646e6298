#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace stoker::cli {

// One measurement, by Stoker or by a peer, as one JSON object on one line.
struct BenchLine {
  std::string workload;
  std::int64_t batch = 0;  // rows per step; all rows where there are no batches
  std::string engine;
  std::string device;
  std::string precision;
  double us_per_step = 0;
  double spread = 0;  // between the fastest and the slowest window, as a share of the median
  double samples_per_s = 0;
  std::int64_t models = 1;
  std::uint64_t peak_bytes = 0;
  std::vector<std::pair<std::string, std::string>> versions;
};

nlohmann::json to_json(const BenchLine& line);
// What a peer printed; false when the text is no such line.
bool read_bench_line(const std::string& text, BenchLine& line);

// Own lines and peers' lines of the same workload and batch side by side, with the ratio to the first of them
// in front.
std::string comparison(const std::vector<BenchLine>& own, const std::vector<BenchLine>& peers);

// Runs those scripts of bench/peers/ whose names begin with `prefix`, with the first of these Pythons that
// has their packages: $STOKER_PYTHON, that of .venv, the system's; and returns what they measured. A script
// that cannot run (its packages are missing) is told about.
std::vector<BenchLine> run_peers(const std::string& prefix, const std::vector<std::string>& arguments);

}  // namespace stoker::cli
