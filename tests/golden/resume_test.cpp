// Runs and sweeps that an earlier version was stopped in: this one goes on with them to the same end, or says
// what to do and leaves everything as it is.

#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "base/hash.h"
#include "golden/golden_set.h"
#include "golden/processor.h"
#include "golden/same.h"

namespace stoker::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Where another instruction set trains on, sums are taken in another order and weights drift apart.
constexpr double drift = 0.01;

std::string hashes_below(const fs::path& folder) {
  std::string text;
  for (const std::string& file : files_below(folder))
    if (is_regular_file(folder / file)) text += file + " " + sha256_of_file(folder / file) + "\n";
  return text;
}

class GoldenResume : public ::testing::TestWithParam<std::string> {
 protected:
  GoldenSet set_{GetParam()};
  const bool is_same_instruction_set_ =
      compute_with(set_.json("expected/made-by.json").at("instruction set"));

  fs::path run_with_model(const json& stop) const {
    const fs::path run = set_.folder() / "runs" / stop.at("folder").get<std::string>();
    if (stop.at("command") == "run") return run;
    return set_.json(run / "sweep.json").at("winner").at("run").get<std::string>();
  }

  void expect_same_end(const json& stop) const {
    const fs::path expected = set_.folder() / "expected" / "uninterrupted" / stop.at("document");
    const fs::path run = run_with_model(stop);
    const json record = set_.json(run / "run.json");
    const std::string engine = record.at("trainings").at(0).at("engine");
    const json made_by = set_.json("expected/made-by.json");
    const std::string reason = is_same_instruction_set_
                                   ? reason_for_other_bits(made_by, engine, record.at("torch_version"))
                                   : "the fused engine cannot compute as it did";
    // Candidates that are close to each other may change places with the bits.
    if (!reason.empty() && stop.at("command") == "sweep") return;
    const double share = reason.empty() ? 0 : drift;
    EXPECT_EQ(difference(set_.json(expected / "results.json"), record.at("results"), share), "");
    if (!reason.empty()) return;
    EXPECT_EQ(difference_of_weights(expected / "model.safetensors", run / "model" / "model.safetensors"), "");
  }
};

TEST_P(GoldenResume, StoppedTrainingsEndAsIfNobodyHadStoppedThemOrAreRefusedUnharmed) {
  for (const json& stop : set_.json("expected/stopped.json")) {
    SCOPED_TRACE(stop.dump());
    const fs::path folder = fs::path("runs") / stop.at("folder");
    const fs::path checkpoints = set_.folder() / folder / "checkpoints";
    const std::string before = hashes_below(checkpoints);
    const Finished finished = set_.stoker({stop.at("command"), "--resume", folder.string(), "--quiet"});
    if (finished.code == 0) {
      expect_same_end(stop);
    } else {
      EXPECT_EQ(finished.code, 2) << finished.errors;
      EXPECT_NE(finished.errors.find("; "), std::string::npos)
          << "no word of what to do: " << finished.errors;
      // A sweep's other candidates may have begun beside the one that was refused.
      const std::string after = hashes_below(checkpoints);
      std::istringstream lines(before);
      for (std::string line; std::getline(lines, line);) {
        if (line.find(".partial-") != std::string::npos) continue;
        EXPECT_NE(after.find(line), std::string::npos) << "lost or changed: " << line;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, GoldenResume, ::testing::ValuesIn(golden_sets()),
                         [](const auto& tested) { return name_for_test(tested.param); });

}  // namespace
}  // namespace stoker::test
