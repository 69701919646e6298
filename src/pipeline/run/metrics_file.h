#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files/files.h"
#include "train/loop/progress.h"

namespace stoker {

// metrics.csv of a run: one line per epoch of each training card, counted from 1, appended as they finish. A
// training that goes on from a checkpoint repeats epochs: the lines from the first of them on are replaced.
// The file is written anew only then, so that an epoch costs the same however many there were before it.
class MetricsFile {
 public:
  // Goes on with the lines that are there; passes over what is none, such as one cut short.
  explicit MetricsFile(std::filesystem::path path);

  void add(const std::string& card, const EpochReport& epoch);
  // All epochs of a card at once, when they are known for good.
  void replace(const std::string& card, const std::vector<EpochReport>& epochs);

 private:
  struct Line {
    std::int64_t epoch = 0;
    std::string text;
    bool operator==(const Line&) const = default;
  };
  using Lines = std::vector<Line>;  // their epochs ascend
  Lines& lines_of(const std::string& card);
  void rewrite();

  std::filesystem::path path_;
  std::vector<std::pair<std::string, Lines>> cards_;  // in the order of their first lines
  std::optional<AppendedFile> file_;
};

// What epochs tell beside their losses as values/CARD.csv, see report/plot/epoch_values.h; "" where that is
// nothing.
std::string values_csv(const std::vector<EpochReport>& epochs);

}  // namespace stoker
