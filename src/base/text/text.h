#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// The candidate that is the fewest edits away from `name`, or "" when none is near enough to be meant.
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

// "; did you mean train_ratio?" or "", to be put behind a message about an unknown name.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

std::string join(std::span<const std::string> parts, std::string_view separator);
std::vector<std::string> split_text(std::string_view text, char separator);
std::string lower_case(std::string_view text);  // of ASCII
std::string html_escaped(std::string_view text);

// Text from outside as a terminal may show it on one line: what it would take for a command, such as to
// clear the screen, to go back over a line or to write from right to left, is spelt out (\x1b, \u202e), and
// so are bytes that are no UTF-8.
std::string printable(std::string_view text);
// The same for text of several lines.
std::string printable_lines(std::string_view text);

std::string human_bytes(std::uint64_t bytes);                     // "1.5 GiB"
std::string human_seconds(double seconds);                        // "850 ms", "12.3 s", "2 min 05 s"
std::string human_count(std::uint64_t count);                     // "50,000"
std::string counted(std::uint64_t count, std::string_view noun);  // "1 row", "50,000 rows"

// Local time for people ("2026-11-15_10-20-30") and for records (ISO 8601, UTC, milliseconds).
std::string time_stamp_for_names();
std::string time_stamp_utc();
std::string moment_utc(std::int64_t seconds);  // since 1970: "2026-11-16 21:40:05 UTC"

}  // namespace stoker
