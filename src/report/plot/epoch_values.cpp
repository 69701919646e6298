#include "report/plot/epoch_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/text.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_values = 64U << 20;
constexpr std::size_t most_columns_of_values = 1'000;
constexpr std::size_t most_files_of_values = 100;

// NaN of nothing, and of words such as nan and inf.
double value_in(const std::string& text, const fs::path& file, std::size_t line) {
  double value = NAN;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (!text.empty() && error == std::errc() && stopped == end) return std::isfinite(value) ? value : NAN;
  if (text.empty() || error == std::errc::result_out_of_range) return NAN;
  refuse("{}:{}: '{}' is not a number", file.string(), line, text.substr(0, 40));
}

EpochValues read_values(const fs::path& file) {
  EpochValues values;
  values.card = file.stem().string();
  const std::vector<std::string> lines = split_text(read_file(file, largest_values), '\n');
  values.names = split_text(lines.front(), ',');
  if (values.names.front() != "epoch" || values.names.size() > most_columns_of_values)
    refuse("{} does not begin with the line epoch,NAME,…", file.string());
  values.names.erase(values.names.begin());
  values.columns.resize(values.names.size());
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const std::vector<std::string> fields = split_text(lines[i], ',');
    if (fields.size() != values.names.size() + 1)
      refuse("{}:{}: {} fields instead of {}", file.string(), i + 1, fields.size(), values.names.size() + 1);
    values.epochs.push_back(value_in(fields[0], file, i + 1));
    for (std::size_t column = 0; column < values.columns.size(); ++column)
      values.columns[column].push_back(value_in(fields[column + 1], file, i + 1));
  }
  return values;
}

}  // namespace

const std::vector<double>* EpochValues::column(std::string_view name) const {
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? nullptr : &columns[static_cast<std::size_t>(found - names.begin())];
}

std::vector<EpochValues> read_epoch_values(const fs::path& folder) {
  std::vector<EpochValues> all;
  std::error_code error;
  if (!fs::is_directory(folder, error)) return all;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".csv" || !fs::is_regular_file(entry.symlink_status())) continue;
    if (all.size() == most_files_of_values)
      refuse("{} holds the values of more than {} cards", folder.string(), most_files_of_values);
    all.push_back(read_values(entry.path()));
  }
  std::ranges::sort(all, {}, &EpochValues::card);
  return all;
}

}  // namespace stoker
