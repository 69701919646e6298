#pragma once

#include <optional>

#include "config/value.h"
#include "data/prepare/preparation_config.h"
#include "data/source/source.h"
#include "data/windows/windows_config.h"
#include "pipeline/document/recommended.h"

namespace stoker::cli {

enum class Look {
  at_first_rows,  // of text; enough to tell classes from numbers
  at_all_rows,
};

struct LookedAtTable {
  TableShape shape;
  std::optional<std::int64_t> training_rows;  // where the source itself says which these are
  // In how many of all rows the target is missing, and in which; "" if it is in none that was looked at.
  std::string missing_targets = {};
  bool is_faulty = false;  // something is wrong with the table or the settings, which the run will name
};

// What a table holds, by a look at it before the run: all rows are to be trained on. `settings` are those of
// a train card that were given, `windows` those of a series, whose windows are looked at then. None if a
// look is not quick: a file of more than 64 MB, packed 16, unless the source knows its rows without being
// read.
std::optional<LookedAtTable> look_at_table(const SourceConfig& source, const std::string& target,
                                           const config::Value& settings, Look look,
                                           const std::optional<WindowsConfig>& windows = std::nullopt);

}  // namespace stoker::cli
