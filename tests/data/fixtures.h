#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files/files.h"
#include "base/notes.h"
#include "data/source/source.h"
#include "data/table/table.h"

namespace stoker {

// A file of its own folder, gone at the end of the test.
class TestFolder {
 public:
  std::filesystem::path write(const std::string& name, const std::string& content) const {
    const std::filesystem::path path = folder_.path() / name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

inline Table read_source(const std::filesystem::path& path) {
  return Source::open(Source::config_for(path.string()), ".").read();
}

inline Table table_of(const std::string& csv) {
  const TestFolder folder;
  return read_source(folder.write("table.csv", csv));
}

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

struct HeardNotes {
  std::vector<std::string> info;
  std::vector<std::string> warnings;
  Notes listener() {
    return [this](Severity severity, const std::string& message) {
      (severity == Severity::info ? info : warnings).push_back(message);
    };
  }
};

}  // namespace stoker
