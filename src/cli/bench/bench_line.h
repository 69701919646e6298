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
  double spread = 0;                 // between the fastest and the slowest window, as a share of the median
  double processor_us_per_step = 0;  // of the CPU, all threads together; 0 where nobody told
  double processor_spread = 0;
  std::int64_t steps_before = 0;  // trained before the measurement
  double samples_per_s = 0;
  std::int64_t models = 1;
  std::uint64_t peak_bytes = 0;
  std::vector<std::pair<std::string, std::string>> versions;
};

nlohmann::json to_json(const BenchLine& line);
// What a peer printed; false when the text is no such line.
bool read_bench_line(const std::string& text, BenchLine& line);

// Prints each line as soon as it is measured: a row of a table with the ratio to the first line of the same
// workload and batch in front, or JSON.
class Comparison {
 public:
  explicit Comparison(bool as_json) : as_json_(as_json) {}
  // For who wants the lines and shows them elsewhere.
  static Comparison silent() {
    Comparison none(false);
    none.is_silent_ = true;
    return none;
  }
  void show(const BenchLine& line);

 private:
  bool as_json_;
  bool is_silent_ = false;
  std::vector<BenchLine> firsts_;  // of each workload and batch
};

// Runs those scripts of bench/peers/ whose names begin with `prefix`, with the first of these Pythons that
// has their packages: $STOKER_PYTHON, that of .venv, the system's; and gives, or shows, what each has
// measured. What is measured is told about, and a script that cannot run (its packages are missing).
std::vector<BenchLine> lines_of_peers(const std::string& prefix, const std::vector<std::string>& arguments,
                                      bool tells = true);
void run_peers(const std::string& prefix, const std::vector<std::string>& arguments, Comparison& comparison);

}  // namespace stoker::cli
