#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/csv/csv_dialect.h"
#include "data/table/table.h"

namespace stoker {

// The quick way for the usual file: unpacked, and nothing but plain numbers and empty values under its
// header. All cores parse blocks of it straight into columns. Whatever it does not know (quotes, text, other
// spellings of nothing, ragged rows, whole numbers beyond 2^53) makes it give up with nothing, and the
// general reader decides; so does a header with one of `text_columns`. Where it gives a table, it is the one
// that the general reader would give.
std::optional<Table> read_csv_of_numbers(const std::filesystem::path& path, const CsvDialect& dialect,
                                         const std::vector<std::string>& text_columns = {});

// Parses one plain number at `text`, which ends in a character that belongs to no number. Gives its end, or
// null when there is none that this way of reading knows. `real` is set when it is no whole number.
const char* parse_plain_number(const char* text, double& value, bool& real);

}  // namespace stoker
