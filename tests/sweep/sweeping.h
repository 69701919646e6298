#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files/files.h"
#include "sweep/watching.h"

namespace stoker::test {

namespace fs = std::filesystem;

// Sweeps of its documents in a folder of their own.
class Sweeps : public testing::Test {
 protected:
  SweepSummary swept(const SweepDocument& sweep, const std::optional<fs::path>& resume = std::nullopt) {
    SweepOptions options;
    options.out = folder_.path() / "runs";
    options.threads = 2;
    options.resume = resume;
    StopSignal stop;
    return run_sweep(sweep, options, watching_, stop);
  }

  // Everything of the table but the time it took.
  static std::string table(const SweepSummary& summary) {
    std::string text;
    for (const Trial& trial : summary.trials) {
      text += fmt::format("{} {} {} {} {}", trial.number, status_name(trial.status), trial.score.value_or(-1),
                          trial.spread, trial.epochs);
      for (const config::Value& value : trial.values) text += " " + value_text(value);
      text += "\n";
    }
    return text;
  }

  // The sweep with this file in place of its sample.
  std::string reading_file(std::string text, const std::string& csv) {
    const fs::path file = folder_.path() / "table.csv";
    write_file(file, csv);
    const std::string sample = "source: sample, sample_name: friedman, sample_rows: 300";
    if (const auto at = text.find(sample); at != std::string::npos)
      text.replace(at, sample.size(), "source: file, path: " + file.string());
    return text;
  }

  // One of them may read otherwise.
  static std::string forty_rows(const std::string& other = "", int place = 40) {
    std::string csv = "x,y\n";
    for (int row = 1; row <= 40; ++row)
      csv += row == place && !other.empty() ? other : fmt::format("{},{}.5\n", row * row % 37, row);
    return csv;
  }

  TemporaryFolder folder_;
  Watching watching_;
};

}  // namespace stoker::test
