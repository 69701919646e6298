// Folders and documents of earlier versions are read, and say what they said.

#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "golden/golden_set.h"
#include "golden/same.h"
#include "report/run/report.h"
#include "report/sweep/sweep_report.h"

namespace stoker::test {
namespace {

using nlohmann::json;

// Predictions on another processor: sums in another order.
constexpr double prediction_share = 1e-5;

// How wide a column is depends on the name of the folder that the test works in.
std::string with_single_blanks(std::string text) {
  const auto both_are_blank = [](char a, char b) { return a == ' ' && b == ' '; };
  text.erase(std::unique(text.begin(), text.end(), both_are_blank), text.end());
  return text;
}

class Golden : public ::testing::TestWithParam<std::string> {
 protected:
  GoldenSet set_{GetParam()};

  // The command's recorded output stands beside its words in commands.json.
  void expect_as_recorded(const json& entry) {
    const auto words = entry.at("words").get<std::vector<std::string>>();
    std::string line;
    for (const std::string& word : words) line += " " + word;
    SCOPED_TRACE("stoker" + line);
    const Finished finished = set_.stoker(words);
    EXPECT_EQ(finished.code, entry.at("code").get<int>()) << finished.errors;
    if (finished.code != 0) {
      EXPECT_EQ(set_.as_recorded(finished.errors), entry.value("errors", ""));
    }
    const std::string output = set_.as_recorded(finished.output);
    const json& expected = entry.at("output");
    if (!expected.is_string()) {
      EXPECT_EQ(difference(expected, json::parse(output, nullptr, false)), "");
    } else if (words.front() == "predict") {
      EXPECT_EQ(difference_of_tables(expected.get<std::string>(), output, prediction_share), "");
    } else {
      EXPECT_EQ(with_single_blanks(output), with_single_blanks(expected.get<std::string>()));
    }
  }

  void expect_all_as_recorded(const std::string& command) {
    int checked = 0;
    for (const json& entry : set_.json("expected/commands.json")) {
      if (entry.at("words").front() != command) continue;
      expect_as_recorded(entry);
      ++checked;
    }
    EXPECT_GT(checked, 0);
  }
};

TEST_P(Golden, RunsAreListedShownAndComparedAsBefore) {
  expect_all_as_recorded("runs");
}

TEST_P(Golden, ModelsPredictAsBefore) {
  expect_all_as_recorded("predict");
}

TEST_P(Golden, DocumentsAreValidatedAsBefore) {
  expect_all_as_recorded("validate");
}

std::string data_of_page(const std::string& page) {
  const std::string opening = R"(<script type="application/json" id="data">)";
  const std::size_t begin = page.find(opening) + opening.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

TEST_P(Golden, ReportsAreMadeAgainWithTheSameContent) {
  int checked = 0;
  for (const auto& entry : std::filesystem::directory_iterator(set_.folder() / "expected" / "reports")) {
    const RunPaths run{set_.folder() / "runs" / entry.path().stem()};
    SCOPED_TRACE(run.folder.filename().string());
    if (exists(run.folder / "sweep.json")) {
      write_sweep_report(run.folder);
    } else {
      write_report(run);
    }
    const std::string page = read_file(run.report(), std::size_t{4} << 20);
    const json expected = json::parse(read_file(entry.path(), std::size_t{4} << 20));
    EXPECT_EQ(difference(expected, json::parse(data_of_page(page), nullptr, false)), "");
    ++checked;
  }
  EXPECT_GT(checked, 0);
}

TEST_P(Golden, ACacheIsUsedOrPassedOverWithoutHarm) {
  const auto result_of = [&](const std::vector<std::string>& words) {
    const Finished finished = set_.stoker(words);
    EXPECT_EQ(finished.code, 0) << finished.errors;
    return json::parse(finished.output, nullptr, false).value("/evaluations"_json_pointer, json());
  };
  const json with_cache = result_of({"run", "documents/cached.yaml", "--json", "--quiet", "--out", "cached"});
  const json without = result_of({"run", "documents/cached.yaml", "--json", "--quiet", "--out", "empty"});
  EXPECT_FALSE(without.is_null());
  EXPECT_EQ(difference(without, with_cache), "");
}

INSTANTIATE_TEST_SUITE_P(Sets, Golden, ::testing::ValuesIn(golden_sets()),
                         [](const auto& tested) { return name_for_test(tested.param); });

}  // namespace
}  // namespace stoker::test
