#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/program.h"

namespace stoker::test {

// The folders of tests/golden that hold a set each, by name.
std::vector<std::string> golden_sets();
// As a part of a test's name.
std::string name_for_test(const std::string& set);

// One set, copied into a folder of its own, where it may be worked on. The files call the folder that they
// were made in /golden; the copy calls it by its own name.
class GoldenSet {
 public:
  explicit GoldenSet(const std::string& name,
                     const std::vector<std::string>& parts = {"data", "documents", "runs", "cached",
                                                              "expected", "weights"});

  const std::filesystem::path& folder() const { return place_.folder(); }
  Finished stoker(const std::vector<std::string>& words) const { return place_.stoker(words); }
  nlohmann::json json(const std::filesystem::path& file) const;
  // With /golden in place of this copy's folder.
  std::string as_recorded(std::string text) const;

 private:
  Workplace place_;
};

}  // namespace stoker::test
