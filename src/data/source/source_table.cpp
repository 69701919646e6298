#include "data/source/source_table.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include "base/error.h"

namespace stoker {
namespace {

const std::array<SourceOfKind, 9>& sources() {
  static const std::array<SourceOfKind, 9> all{sample_source(),
                                               file_source(SourceKind::csv),
                                               file_source(SourceKind::file),
                                               url_source(),
                                               postgres_source(),
                                               sqlite_source(),
                                               hdf5_source(),
                                               cubes_source(),
                                               datasets_source()};
  return all;
}

}  // namespace

const SourceOfKind& source_of(const SourceConfig& config) {
  const auto* const found = std::ranges::find(sources(), config.source, &SourceOfKind::kind);
  if (found == sources().end()) fail("source {} has no reader", config::name_of(config.source));
  return *found;
}

SourceKind kind_of_file(const std::filesystem::path& file) {
  std::array<char, 16> bytes{};
  std::error_code error;
  if (std::filesystem::is_regular_file(file, error))
    std::ifstream(file, std::ios::binary).read(bytes.data(), bytes.size());
  const std::string_view start(bytes.data(), bytes.size());
  if (start == std::string_view("SQLite format 3\0", 16)) return SourceKind::sqlite;
  if (start.starts_with("\x89HDF\r\n\x1a\n")) return SourceKind::hdf5;
  return holds_cubes(file) ? SourceKind::cubes : SourceKind::file;
}

}  // namespace stoker
