#include "data/source/file_format.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include "base/error.h"
#include "base/text/text.h"
#include "data/format/idx.h"
#include "data/format/table_files.h"
#include "data/memory/packed_text.h"
#include "data/source/standard_input.h"

namespace stoker {

namespace {

namespace fs = std::filesystem;

// What is packed says behind its ending what it is: .csv.gz.
bool is_ending_of_packed(const std::string& ending) {
  return ending == ".gz" || ending == ".zst" || ending == ".bz2";
}

struct EndingOfFormat {
  std::string_view ending;
  SourceFormat format;
};
constexpr std::array<EndingOfFormat, 17> endings{{{".csv", SourceFormat::csv},
                                                  {".txt", SourceFormat::csv},
                                                  {".data", SourceFormat::csv},
                                                  {".dat", SourceFormat::csv},
                                                  {".tsv", SourceFormat::tsv},
                                                  {".tab", SourceFormat::tsv},
                                                  {".parquet", SourceFormat::parquet},
                                                  {".pq", SourceFormat::parquet},
                                                  {".arrow", SourceFormat::arrow},
                                                  {".feather", SourceFormat::arrow},
                                                  {".ipc", SourceFormat::arrow},
                                                  {".arrows", SourceFormat::arrow},
                                                  {".npy", SourceFormat::npy},
                                                  {".jsonl", SourceFormat::jsonl},
                                                  {".ndjson", SourceFormat::jsonl},
                                                  {".json", SourceFormat::jsonl},
                                                  {".arff", SourceFormat::arff}}};

SourceFormat format_by_name(const fs::path& name) {
  std::string ending = lower_case(name.extension().string());
  if (is_ending_of_packed(ending)) ending = lower_case(name.stem().extension().string());
  const auto* const known = std::ranges::find(endings, ending, &EndingOfFormat::ending);
  if (is_idx_name(name)) return SourceFormat::idx;
  return known == endings.end() ? SourceFormat::automatic : known->format;
}

SourceFormat format_by_content(const fs::path& file) {
  std::array<char, 6> start{};
  std::ifstream(file, std::ios::binary).read(start.data(), start.size());
  const std::string_view bytes(start.data(), start.size());
  if (bytes == "SQLite") refuse("'{}' is an SQLite database; set source to sqlite", file.string());
  if (bytes.starts_with("\x89HDF")) refuse("'{}' is an HDF5 file; set source to hdf5", file.string());
  if (bytes.starts_with("PAR1")) return SourceFormat::parquet;
  if (bytes == "ARROW1") return SourceFormat::arrow;
  if (bytes == "\x93NUMPY") return SourceFormat::npy;
  if (begins_like_idx(bytes)) return SourceFormat::idx;
  return SourceFormat::automatic;
}

// Of what has no name that tells: an object opens a line of JSON, an array of objects all of it, anything
// else is a row.
SourceFormat format_of_text(const std::string& start) {
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return SourceFormat::csv;
  const std::size_t second = start[first] == '[' ? start.find_first_not_of(" \t\r\n", first + 1) : first;
  return second != std::string::npos && start[second] == '{' ? SourceFormat::jsonl : SourceFormat::csv;
}

[[noreturn]] void refuse_format(const std::string& name) {
  std::vector<std::string> known;
  for (const EndingOfFormat& each : endings) known.emplace_back(each.ending);
  std::vector<std::string> formats(config::names<SourceFormat>.begin() + 1,
                                   config::names<SourceFormat>.end());
  const std::string last = formats.back();
  formats.pop_back();
  refuse(
      "'{}': neither the file's extension nor its content shows the format; set format (--format) to {} or "
      "{}, or give the file one of the extensions {} (packed: .gz, .zst, .bz2, .zip)",
      name, join(formats, ", "), last, join(known, ", "));
}

}  // namespace

SourceFormat told_format(SourceFormat asked, const fs::path& name, const fs::path& file) {
  if (asked != SourceFormat::automatic) return asked;
  SourceFormat format = format_by_name(name);
  if (format == SourceFormat::automatic) format = format_by_content(file);
  constexpr std::int64_t bytes_to_tell = 1 << 16;
  const bool may_be_any_text =
      format == SourceFormat::csv || (format == SourceFormat::automatic && name == standard_input_path);
  if (may_be_any_text) {
    const std::string start = text_start(file, bytes_to_tell);
    if (is_arff(start)) return SourceFormat::arff;  // under .dat or .txt, mostly
    if (format == SourceFormat::automatic) format = format_of_text(start);
  }
  if (format == SourceFormat::automatic) refuse_format(name.string());
  return format;
}

}  // namespace stoker
