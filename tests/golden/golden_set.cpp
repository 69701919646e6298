#include "golden/golden_set.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>

#include <nlohmann/json.hpp>

#include "base/files/files.h"

namespace stoker::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* recorded_folder = "/golden";
const fs::path all_sets = fs::path(STOKER_SOURCE_DIR) / "tests" / "golden";

void replace_all(std::string& text, const std::string& before, const std::string& after) {
  for (std::size_t at = text.find(before); at != std::string::npos; at = text.find(before, at + after.size()))
    text.replace(at, before.size(), after);
}

// Arrays and tables never name a folder.
bool may_name_a_folder(const fs::path& file) {
  const std::string ending = file.extension().string();
  return ending == ".yaml" || ending == ".json" || ending == ".jsonl";
}

// Lets the files of one part name this folder.
void move_to(const fs::path& folder, const fs::path& part) {
  for (const auto& entry : fs::recursive_directory_iterator(part)) {
    if (!entry.is_regular_file() || !may_name_a_folder(entry.path())) continue;
    std::string text = read_file(entry.path(), std::size_t{4} << 20);
    if (text.find(recorded_folder) == std::string::npos) continue;
    replace_all(text, std::string(recorded_folder) + "/", folder.string() + "/");
    std::ofstream(entry.path(), std::ios::binary) << text;
  }
}

}  // namespace

std::vector<std::string> golden_sets() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(all_sets))
    if (exists(entry.path() / "expected" / "commands.json")) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::string name_for_test(const std::string& set) {
  std::string name = set;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

GoldenSet::GoldenSet(const std::string& name, const std::vector<std::string>& parts) {
  // As when the files were made: LibTorch takes the same way on every processor of one architecture.
  setenv("OMP_NUM_THREADS", "1", 1);
  setenv("MKL_CBWR", "COMPATIBLE", 1);
  setenv("ATEN_CPU_CAPABILITY", "default", 1);
  setenv("PATH", "", 1);  // without gnuplot: pictures take longer than all else here
  for (const std::string& part : parts) {
    if (!exists(all_sets / name / part)) continue;
    copy(all_sets / name / part, folder() / part, fs::copy_options::recursive);
    if (part != "expected") move_to(folder(), folder() / part);
  }
}

nlohmann::json GoldenSet::json(const fs::path& file) const {
  return nlohmann::json::parse(place_.read(file));
}

std::string GoldenSet::as_recorded(std::string text) const {
  replace_all(text, folder().string(), recorded_folder);
  return text;
}

}  // namespace stoker::test
