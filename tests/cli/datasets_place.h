#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace stoker::test {

// A folder with a store of its own.
class Datasets : public ::testing::Test {
 protected:
  void SetUp() override { ::unsetenv("STOKER_STORE"); }
  void TearDown() override { ::unsetenv("STOKER_STORE"); }

  Finished stoker(const std::vector<std::string>& words) const { return place_.stoker(words); }
  std::string refusal(const std::vector<std::string>& words) const {
    const Finished finished = stoker(words);
    EXPECT_EQ(finished.code, 2) << finished.output << finished.errors;
    return finished.errors;
  }
  void done(const std::vector<std::string>& words) const {
    const Finished finished = stoker(words);
    EXPECT_EQ(finished.code, 0) << finished.errors;
  }
  nlohmann::json told(const std::vector<std::string>& words) const {
    return nlohmann::json::parse(stoker(words).output);
  }
  std::size_t count() const { return told({"datasets", "list", "--json"}).at("datasets").size(); }

  Workplace place_;
};

}  // namespace stoker::test
