#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "data/source/source_config.h"

// Rows of a database and of an address can be known only by reading them. Where `refresh` allows it, those of
// an earlier read are taken for them, without asking; who keeps rows is somebody else.
namespace stoker {

// What somebody who has kept the rows of a source must know of them. Nothing of it is secret.
struct KnownRows {
  std::string key;          // of the source and its settings; "" where a source is known by its content alone
  std::string name;         // for people
  std::string fingerprint;  // of the rows
  std::int64_t read_at = 0;  // seconds since 1970
  std::string answer;        // hash of what refresh_query gave before they were read
};

using FindKnownRows = std::function<std::optional<KnownRows>(const std::string& key)>;

// How long rows count as known: `seconds` of none is forever, and 0 not at all. None where the text is no
// setting of refresh.
struct RefreshAge {
  std::optional<double> seconds;
};
std::optional<RefreshAge> refresh_age(const std::string& text);

// Whether the source says when its rows are to be read again.
bool may_know_rows(const SourceConfig& config);
// "2h" of rows that were read then; a clock that was set back makes them old.
bool are_fresh(const KnownRows& rows, const std::string& refresh, std::int64_t now);

// `place` tells databases apart that the same settings lead to.
std::string key_of_known_rows(const SourceConfig& config, const std::string& place);

}  // namespace stoker
