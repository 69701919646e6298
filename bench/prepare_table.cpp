// What a table costs between its file and the first step, part by part: read, seven of eight rows taken as an
// ensemble's member takes them, scales learnt, rows laid. The last line is a sum over the preparation and all
// laid numbers, by which two versions of the program can be told to do the same.
//   g++ -std=c++20 -O2 -DFMT_SHARED -Isrc bench/prepare_table.cpp -Lbuild -lstoker -lfmt
//   -Wl,-rpath,$PWD/build
//     -Wl,--allow-shlib-undefined -o /tmp/prepare_table &&
//     /tmp/prepare_table FILE TARGET standard|robust|quantile
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/notes.h"
#include "base/time/elapsed.h"
#include "data/prepare/preparation.h"
#include "data/source/source.h"
#include "device/device.h"

namespace {

using namespace stoker;

Scaling scaling_named(std::string_view name) {
  if (name == "robust") return Scaling::robust;
  return name == "quantile" ? Scaling::quantile : Scaling::standard;
}

class Stopwatch {
 public:
  void tell(const char* part) {
    fmt::print("{:<6} {:6.3f} s\n", part, seconds_since(start_));
    start_ = now();
  }

 private:
  Moment start_ = now();
};

std::uint64_t sum_of(const Preparation& preparation, const Dataset& dataset) {
  std::uint64_t sum = std::hash<std::string>()(preparation.to_json().dump());
  for (const DatasetArray& each : dataset.arrays) {
    const auto* const bytes = static_cast<const char*>(each.array.data());
    sum = sum * 31 + std::hash<std::string_view>()({bytes, each.array.bytes()});
  }
  return sum;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) {
    std::fputs("prepare_table FILE TARGET standard|robust|quantile\n", stderr);
    return 2;
  }
  Stopwatch watch;
  const Table table = Source::open(Source::config_for(arguments[1]), ".").read();
  watch.tell("read");
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < table.rows(); ++row)
    if (row % 8 != 0) rows.push_back(row);
  const Table training = take_rows(table, std::move(rows));
  watch.tell("taken");
  PreparationConfig config;
  config.target_column = arguments[2];
  config.task = TaskChoice::regression;
  InputForm form(scaling_named(arguments[3]));
  form.numbers_apart = true;
  const Preparation preparation = Preparation::fit(training, config, form, no_notes());
  watch.tell("learnt");
  const Dataset dataset = preparation.apply_to_training(training, DType::float32);
  watch.tell("laid");
  fmt::print("{:x}\n", sum_of(preparation, dataset));
}
