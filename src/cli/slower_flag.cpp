#include "cli/slower_flag.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/text.h"

namespace stoker::cli {

SlowerFile slower_file(const std::string& word) {
  const std::size_t sign = word.find('=');
  if (sign == std::string::npos || sign == 0) return {"", word};
  const bool is_name = std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(sign),
                                   [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  return is_name ? SlowerFile{word.substr(0, sign), word.substr(sign + 1)} : SlowerFile{"", word};
}

std::vector<std::string> files_by_name(const std::vector<std::string>& words,
                                       const std::vector<std::string>& names) {
  std::vector<std::string> files(names.size());
  const std::string trained_with = "the model was trained with " + join(names, ", ");
  for (const std::string& word : words) {
    const SlowerFile given = slower_file(word);
    const auto place = given.name.empty() ? std::ranges::find(files, "") - files.begin()
                                          : std::ranges::find(names, given.name) - names.begin();
    if (place == static_cast<std::ptrdiff_t>(names.size()) && given.name.empty())
      refuse("--slower {} is one table too many; {}", word, trained_with);
    if (place == static_cast<std::ptrdiff_t>(names.size()))
      refuse("--slower {}: there is no slower table '{}'{}; {}", word, given.name,
             did_you_mean(given.name, names), trained_with);
    std::string& file = files[static_cast<std::size_t>(place)];
    if (!file.empty()) refuse("--slower gives {} twice: {} and {}", given.name, file, given.data);
    file = given.data;
  }
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (files[i].empty()) missing.push_back(names[i]);
  if (!missing.empty())
    refuse("--slower {}=FILE is missing; {}", join(missing, "=FILE and --slower "), trained_with);
  return files;
}

}  // namespace stoker::cli
