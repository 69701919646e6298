#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "base/notes.h"
#include "base/random.h"
#include "data/source/source.h"
#include "model/linear/linear.h"

namespace stoker {

inline nlohmann::json reference(const std::string& name) {
  return nlohmann::json::parse(
      std::ifstream(std::filesystem::path(STOKER_SOURCE_DIR) / "tests/reference" / name));
}

// Rows of features with their targets.
struct Rows {
  std::int64_t columns = 0;
  std::vector<double> x;
  std::vector<double> y;
  std::int64_t count() const { return static_cast<std::int64_t>(y.size()); }
  MatrixView view() const { return {x, count(), columns}; }
};

// Normal features about `offset`; the target is a sum of the columns with noise.
inline Rows random_rows(std::int64_t rows, std::int64_t columns, std::uint64_t seed, double offset = 0) {
  Rows result;
  result.columns = columns;
  const RandomKey key = random_key(seed, Purpose::sample, 0);
  std::uint32_t index = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    double sum = normal(key, index++);
    for (std::int64_t j = 0; j < columns; ++j) {
      const double value = normal(key, index++);
      result.x.push_back(value + offset);
      sum += value * static_cast<double>(j % 3);
    }
    result.y.push_back(sum);
  }
  return result;
}

struct HeardNotes {
  std::vector<std::string> warnings;
  Notes listener() {
    return [this](Severity, const std::string& message) { warnings.push_back(message); };
  }
};

// The message of the wrong request that `action` is, or "" when it goes through.
inline std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code() == ExitCode::wrong_request ? error.what()
                                                   : "not a wrong request: " + std::string(error.what());
  }
  return "";
}

inline Table table_of(const std::string& csv) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "table.csv";
  std::ofstream(path) << csv;
  return Source::open(Source::config_for(path.string()), ".").read();
}

}  // namespace stoker
