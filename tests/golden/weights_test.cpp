// Weights trained anew are the same bits as those that an earlier version trained.

#include <algorithm>
#include <ostream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "golden/golden_set.h"
#include "golden/processor.h"
#include "golden/same.h"

namespace stoker::test {
namespace {

namespace fs = std::filesystem;

struct Case {
  std::string set;
  std::string weights;  // ENGINE-INSTRUCTION_SET, a folder of the set's weights/
};

// For a test's report.
std::ostream& operator<<(std::ostream& out, const Case& each) {
  return out << each.set << " " << each.weights;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::string& set : golden_sets())
    for (const char* weights :
         {"fused-avx512", "fused-avx2", "fused-baseline", "fused-neon", "eager-x86_64", "eager-aarch64"})
      all.push_back({set, weights});
  return all;
}

class GoldenWeights : public ::testing::TestWithParam<Case> {
 protected:
  GoldenSet set_{GetParam().set, {"data", "documents", "weights"}};

  fs::path expected() const { return set_.folder() / "weights" / GetParam().weights; }

  fs::path trained_anew(const std::string& engine) const {
    const Finished finished = set_.stoker({"run", "documents/weights.yaml", "--engine", engine, "--no-cache",
                                           "--quiet", "--json", "--out", "anew"});
    EXPECT_EQ(finished.code, 0) << finished.errors;
    return set_.folder() / nlohmann::json::parse(finished.output).at("folder").get<std::string>();
  }

  // The first train card's model is in model/, the others' are in model-CARD/.
  static fs::path weights_of(const fs::path& run, std::string training) {
    std::replace(training.begin(), training.end(), '-', '_');
    const fs::path own = run / ("model-train_" + training);
    return (exists(own) ? own : run / "model") / "model.safetensors";
  }

  // One line per training whose weights differ.
  std::string differences(const fs::path& run) const {
    std::string lines;
    for (const auto& entry : fs::directory_iterator(expected())) {
      if (entry.path().extension() != ".safetensors") continue;
      const std::string training = entry.path().stem();
      const std::string each = difference_of_weights(entry.path(), weights_of(run, training));
      if (!each.empty()) lines += training + ": " + each + "\n";
    }
    return lines;
  }
};

TEST_P(GoldenWeights, TrainedAnewAreTheSameBits) {
  if (!exists(expected())) GTEST_SKIP() << "nobody has kept the weights of " << GetParam().weights;
  const std::string engine = GetParam().weights.substr(0, GetParam().weights.find('-'));
  const auto made_by = set_.json(expected() / "made-by.json");
  if (engine == "fused" && !compute_with(made_by.at("instruction set")))
    GTEST_SKIP() << "this processor has no " << made_by.at("instruction set");
  const fs::path run = trained_anew(engine);
  const std::string found = differences(run);
  const std::string reason =
      reason_for_other_bits(made_by, engine, set_.json(run / "run.json").at("torch_version"));
  if (!found.empty() && !reason.empty())
    GTEST_SKIP() << "other bits, as was to be expected: " << reason << "\n" << found;
  EXPECT_EQ(found, "");
}

INSTANTIATE_TEST_SUITE_P(Sets, GoldenWeights, ::testing::ValuesIn(cases()), [](const auto& tested) {
  return name_for_test(tested.param.set + "_" + tested.param.weights);
});

}  // namespace
}  // namespace stoker::test
